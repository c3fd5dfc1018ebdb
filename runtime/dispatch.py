"""A tick: claim what is due, what was asked for first and then the oldest, and hand each site to a worker.

A tick does no crawling, so that it takes seconds whatever the number of sites; what cannot be queued is given back.
It claims no more than workers finish before the next (`claims_per_tick`), and no more than a budget of crawls has left:
the backlog of an outage is made good at that rate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from runtime import metrics
from runtime.models import Claim, DueSummary, Summary
from runtime.ports import Message, World

MAX_CLAIMS_PER_TICK = 100_000
STOP_MARGIN_SECONDS = 10.0
CLAIM_SHARE = 0.5
"""The part of a tick's time that may go into claims. A message costs as much as a claim, and a claim that was not sent
when the process is ended keeps its site waiting for the lease, and counts as a try.
"""

RELEASES_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Tick:
    """What one tick did: sites claimed, and those of them that could not be queued."""

    id: str
    total: int
    unqueued: int = 0


async def tick(world: World, *, tick_id: str, remaining_seconds: float = 3_600.0) -> Tick:
    """Claim every due site in batches and queue it.

    :param remaining_seconds: time until the process is ended. After half of it nothing more is claimed: the rest is for
        the messages.
    :raises StoreDown: the rows cannot be read. A tick that cannot see its sites has failed; it is not a quiet day.
    """
    claims: list[Claim] = []
    settings = world.settings
    most = min(settings.claims_per_tick, MAX_CLAIMS_PER_TICK)
    loop = asyncio.get_running_loop()
    time_left = max(0.0, remaining_seconds - STOP_MARGIN_SECONDS)
    give_up_at, stop_at = loop.time() + time_left, loop.time() + CLAIM_SHARE * time_left
    if settings.crawls_a_day is not None:
        from runtime.budgeting import adapt_price  # only a budget has a price, and it brings all the schedules along

        await adapt_price(world)
    while len(claims) < most and loop.time() < stop_at:
        batch = await world.sites.claim_due(
            limit=min(settings.claim_batch, most - len(claims)),
            lease_seconds=settings.lease_seconds,
            owner=f"tick-{tick_id}",
            per_host=settings.per_host,
            slack_seconds=settings.tick_slack_seconds,
            crawls_a_day=settings.crawls_a_day,
        )
        claims += batch
        if not batch:
            break
    messages = [
        Message(site_id=claim.site.id, tick_id=tick_id, tick_total=len(claims), force=claim.forced, claim=claim)
        for claim in claims
    ]
    failed = await world.queue.send(messages) if messages else []
    await _give_back(world, [message.claim for message in failed if message.claim is not None], give_up_at)
    due = await world.sites.due_summary(slack_seconds=settings.tick_slack_seconds, crawls_a_day=settings.crawls_a_day)
    done = Tick(id=tick_id, total=len(claims) - len(failed), unqueued=len(failed))
    _report(world, done, due)
    return done


async def _give_back(world: World, claims: Sequence[Claim], until: float) -> None:
    """Release what could not be queued, as far as the time goes; the leases of the rest run out."""
    loop, gate = asyncio.get_running_loop(), asyncio.Semaphore(RELEASES_AT_ONCE)

    async def release(claim: Claim) -> None:
        async with gate:
            if loop.time() < until:
                await world.sites.release(claim)

    await asyncio.gather(*map(release, claims))


def _report(world: World, done: Tick, due: DueSummary) -> None:
    """The one canonical line of a tick. One that had nothing to do is complete; another is when its last site ends."""
    idle = not done.total and not done.unqueued
    numbers = {
        metrics.SITES_TOTAL: done.total,
        metrics.QUEUE_FAILURES: done.unqueued,
        metrics.DUE_SITES: due.due,
        metrics.OVERDUE_SITES: due.overdue,
        metrics.OLDEST_DUE_SECONDS: _age(world, due.oldest_due_at),
        metrics.STALE_SITES: due.stale,
    }
    if world.settings.crawls_a_day is not None:
        numbers[metrics.OVER_BUDGET_SITES] = due.over_budget
    world.events.event("tick_dispatched", tick_id=done.id, **numbers)
    if idle:
        world.events.event("tick_completed", tick_id=done.id, **Summary().as_dict())


def _age(world: World, since: datetime | None) -> float:
    """Seconds since the oldest site that is still due became due; 0 when none is."""
    return 0.0 if since is None else max(0.0, (world.clock() - since).total_seconds())
