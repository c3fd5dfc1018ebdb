"""The embedded service: ticks and workers in one process, on the same pipeline as in the cloud."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from runtime.crawl.visit import Progress
from runtime.dispatch import tick
from runtime.errors import StaleClaim, StoreDown
from runtime.models import Site, Summary
from runtime.ports import Message, World
from runtime.queues.memory import MemoryQueue
from runtime.recrawl import Finished, recrawl
from runtime.work import work

OPERATOR = "operator"
BATCH = 100


async def run_tick(world: World) -> Summary:
    """One tick to its end: every due site is worked on before this returns; the summary adds up.

    :raises StoreDown: the rows cannot be read, or sites could not be finished.
    """
    tick_id = str(uuid4())
    await tick(world, tick_id=tick_id)
    summary = Summary()
    unfinished = 0
    for _ in range(2):  # what failed inside us is tried once more; after that the row's lease brings it back
        retry: list[Message] = []
        while messages := await pending(world):
            result = await work(world, messages)
            retry += result.retry
            for run in result.finished:
                summary = summary.plus(run.outcome, crawled=run.crawled)
        unfinished = len(retry)
        if not retry:
            break
        await world.queue.send(retry)
    if summary.total:
        world.events.event("tick_completed", tick_id=tick_id, **summary.as_dict())
    if unfinished:
        raise StoreDown(
            f"{unfinished} site{'s' if unfinished > 1 else ''} could not be finished and will be taken again"
        )
    return summary


async def run_site(world: World, site: Site, *, force: bool = True, progress: Progress | None = None) -> Finished:
    """Recrawl one site now.

    :raises StaleClaim: another process is working on it. :raises BudgetSpent: the crawls of the day are used up.
    """
    settings = world.settings
    claim = await world.sites.claim_site(
        site.id,
        lease_seconds=settings.lease_seconds,
        owner=OPERATOR,
        force=force,
        crawls_a_day=settings.crawls_a_day,
    )
    if claim is None:
        raise StaleClaim(f"{site.base_url} is being crawled by another process; try again in a few minutes")
    try:
        return await recrawl(world, claim, progress=progress)
    except asyncio.CancelledError:
        # Ctrl-C: give the site back, so that the next run need not wait for the lease.
        await world.sites.release(claim)
        raise


async def pending(world: World) -> list[Message]:
    """The messages that wait in the in-process queue."""
    assert isinstance(world.queue, MemoryQueue)
    return await world.queue.receive(BATCH)


async def run_schedule(world: World, *, every_seconds: float, stop: asyncio.Event, first_tick: bool = True) -> None:
    """Tick and work until `stop` is set: what EventBridge and the workers do in the cloud."""
    loop = asyncio.get_running_loop()
    next_tick = loop.time() + (0 if first_tick else every_seconds)
    while not stop.is_set():
        try:
            if loop.time() >= next_tick:
                next_tick = loop.time() + every_seconds
                await run_tick(world)
            elif messages := await pending(world):
                result = await work(world, messages)
                world.events.event("worked", **result.summary.as_dict())
        except StoreDown as error:
            world.events.event("schedule_failed", detail=str(error))
        try:
            await asyncio.wait_for(stop.wait(), timeout=0.2)
        except TimeoutError:
            continue
