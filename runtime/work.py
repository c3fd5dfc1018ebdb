"""A worker's batch: several sites side by side on one event loop, each with its own claim, deadline and outcome.

Politeness is waiting, and a function is billed for waiting; sites that wait together cost little more than one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from runtime.errors import NotFound, ServiceError, StaleClaim
from runtime.models import Claim, Summary
from runtime.ports import Message, World
from runtime.recrawl import Finished, recrawl

STOP_MARGIN_SECONDS = 45.0
"""With less time than this left no site is started; it is handed back instead."""

WORKER = "worker"


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a batch came to. `retry` are the messages that must be delivered again."""

    finished: tuple[Finished, ...]
    retry: tuple[Message, ...]

    @property
    def summary(self) -> Summary:
        total = Summary()
        for run in self.finished:
            total = total.plus(run.outcome, crawled=run.crawled)
        return total


async def work(
    world: World, messages: Sequence[Message], *, concurrency: int = 16, remaining_seconds: float = 3_600.0
) -> BatchResult:
    """Work on the sites of a batch. One site's failure, slowness or hostility does not reach another.

    :param remaining_seconds: time until the process is ended.
    """
    loop = asyncio.get_running_loop()
    stop_at = loop.time() + remaining_seconds - STOP_MARGIN_SECONDS
    gate = asyncio.Semaphore(concurrency)
    finished: list[Finished] = []
    retry: list[Message] = []

    async def one(message: Message) -> None:
        async with gate:
            try:
                run = await _one(world, message, stop_at)
            except (StaleClaim, NotFound) as error:
                # Another worker has the site, or it was deleted: nothing is left to do for this message.
                world.events.event("message_dropped", site_id=message.site_id, code=error.code)
            except ServiceError as error:
                world.events.event("message_failed", site_id=message.site_id, code=error.code, detail=str(error))
                retry.append(message)
            except Exception as error:  # noqa: BLE001 - a fault of ours in one site must not end the others; it is retried, then alarmed
                world.events.event("message_failed", site_id=message.site_id, code="internal", detail=repr(error))
                retry.append(message)
            else:
                if run is not None:
                    finished.append(run)

    await asyncio.gather(*(one(message) for message in messages))
    again = [Message(site_id=run.site.id, force=True) for run in finished if run.again]
    if again:
        await world.queue.send(again)
    return BatchResult(tuple(finished), tuple(retry))


async def _one(world: World, message: Message, stop_at: float) -> Finished | None:
    claim = await _claim(world, message)
    if claim is None:
        world.events.event("message_dropped", site_id=message.site_id, code="busy")
        return None
    if asyncio.get_running_loop().time() >= stop_at:
        await world.sites.release(claim)
        await world.queue.send([replace(message, claim=None)])
        return None
    return await recrawl(world, claim, tick_id=message.tick_id, deadline=stop_at)


async def _claim(world: World, message: Message) -> Claim | None:
    """The tick's claim, renewed; or one of our own for a message that came without."""
    lease = world.settings.lease_seconds
    if message.claim is not None:
        return await world.sites.renew_lease(message.claim, lease_seconds=lease)
    return await world.sites.claim_site(message.site_id, lease_seconds=lease, owner=WORKER, force=message.force)
