"""Looks at a site and decides what should become of its file; writes nothing.

inventory, verdict, crawl, document, compare, guard: the middle of a recrawl. `recrawl` acts on the result, `preview`
only shows it, and a one-off `crawl` is a survey of a site without a past.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from runtime import keys, urls
from runtime.crawl.access import Access, read_access
from runtime.crawl.crawler import Crawler, Progress
from runtime.crawl.rules import Rules
from runtime.crawl.twins import with_twins
from runtime.document.build import Document, build
from runtime.document.carry import carry_over
from runtime.document.changes import ChangeRecord, compare_documents
from runtime.document.guard import HeldMemory, Hold, guard
from runtime.document.parse import parse
from runtime.document.render import Rendered, render
from runtime.models import MIN_INTERVAL, Outcome, Site
from runtime.ports import Stored, World
from runtime.reading import CrawlResult, Inventory, Left
from runtime.sitemap.compare import compare
from runtime.sitemap.lastmod import LastmodTrust, observe
from runtime.sitemap.tree import InventoryReading, read_inventory
from runtime.state import SiteState
from runtime.verdicts import Changed, Unchanged, Unknown, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What a look at a site gave. `outcome` is what a recrawl will end with if every write succeeds.

    `state` is the memory to store when the run is committed; `document` and `rendered` are None when the site was not
    crawled to the end; `hold` is the memory of a held result.
    """

    outcome: Outcome
    reason: str
    state: SiteState
    verdict: Verdict
    sentinel_url: str | None = None
    crawl: CrawlResult | None = None
    document: Document | None = None
    rendered: Rendered | None = None
    changes: ChangeRecord | None = None
    retry_after: datetime | None = None
    requests: int = 0
    counts: dict[str, int] = field(default_factory=dict)


async def survey(
    world: World,
    site: Site,
    state: SiteState,
    published: Stored | None,
    *,
    forced: bool,
    now: datetime,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> Survey:
    """Look at a site.

    :param published: the public object as it is; None when there is none.
    :param forced: skip the sitemap's verdict (a webhook or a person asked).
    :param deadline: event-loop time after which the crawl stops; its result is then incomplete and held.
    """
    limits = world.settings.limits
    origin = urls.origin(site.base_url)
    access = await read_access(world.web, origin, limits, previous=state.robots, now=now)
    if access.status == "unreachable":
        return _failed(state, "robots.txt cannot be read, so nothing may be fetched (RFC 9309)", access=access)
    state = replace(state, robots=access.document)
    if not access.robots.allowed(urls.entry_url(site.base_url)):
        return _disallowed(state, published)
    reading = await read_inventory(
        world.web,
        site.base_url,
        robots_sitemaps=access.robots.sitemaps,
        sentinel_url=site.sentinel_url,
        previous=state.inventory,
        limits=limits,
        now=now,
    )
    trust = LastmodTrust(**state.trust)
    verdict = compare(state.inventory, reading.inventory, trust, now)
    seen = replace(
        state,
        inventory=reading.inventory if reading.inventory.complete or state.inventory is None else state.inventory,
    )
    skip = may_skip(
        verdict, site, state, published, forced=forced, now=now, max_stale_days=world.settings.max_stale_days
    )
    if skip:
        return Survey(
            outcome=Outcome.UNCHANGED_SITEMAP,
            reason=skip,
            state=seen,
            verdict=verdict,
            sentinel_url=reading.sentinel_url,
            requests=reading.requests + 1,
        )
    rules = Rules(world.web, site.base_url, limits)
    rules.know(origin, access)
    crawl = await Crawler(
        web=world.web,
        base_url=site.base_url,
        options=site.options,
        rules=rules,
        limits=limits,
        now=now,
        inventory=reading.inventory.entries,
        deadline=deadline,
        progress=progress,
    ).run()
    pages, probes = await with_twins(
        world.web, crawl.pages, rules, previous=state.twins, concurrency=limits.connections_per_host
    )
    crawl = replace(crawl, pages=tuple(pages), requests=crawl.requests + probes)
    return _conclude(world, site, seen, published, reading, trust, verdict, crawl, now)


def may_skip(
    verdict: Verdict,
    site: Site,
    state: SiteState,
    published: Stored | None,
    *,
    forced: bool,
    now: datetime,
    max_stale_days: int,
) -> str:
    """Why the crawl can be spared, or the empty text. Only a complete `Unchanged` spares it, never a forced run, never
    past the maximum staleness, never when the options changed or the public object is not the row's.
    """
    if forced or not isinstance(verdict, Unchanged) or state.last_full_crawl_at is None:
        return ""
    longest = max(
        timedelta(days=max_stale_days), 4 * timedelta(minutes=max(MIN_INTERVAL, site.options.recrawl_interval_minutes))
    )
    if now - state.last_full_crawl_at >= longest or state.last_full_crawl_at > now:
        return ""
    if state.options != _options(site) or state.held is not None or state.misses:
        return ""
    if published is None or published.sha256 != site.latest_llms_hash:
        return ""
    return verdict.reason


def _conclude(
    world: World,
    site: Site,
    state: SiteState,
    published: Stored | None,
    reading: InventoryReading,
    trust: LastmodTrust,
    verdict: Verdict,
    crawl: CrawlResult,
    now: datetime,
) -> Survey:
    requests = reading.requests + crawl.requests + 1
    counts = {
        "pages": len(crawl.pages),
        "left_out": len(crawl.left_out),
        "requests": requests,
        "bytes": crawl.bytes_read,
    }
    if not crawl.pages:
        problem = crawl.problem or _nothing_listed(crawl)
        return replace(_failed(state, problem), verdict=verdict, crawl=crawl, requests=requests, counts=counts)
    listed, misses = carry_over(state.pages, crawl, state.misses)
    document = build(listed, site.base_url, site.options, home=crawl.home)
    rendered = render(document, section_url=lambda slug: world.publisher.url(keys.section(site.base_url, slug)))
    old = None if published is None else parse(published.body.decode("utf-8", "replace"))
    record = compare_documents(old, document)
    content_changed = rendered.sha256 != (state.site_hash or site.latest_llms_hash)
    after = replace(
        state,
        trust=asdict(
            observe(trust, state.inventory or Inventory(), reading.inventory, now, content_changed=content_changed)
        ),
        inventory=reading.inventory,
        pages=tuple(listed),
        home=crawl.home,
        misses=misses,
        left_out=crawl.left_out,
        site_hash=rendered.sha256,
        options=_options(site),
        held=None,
        last_full_crawl_at=now if crawl.complete else state.last_full_crawl_at,
    )
    result = Survey(
        outcome=Outcome.UNCHANGED_CONTENT,
        reason="the document is the same as before",
        state=after,
        verdict=verdict,
        sentinel_url=reading.sentinel_url,
        crawl=crawl,
        document=document,
        rendered=rendered,
        changes=record,
        requests=requests,
        counts=counts,
    )
    if rendered.sha256 == site.latest_llms_hash:
        return replace(result, state=replace(after, pinned_over=None))
    if state.pinned_over == rendered.sha256:
        return replace(result, reason="rolled back; the site has not changed since")
    memory = None if state.held is None else HeldMemory(**state.held)
    judged = guard(previous=old, new=document, rendered=rendered, crawl=crawl, held_before=memory, now=now)
    if isinstance(judged, Hold):
        kept = replace(state, held=asdict(judged.memory), left_out=crawl.left_out)
        return replace(result, outcome=Outcome.HELD, reason=judged.reason, state=kept)
    return replace(result, outcome=Outcome.UPDATED, reason=judged.reason, state=replace(after, pinned_over=None))


def _failed(state: SiteState, reason: str, *, access: Access | None = None) -> Survey:
    return Survey(
        outcome=Outcome.FAILED,
        reason=reason,
        state=state,
        verdict=Unknown(reason),
        retry_after=None if access is None else access.retry_after,
        requests=1,
    )


def _disallowed(state: SiteState, published: Stored | None) -> Survey:
    """A robots.txt that shuts us out empties nothing: the published file stays until its owner decides."""
    reason = "robots.txt does not allow us to read the site"
    outcome = Outcome.FAILED if published is None else Outcome.HELD
    return Survey(outcome=outcome, reason=reason, state=state, verdict=Unknown(reason), requests=1)


def _nothing_listed(crawl: CrawlResult) -> str:
    reasons = {item.reason for item in crawl.left_out}
    if Left.NEEDS_RENDERING in reasons:
        return "the site's pages are empty without scripts, so there is nothing to list"
    return "the site has no page that may be listed"


def _options(site: Site) -> dict[str, Any]:
    """The options that shape the document; a change of one of them makes the stored inventory prove nothing."""
    options = site.options
    return {
        "max_pages": options.max_pages,
        "desc_length": options.desc_length,
        "include": list(options.include),
        "exclude": list(options.exclude),
    }


def changed_urls(verdict: Verdict) -> int:
    """How many URLs a verdict names."""
    return len(verdict.added) + len(verdict.removed) + len(verdict.touched) if isinstance(verdict, Changed) else 0
