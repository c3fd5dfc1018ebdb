"""Looks at a site: robots.txt, sitemaps, and the pages if need be. Writes nothing.

`recrawl` acts on the result, `preview` only shows it, and a one-off `crawl` is a survey of a site without a past.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from runtime import urls
from runtime.crawl.access import Access, read_access
from runtime.crawl.crawler import Crawler
from runtime.crawl.recall import Recall
from runtime.crawl.rules import Rules
from runtime.crawl.twins import with_twins
from runtime.crawl.unlock import MONTH_SPENT, Unlocking, unlocking_for, used_up
from runtime.crawl.visit import Progress
from runtime.judgement import Crawled, Survey, conclude, failed
from runtime.models import Outcome, Site
from runtime.ports import Web, World
from runtime.published import Published
from runtime.reading import TRANSIENT_LEFT, Inventory
from runtime.sitemap.compare import compare
from runtime.sitemap.lastmod import LastmodTrust
from runtime.sitemap.tree import InventoryReading, read_inventory
from runtime.state import SiteState
from runtime.timed import TimedWeb
from runtime.verdicts import Changed, Unchanged, Unknown, Verdict

T = TypeVar("T")


async def survey(
    world: World,
    site: Site,
    state: SiteState,
    published: Published | None,
    *,
    forced: bool,
    now: datetime,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> Survey:
    """Look at a site.

    :param published: the public object as it is; None when there is none.
    :param forced: skip the sitemap's verdict (a webhook or a person asked, or the schedule wants the pages read).
    :param deadline: event-loop time after which nothing new is asked of the site; a crawl then goes on in another run.
    """
    limits, stale_days = world.settings.limits, world.settings.max_stale_days
    origin = urls.origin(site.base_url)
    web: Web = world.web if deadline is None else TimedWeb(world.web, deadline)
    access = await read_access(web, origin, limits, previous=state.robots, now=now)
    world.events.event("step", step="robots_read", site_id=site.id)
    if access.status == "unreachable":
        return _not_now(state, access)
    state = replace(state, robots=access.document)
    if not access.robots.allowed(urls.entry_url(site.base_url)):
        return _disallowed(state, published)
    trust = LastmodTrust(**state.trust)
    fresh = not is_stale(state, site, now, stale_days)
    rules = Rules(web, site.base_url, limits)
    await rules.know(origin, access)
    recall = (
        _recall(state, trust, forced=forced)
        if fresh or state.resumed_since is not None
        else Recall(memory=state.memory)
    )

    async def read_sitemaps() -> InventoryReading:
        reading = await read_inventory(
            web,
            site.base_url,
            robots_sitemaps=access.robots.sitemaps,
            sentinel_url=site.sentinel_url,
            previous=state.inventory,
            limits=limits,
            now=now,
            trust=trust if fresh and not forced else None,
        )
        world.events.event("step", step="sitemaps_read", site_id=site.id)
        return reading

    async with _beside(read_sitemaps()) as sitemaps:

        async def entries() -> Mapping[str, str | None]:
            return (await sitemaps).inventory.entries

        inventory: Mapping[str, str | None] | Callable[[], Awaitable[Mapping[str, str | None]]] = entries
        verdict: Verdict | None = None
        if recall.lastmods_believed or (fresh and not forced):
            reading = await sitemaps
            inventory = reading.inventory.entries
            verdict = compare(state.inventory, reading.inventory, trust, now)
            if not forced and fresh and (spared := why_spared(verdict, site, state, published)):
                return Survey(
                    outcome=Outcome.UNCHANGED_SITEMAP,
                    reason=spared,
                    state=replace(state, inventory=_kept(state.inventory, reading.inventory)),
                    verdict=verdict,
                    sitemap_says_changed=False,
                    sentinel_url=reading.sentinel_url,
                    requests=reading.requests + 1,
                    retry_after=reading.not_before,
                )
            moved = verdict.touched if isinstance(verdict, Changed) else ()
            recall = replace(recall, touched=reading.carried.union(moved))
        unlocker = world.unlocker if site.options.use_brightdata else None
        take = partial(world.sites.take_unlock, limit=world.settings.unlocks_per_month_of_all)
        unlocking = unlocking_for(unlocker, world.settings, state.unlocks, now, deadline, take)
        crawl = await Crawler(
            web=web,
            base_url=site.base_url,
            options=site.options,
            rules=rules,
            limits=limits,
            now=now,
            inventory=inventory,
            recall=recall,
            deadline=deadline,
            progress=progress,
            unlocking=unlocking,
        ).run()
        reading = await sitemaps
    if verdict is None:
        verdict = compare(state.inventory, reading.inventory, trust, now)
    pages, probes = await with_twins(
        web,
        crawl.pages,
        rules,
        previous=state.twins,
        settled=crawl.recalled,
        concurrency=limits.connections_per_host,
    )
    found = Crawled(
        site=site,
        state=state,
        published=published,
        inventory=reading.inventory,
        sentinel_url=reading.sentinel_url,
        trust=trust,
        verdict=verdict,
        crawl=replace(crawl, pages=tuple(pages)),
        full=recall.full,
        asked_for_all=not recall.lastmods_believed and recall.resumed_since is None,
        requests=1 + reading.requests + crawl.requests + probes,
        now=now,
        retry_after=reading.not_before,
        public_only=not world.settings.policy.allow_networks,
    )
    world.events.event("step", step="crawled", site_id=site.id)
    result = conclude(found, world.publisher.url)
    return result if unlocking is None else _unlocked(world, site, result, state.unlocks, unlocking, now)


def why_spared(verdict: Verdict, site: Site, state: SiteState, published: Published | None) -> str:
    """Why the crawl can be spared, or the empty text: only for a complete `Unchanged`, never while a result is held, a
    listed page is missing, one could not be read for the moment or a crawl is unfinished, never when the public object
    is not the row's.
    """
    if not isinstance(verdict, Unchanged):
        return ""
    if state.held is not None or state.misses or state.resumed_since is not None:
        return ""
    if any(item.reason in TRANSIENT_LEFT for item in state.left_out):
        return ""
    if published is None or published.stored.sha256 != site.latest_llms_hash:
        return ""
    return verdict.reason


def is_stale(state: SiteState, site: Site, now: datetime, max_stale_days: int) -> bool:
    """Whether the last full crawl is older than the maximum staleness, or was for other options."""
    last = state.last_full_crawl_at
    if last is None or last > now or state.options != site.options.shaping():
        return True
    interval = timedelta(minutes=site.options.recrawl_interval_minutes)
    return now - last >= max(timedelta(days=max_stale_days), 4 * interval)


def _unlocked(
    world: World, site: Site, result: Survey, used: Mapping[str, int], unlocking: Unlocking, now: datetime
) -> Survey:
    """The result with what the unlocker was asked for, and why it was asked for no more."""
    for code in sorted(unlocking.said):
        name = "unlock_budget_spent" if code == MONTH_SPENT else "unlock_fell_back"
        world.events.event(name, site_id=site.id, code=code)
    if not unlocking.calls:
        return result
    unlocks = used_up(used, unlocking.calls, now)
    return replace(result, spent=unlocking.spent, state=replace(result.state, unlocks=unlocks))


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Work that goes on while the block does something else, and no longer than the block."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _recall(state: SiteState, trust: LastmodTrust, *, forced: bool) -> Recall:
    """How far the memory may be relied on. A forced run asks for every page, and so does one that is to confirm a held
    result; a 304 is then an answer, an unmoved lastmod is not.
    """
    return Recall(
        memory=state.memory,
        lastmods_believed=trust.believed and not forced and state.held is None,
        validators_believed=not state.validators_lie,
        resumed_since=state.resumed_since,
    )


def _kept(before: Inventory | None, now: Inventory) -> Inventory:
    """The stored inventory, unless its documents have new validators: a quiet look then rewrites nothing."""
    if before is None or before.entries != now.entries:
        return now
    known = [(item.url, item.final_url, item.validators, item.sha256) for item in before.documents]
    found = [(item.url, item.final_url, item.validators, item.sha256) for item in now.documents]
    return before if known == found else now


def _not_now(state: SiteState, access: Access) -> Survey:
    """robots.txt could not be read, so nothing may be fetched (RFC 9309 2.3.1.4). A server that answers "not now"
    defers the site; one that does not answer has failed. Both back off.
    """
    if access.reason.startswith("robots.txt answers"):
        reason = f"{access.reason}, so nothing may be fetched now; it is tried again later"
        return failed(state, reason, outcome=Outcome.DEFERRED, retry_after=access.retry_after)
    reason = f"the site does not answer ({access.reason}); check the address and the network"
    return failed(state, reason, code=access.code)


def _disallowed(state: SiteState, published: Published | None) -> Survey:
    """A robots.txt that shuts us out empties nothing: the published file stays until its owner decides."""
    reason = "robots.txt does not allow us to read the site"
    if published is None:
        return failed(state, reason)
    return Survey(outcome=Outcome.HELD, reason=reason, state=state, verdict=Unknown(reason), requests=1)
