"""One recrawl, start to finish: survey the site, publish, commit the row, remember.

Every claimed site ends here with exactly one outcome. The row is written last but for the memory, in one fenced
statement; so a crash anywhere means the same work again, never a row that claims what is not there. `look` does all of
it up to that write and `settle` the rest, so that a batch can compare its failures before it blames a site for one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from runtime.commitment import commitment
from runtime.crawl.visit import Progress
from runtime.enhancement import enhance
from runtime.errors import (
    CorruptState,
    FetchFailed,
    HopRefused,
    InputError,
    NotFound,
    Refused,
    ServiceError,
    StaleClaim,
)
from runtime.judgement import Survey, failed, our_fault
from runtime.models import Claim, Commit, Outcome, Site, SiteStatus
from runtime.notify import after_run
from runtime.policy import is_priced, reads_pages
from runtime.ports import World
from runtime.published import Published
from runtime.publishing import PUT_BACK, as_row_says, file_of, publish
from runtime.reading import Left
from runtime.state import SiteState, decode, encode
from runtime.survey import survey


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a run saw and published, before its row says so.

    :param stored: the state object as it was found. :param fault: the error of our store that ended the run.
    """

    claim: Claim
    run_id: str
    tick_id: str | None
    result: Survey
    duration_ms: int = 0
    url: str | None = None
    stored: bytes | None = None
    fault: ServiceError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a run ended: the row as committed, and what the survey saw. `again` asks for another run at once, because a
    webhook came while this one was working.
    """

    run_id: str
    site: Site
    outcome: Outcome
    reason: str
    crawled: bool
    survey: Survey
    again: bool = False


async def recrawl(
    world: World,
    claim: Claim,
    *,
    tick_id: str | None = None,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> Finished:
    """Work on a claimed site, from its `look` to its `settle`."""
    return await settle(world, await look(world, claim, tick_id=tick_id, deadline=deadline, progress=progress))


async def look(
    world: World,
    claim: Claim,
    *,
    tick_id: str | None = None,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> Look:
    """Survey a claimed site and publish what is to be published. What the site does wrong is its failure; a store of
    ours that is down or refuses us, or a public file that moved under our hands, is none of the site's.

    :param deadline: event-loop time by which the crawl must have stopped; by default the site's own limit from now.
    :raises StaleClaim: the lease was lost.
    """
    started = asyncio.get_running_loop().time()
    limit = started + world.settings.limits.site_deadline_seconds
    deadline = limit if deadline is None else min(deadline, limit)
    run_id, site = str(uuid4()), claim.site
    world.events.event("step", step="claimed", site_id=site.id, run_id=run_id, tick_id=tick_id)
    state, stored, url, fault = SiteState(), None, None, None
    try:
        state, stored = await _remembered(world, site)
        published, put_back = await file_of(world, claim)
        result, url = await _work(world, claim, state, published, deadline, progress)
        if put_back or (url is None and await as_row_says(world, claim, published)):
            result = replace(result, reason=f"{result.reason}; {PUT_BACK}")
    except (StaleClaim, NotFound):
        raise
    except (FetchFailed, Refused, HopRefused, InputError) as error:
        result = failed(state, str(error), code=error.code)
    except ServiceError as error:
        told = {"run_id": run_id, "code": error.code, "detail": str(error)}
        world.events.event("publish_failed", site_id=site.id, base_url=site.base_url, **told)
        result, fault = our_fault(state, str(error)), error
    return Look(
        claim=claim,
        run_id=run_id,
        tick_id=tick_id,
        result=result,
        duration_ms=round((asyncio.get_running_loop().time() - started) * 1000),
        url=url,
        stored=stored,
        fault=fault,
    )


def excused(claim: Claim, reason: str, *, tick_id: str | None) -> Look:
    """A site that is not looked at, because of a fault of our own."""
    return Look(claim=claim, run_id=str(uuid4()), tick_id=tick_id, result=our_fault(SiteState(), reason))


async def settle(world: World, seen: Look, *, ours: str = "") -> Finished:
    """Commit the row, then remember, then tell whoever wants to know.

    :param ours: why the failure that was seen is not the site's; empty if it is.
    :raises StaleClaim: the lease was lost; nothing of this run was committed.
    :raises StoreDown: the row could not be written; the lease runs out and the site is taken again.
    """
    result, site = seen.result, seen.claim.site
    if ours:
        result = our_fault(result.state, ours, requests=result.requests, retry_after=result.retry_after)
    price = (await world.sites.budget()).price if is_priced(site, world.settings) else None
    commit = commitment(
        seen.claim,
        result,
        settings=world.settings,
        price=price,
        now=world.clock(),
        run_id=seen.run_id,
        tick_id=seen.tick_id,
        url=seen.url,
        duration_ms=seen.duration_ms,
    )
    row = await world.sites.commit_run(seen.claim, commit)
    world.events.event("step", step="committed", site_id=site.id, run_id=seen.run_id)
    if not result.ours:
        await _remember(world, site, encode(result.state), seen.stored)
    _report(world, row, commit, result)
    await after_run(world, site, row, commit, result.changes)
    world.events.event("step", step="remembered", site_id=site.id, run_id=seen.run_id)
    return Finished(
        run_id=seen.run_id,
        site=row,
        outcome=result.outcome,
        reason=result.reason,
        crawled=result.crawled,
        survey=result,
        again=_again(row, result, world.clock()),
    )


def _again(row: Site, result: Survey, now: datetime) -> bool:
    """Whether a request that came meanwhile is due, or a crawl that got somewhere goes on. A wish that this run could
    not serve waits for its back-off instead: a site that is down is not asked at once, and not for ever.
    """
    if row.status is not SiteStatus.ACTIVE or result.ours:
        return False
    if result.outcome is Outcome.DEFERRED and not result.counts_as_failure:
        return result.retry_after is None and result.crawl is not None and result.crawl.downloaded > 1
    return row.requested_at is not None and row.next_crawl_at is not None and row.next_crawl_at <= now


async def _work(
    world: World, claim: Claim, state: SiteState, public: Published | None, deadline: float, progress: Progress | None
) -> tuple[Survey, str | None]:
    site = claim.site
    forced = claim.forced or reads_pages(site, world.settings)
    result = await survey(
        world, site, state, public, forced=forced, now=world.clock(), deadline=deadline, progress=progress
    )
    world.events.event("step", step="surveyed", site_id=site.id, outcome=result.outcome)
    rendered = result.rendered
    if rendered is None:
        return result, None
    same = result.outcome is Outcome.UNCHANGED_CONTENT and rendered.sha256 == site.latest_llms_hash
    if not same and result.outcome is not Outcome.UPDATED:
        return result, None
    result = await enhance(world, site, result, public)
    outgoing = result.outgoing or rendered
    if not same:
        return result, await publish(world, claim, outgoing, public)
    if public is not None and public.is_whole(outgoing):
        return result, None
    url = await publish(world, claim, outgoing, public)
    reworded = result.state.descriptions != state.descriptions
    what = "its descriptions were written anew" if reworded else PUT_BACK
    return replace(result, reason=f"the document is the same as before; {what}"), url


async def _remembered(world: World, site: Site) -> tuple[SiteState, bytes | None]:
    """The state of the last run. One that cannot be read is a cache lost: the run crawls fully, and says so."""
    stored = await world.states.load(site.id)
    try:
        return decode(stored), stored
    except CorruptState as error:
        world.events.event("state_unreadable", site_id=site.id, base_url=site.base_url, detail=str(error))
        return SiteState(), None


async def _remember(world: World, site: Site, memory: bytes, stored: bytes | None) -> None:
    """Store what the next run compares with. It is a cache: a run that is committed does not fail with it."""
    if memory == stored:
        return
    try:
        await world.states.save(site.id, memory)
    except ServiceError as error:
        world.events.event("state_failed", site_id=site.id, base_url=site.base_url, code=error.code, detail=str(error))


def _report(world: World, site: Site, commit: Commit, result: Survey) -> None:
    """The one canonical line of a run."""
    world.events.event(
        "site_recrawled",
        site_id=site.id,
        base_url=site.base_url,
        run_id=commit.run_id,
        tick_id=commit.tick_id,
        outcome=commit.outcome,
        reason=commit.reason,
        crawled=commit.crawled,
        requests=result.requests,
        ours=result.ours,
        refused=0 if result.crawl is None else len(result.crawl.left({Left.REFUSED})),
        unlock_calls=result.spent.get("unlock_calls", 0),
        duration_ms=commit.duration_ms,
        next_crawl_at=None if commit.next_crawl_at is None else commit.next_crawl_at.isoformat(),
    )
