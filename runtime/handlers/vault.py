"""Secrets Manager, read at run time and remembered for five minutes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from runtime.errors import Misconfigured, StoreDown

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

    from runtime.aws.client import SecretsManager

REMEMBER_SECONDS = 300.0
RENEW_SECONDS = 5.0
CURRENT = "AWSCURRENT"
REFUSALS = frozenset({"AccessDeniedException", "ResourceNotFoundException", "InvalidParameterException"})


class Vault:
    """Reads secrets by ARN; `monotonic` is a clock in seconds.

    A value that cannot be refreshed is served for as long as the process lives: a short outage of the secret store must
    not stop a service that already knows its secrets. One that was never read is an error, never "no secret".
    """

    def __init__(self, client: SecretsManagerClient | SecretsManager, monotonic: Callable[[], float]) -> None:
        self._client, self._monotonic = client, monotonic
        self._known: dict[tuple[str, str], tuple[float, str]] = {}

    def renew(self) -> None:
        """Read anew what is older than five seconds: so often at most, however many wrong secrets arrive."""
        now = self._monotonic()
        for key, (read_at, value) in self._known.items():
            if now - read_at >= RENEW_SECONDS:
                self._known[key] = now - REMEMBER_SECONDS, value

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    async def text(self, arn: str, stage: str = CURRENT) -> str:
        """The secret's text; empty when it has no value in that stage.

        :raises Misconfigured: it may not be read, or does not exist.
        :raises StoreDown: the secret store does not answer.
        """
        known = self._known.get((arn, stage))
        if known is not None and self._monotonic() - known[0] < REMEMBER_SECONDS:
            return known[1]
        try:
            value = await asyncio.to_thread(self._read, arn, stage)
        except StoreDown:
            if known is None:
                raise
            value = known[1]
        if value or stage != CURRENT:  # nobody waits five minutes for a secret that was just filled in
            self._known[arn, stage] = self._monotonic(), value
        return value

    async def values(self, arn: str) -> tuple[str, ...]:
        """The current text and, during a rotation, the previous one."""
        current, previous = await asyncio.gather(self.text(arn), self.text(arn, "AWSPREVIOUS"))
        return tuple(value for value in (current, previous) if value)

    async def fields(self, arn: str, *names: str) -> Mapping[str, str]:
        """The named fields of a secret that holds a JSON object.

        :raises Misconfigured: it is not filled in; the sentence says what is missing.
        """
        text = await self.text(arn)
        try:
            value: Any = json.loads(text or "{}")
        except ValueError:
            value = None
        missing = [name for name in names if not isinstance(value, dict) or not value.get(name)]
        if missing:
            raise Misconfigured(
                f"the secret {arn.rpartition(':')[2]} lacks {', '.join(missing)}: fill it as docs/deploy.md says",
                code="secret_not_filled",
            )
        return {name: str(value[name]) for name in value}

    def _read(self, arn: str, stage: str) -> str:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return self._client.get_secret_value(SecretId=arn, VersionStage=stage).get("SecretString", "")
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            empty = stage != CURRENT or "staging label" in error.response["Error"].get("Message", "")
            if code == "ResourceNotFoundException" and empty:
                return ""  # the secret is there, a value is not (yet): boto3#2794
            if code in REFUSALS:
                raise Misconfigured(
                    f"the secret {arn.rpartition(':')[2]} cannot be read ({code}): check that it exists and is granted",
                    code="secret_refused",
                ) from None
            raise StoreDown("the secret store does not answer", code="secrets_down") from None
        except BotoCoreError:
            raise StoreDown("the secret store does not answer", code="secrets_down") from None
