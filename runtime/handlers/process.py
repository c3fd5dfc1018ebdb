"""What a Lambda process keeps between invocations: one event loop, one world, one logger.

The world is built at the first invocation rather than at import, so that a missing setting fails the invocation with
its sentence, which the alarms see, and not the import, which only the log does.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from runtime import environment as env
from runtime import metrics as names
from runtime.aws.client import SecretsManager, Sqs
from runtime.errors import Misconfigured, ServiceError
from runtime.handlers.logs import Log
from runtime.handlers.telemetry import CloudEvents
from runtime.handlers.vault import Vault
from runtime.ports import World
from runtime.wiring import cloud_world, utc_now

if TYPE_CHECKING:
    from runtime.api import Secrets


class Process:
    """The process of one door.

    :param needed: environment variables without which the door cannot work.
    :param store_seconds: what a call of the database may take.
    :param checks: whether the schema and its rights are looked at before the first invocation is answered.
    """

    def __init__(
        self,
        needed: tuple[str, ...],
        environment: Mapping[str, str] = os.environ,
        *,
        store_seconds: float = 5.0,
        checks: bool = False,
    ) -> None:
        self._needed, self._environment = needed, environment
        self._store_seconds, self._checks = store_seconds, checks
        self._runner: asyncio.Runner | None = None
        self._world: World | None = None
        self._vault: Vault | None = None
        self._sqs: Sqs | None = None
        self.logger = Log(names.SERVICE)
        self.events = CloudEvents(self.logger, environment.get(env.STAGE, "unknown"))

    def run(self, context: Any, work: Callable[[World], Awaitable[Any]]) -> Any:
        """Do the work of one invocation; metrics are written and a failure is counted whatever happens.

        :raises ServiceError: the invocation failed; Lambda then retries or keeps the event.
        """
        self.logger.request_id = getattr(context, "aws_request_id", "")
        if self._runner is None:
            self._runner = asyncio.Runner()
        try:
            return self._runner.run(self._work(work))
        except Misconfigured as error:
            self.events.add(names.CONFIGURATION_ERRORS, 1)
            self.logger.error("configuration_failed", code=error.code, detail=str(error))
            raise
        except ServiceError as error:
            self.logger.error("invocation_failed", code=error.code, detail=str(error))
            raise
        finally:
            self.events.flush()

    async def secrets(self) -> Secrets:
        """The cron secret and the API key, current and previous; none of one that this door has no use for.

        :raises StoreDown: they were never read and cannot be now.
        """
        from runtime.api import Secrets  # the worker has no callers

        cron, keys = await asyncio.gather(self._values(env.CRON_SECRET_ARN), self._values(env.API_KEY_SECRET_ARN))
        return Secrets(cron=cron, api_keys=keys)

    async def _values(self, name: str) -> tuple[str, ...]:
        return await self._opened_vault().values(self._environment[name]) if name in self._needed else ()

    def close(self) -> None:
        """Hang up. Lambda freezes a process instead; whoever opens one for a while closes it."""
        if self._runner is not None:
            if self._world is not None:
                self._runner.run(self._world.web.aclose())
                self._world.sites.close()
            self._runner.close()
        for service in (self._vault, self._sqs):
            if service is not None:
                service.close()

    def renew(self) -> None:
        """Let the next read of the secrets see a rotation."""
        self._opened_vault().renew()

    async def _work(self, work: Callable[[World], Awaitable[Any]]) -> Any:
        if self._world is None:
            self._sqs = self._sqs or Sqs(os.environ, utc_now)
            world = await cloud_world(
                self._environment,
                needed=self._needed,
                vault=self._opened_vault(),
                sqs=self._sqs,
                events=self.events,
                store_seconds=self._store_seconds,
            )
            if self._checks:
                await world.sites.check()
            self._world = world
        return await work(self._world)

    def _opened_vault(self) -> Vault:
        if self._vault is None:
            self._vault = Vault(SecretsManager(os.environ, utc_now), time.monotonic)
        return self._vault


def remaining_seconds(context: Any) -> float:
    """Time until Lambda ends the process; an hour where the context does not say."""
    left = getattr(context, "get_remaining_time_in_millis", None)
    return 3_600.0 if left is None else left() / 1000
