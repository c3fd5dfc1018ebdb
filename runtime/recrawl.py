"""One recrawl, start to finish: survey the site, publish, commit the row, remember.

Every claimed site ends here with exactly one outcome. The row is written last but for the memory, in one fenced
statement; so a crash anywhere means the same work again, never a row that claims what is not there.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from runtime.crawl.visit import Progress
from runtime.document.render import Rendered
from runtime.errors import CorruptState, ServiceError, StaleClaim
from runtime.judgement import Survey, failed
from runtime.models import Claim, Commit, Outcome, Site, SiteStatus
from runtime.ports import World
from runtime.published import Published, read_published
from runtime.publishing import publish
from runtime.scheduling import History, ScheduleSettings, decide, spread_of
from runtime.sitemap.lastmod import newest
from runtime.state import SiteState, decode, encode
from runtime.survey import survey


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
    """Work on a claimed site.

    :param deadline: event-loop time by which the crawl must have stopped; by default the site's own limit from now.
    :raises StaleClaim: the lease was lost; nothing of this run was committed.
    :raises StoreDown: the row could not be written; the lease runs out and the site is taken again.
    """
    started = asyncio.get_running_loop().time()
    limit = started + world.settings.limits.site_deadline_seconds
    deadline = limit if deadline is None else min(deadline, limit)
    run_id, site = str(uuid4()), claim.site
    world.events.event("step", step="claimed", site_id=site.id, run_id=run_id, tick_id=tick_id)
    state, stored = await _remembered(world, site)
    try:
        result, url = await _work(world, claim, state, deadline, progress)
    except (StaleClaim, asyncio.CancelledError):
        raise
    except ServiceError as error:
        result, url = failed(state, str(error)), None
    finished_at = world.clock()
    elapsed_ms = round((asyncio.get_running_loop().time() - started) * 1000)
    commit, schedule = _commit(claim, result, url, run_id, tick_id, finished_at, elapsed_ms)
    row = await world.sites.commit_run(claim, commit)
    world.events.event("step", step="committed", site_id=site.id, run_id=run_id)
    memory = encode(replace(result.state, schedule=schedule))
    if memory != stored:
        await world.states.save(site.id, memory)
    _report(world, row, commit, result)
    wanted = row.requested_at is not None or (result.outcome is Outcome.DEFERRED and not result.counts_as_failure)
    again = wanted and row.status is SiteStatus.ACTIVE
    return Finished(
        run_id=run_id,
        site=row,
        outcome=result.outcome,
        reason=result.reason,
        crawled=result.crawled,
        survey=result,
        again=again,
    )


async def _work(
    world: World, claim: Claim, state: SiteState, deadline: float, progress: Progress | None
) -> tuple[Survey, str | None]:
    site = claim.site
    published = await read_published(world.publisher, site.base_url)
    stored = None if published is None else published.stored
    result = await survey(
        world, site, state, published, forced=claim.forced, now=world.clock(), deadline=deadline, progress=progress
    )
    world.events.event("step", step="surveyed", site_id=site.id, outcome=result.outcome)
    if result.rendered is None:
        return result, None
    if result.outcome is Outcome.UPDATED:
        return result, await publish(world, claim, result.rendered, stored)
    same = result.rendered.sha256 == site.latest_llms_hash
    if result.outcome is Outcome.UNCHANGED_CONTENT and same and not _is_whole(published, result.rendered):
        url = await publish(world, claim, result.rendered, stored)
        return replace(
            result, reason="the document is the same as before; its missing or altered file was put back"
        ), url
    return result, None


def _is_whole(published: Published | None, rendered: Rendered) -> bool:
    """Whether readers get exactly what was rendered, section files included."""
    if published is None or published.stored.body != rendered.text.encode():
        return False
    return sorted(published.parts.values()) == sorted(rendered.sections.values())


async def _remembered(world: World, site: Site) -> tuple[SiteState, bytes | None]:
    """The state of the last run. One that cannot be read is a cache lost: the run crawls fully, and says so."""
    stored = await world.states.load(site.id)
    try:
        return decode(stored), stored
    except CorruptState as error:
        world.events.event("state_unreadable", site_id=site.id, base_url=site.base_url, detail=str(error))
        return SiteState(), None


def _commit(
    claim: Claim,
    result: Survey,
    url: str | None,
    run_id: str,
    tick_id: str | None,
    now: datetime,
    elapsed_ms: int,
) -> tuple[Commit, dict[str, float]]:
    site = claim.site
    failures = site.failure_count + 1 if result.counts_as_failure else 0
    decision = decide(
        History.of(
            site,
            result.outcome,
            failures=failures,
            memory=result.state.schedule,
            retry_after=result.retry_after,
            gone=result.gone,
        ),
        ScheduleSettings(),
        now,
        spread=spread_of(site.id, claim.generation),
    )
    changed = result.outcome is Outcome.UPDATED
    inventory = result.state.inventory
    commit = Commit(
        run_id=run_id,
        tick_id=tick_id,
        outcome=result.outcome,
        reason=result.reason,
        error=result.reason if result.counts_as_failure or result.outcome is Outcome.HELD else None,
        next_crawl_at=decision.next_crawl_at,
        failure_count=failures,
        status=SiteStatus.DISABLED if decision.disable else None,
        crawled=result.crawled,
        changed=changed,
        latest_llms_hash=result.rendered.sha256 if changed and result.rendered is not None else None,
        latest_llms_url=url,
        sentinel_url=result.sentinel_url,
        sentinel_last_modified=None if inventory is None else newest(inventory),
        avg_change_interval_minutes=decision.avg_change_interval_minutes,
        counts=result.counts,
        duration_ms=elapsed_ms,
    )
    return commit, dict(decision.memory)


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
        duration_ms=commit.duration_ms,
        next_crawl_at=None if commit.next_crawl_at is None else commit.next_crawl_at.isoformat(),
    )
