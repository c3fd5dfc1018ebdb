"""What should become of a site's file: document, compare, guard. Pure but for the names of public URLs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from runtime import keys
from runtime.crawl.frontier import still_chosen
from runtime.document.build import build
from runtime.document.carry import carry_over
from runtime.document.changes import ChangeRecord, compare_documents
from runtime.document.guard import HeldMemory, Hold, guard
from runtime.document.model import Document
from runtime.document.render import Rendered, render
from runtime.models import Outcome, Site
from runtime.published import Published
from runtime.reading import CrawlResult, Inventory, Left, stamp
from runtime.sitemap.lastmod import LastmodTrust, observe
from runtime.state import SiteState
from runtime.verdicts import Changed, Unknown, Verdict

MAX_DEFERRALS = 5
"""So often a crawl that runs out of time goes on where it stopped; after that the site is too slow to be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What a look at a site gave. `outcome` is what a recrawl ends with if every write succeeds.

    `state` is the memory to store when the run is committed. `document`, `rendered` and `changes` are None when the
    site was not read to the end. `counts_as_failure`: the back-off applies; `code` is why, where nobody answered.
    `ours`: the fault is not the site's, and nothing of this look is remembered. `sitemap_says_changed` is the sitemap's
    word, true at the first sight of one and None where it has none; `asked_for_all` that no page was spared on its
    word. `outgoing` is what readers get: the document as `rendered` or with a model's texts, under the hash of the
    former. `spent` counts what paid services did.
    """

    outcome: Outcome
    reason: str
    state: SiteState
    verdict: Verdict
    counts_as_failure: bool = False
    code: str = ""
    ours: bool = False
    sitemap_says_changed: bool | None = None
    asked_for_all: bool = False
    sentinel_url: str | None = None
    crawl: CrawlResult | None = None
    document: Document | None = None
    rendered: Rendered | None = None
    changes: ChangeRecord | None = None
    retry_after: datetime | None = None
    requests: int = 0
    outgoing: Rendered | None = None
    spent: Mapping[str, int] = field(default_factory=dict)

    @property
    def crawled(self) -> bool:
        """Whether a page came in full; a site whose pages all answered "not modified" was only asked."""
        return self.crawl is not None and self.crawl.downloaded > 0

    @property
    def gone(self) -> bool:
        """Whether the entry page itself answered 410."""
        return self.crawl is not None and not self.crawl.pages and bool(self.crawl.left({Left.GONE}))

    @property
    def counts(self) -> dict[str, int]:
        """The numbers that the run's row keeps."""
        if self.crawl is None:
            return {"requests": self.requests}
        return {
            "requests": self.requests,
            "pages": len(self.crawl.pages),
            "left_out": len(self.crawl.left_out),
            "downloaded": self.crawl.downloaded,
            "bytes": self.crawl.bytes_read,
            **self.spent,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawled:
    """A crawl and what is known beside it.

    :param inventory: the sitemaps as just read; the state has those of the last run.
    :param full: nothing was recalled from earlier runs.
    :param asked_for_all: every page was asked for; it may have answered "not modified".
    :param public_only: links to private hosts make a file unfit to be published.
    """

    site: Site
    state: SiteState
    published: Published | None
    inventory: Inventory
    sentinel_url: str | None
    trust: LastmodTrust
    verdict: Verdict
    crawl: CrawlResult
    full: bool
    asked_for_all: bool
    requests: int
    now: datetime
    retry_after: datetime | None = None
    public_only: bool = True


def failed(state: SiteState, reason: str, **more: Any) -> Survey:
    """A look that ended in a failure of the site's."""
    return Survey(
        **{
            "outcome": Outcome.FAILED,
            "reason": reason,
            "state": state,
            "verdict": Unknown(reason),
            "counts_as_failure": True,
            "requests": 1,
            **more,
        }
    )


def our_fault(state: SiteState, reason: str, **more: Any) -> Survey:
    """A look that a fault of our own ended: the site is looked at again soon, and no failure is counted."""
    return Survey(
        **{
            "outcome": Outcome.DEFERRED,
            "reason": reason,
            "state": state,
            "verdict": Unknown(reason),
            "ours": True,
            **more,
        }
    )


def says_changed(verdict: Verdict, before: Inventory | None, now: Inventory) -> bool | None:
    """A sitemap's word on whether its site changed; None where it proves nothing."""
    if isinstance(verdict, Unknown):
        return True if before is None and now.complete and now.entries else None
    return isinstance(verdict, Changed)


def conclude(found: Crawled, public_url: Callable[[str], str]) -> Survey:
    """The survey that a crawl comes to.

    :param public_url: the public URL of a key, for the links of a document in several files.
    """
    crawl, state, site = found.crawl, found.state, found.site
    common: dict[str, Any] = {
        "verdict": found.verdict,
        "sitemap_says_changed": says_changed(found.verdict, state.inventory, found.inventory),
        "asked_for_all": found.asked_for_all,
        "crawl": crawl,
        "requests": found.requests,
        "retry_after": max(filter(None, (found.retry_after, crawl.retry_after)), default=None),
    }
    if crawl.out_of_time:
        return _deferred(found, common)
    if not crawl.pages:
        return failed(state, crawl.problem or _nothing_listed(crawl), code=_unreachable(crawl), **common)
    listed, misses = carry_over(state.pages, crawl, state.misses)
    document = build(listed, site.base_url, site.options, home=crawl.home)
    rendered = render(document, section_url=lambda slug: public_url(keys.section(site.base_url, slug)))
    old = None if found.published is None else found.published.document
    changed = rendered.sha256 != (state.site_hash or site.latest_llms_hash)
    trust = observe(found.trust, state.inventory or Inventory(), found.inventory, found.now, content_changed=changed)
    after = replace(
        _read(found),
        trust=asdict(trust),
        inventory=found.inventory,
        pages=tuple(listed),
        home=crawl.home,
        misses=misses,
        site_hash=rendered.sha256,
        options=site.options.shaping(),
        held=None,
        last_full_crawl_at=found.now if found.full and crawl.complete else state.last_full_crawl_at,
    )
    result = Survey(
        outcome=Outcome.UNCHANGED_CONTENT,
        reason="the document is the same as before",
        state=after,
        sentinel_url=found.sentinel_url,
        document=document,
        rendered=rendered,
        changes=compare_documents(old, document),
        **common,
    )
    if rendered.sha256 == site.latest_llms_hash:
        return result
    if site.pinned_over == rendered.sha256:
        return replace(result, reason="rolled back; the site has not changed since")
    memory, confirmed = (None if kept is None else HeldMemory(**kept) for kept in (state.held, site.confirmed))
    as_before = not state.options or state.options == site.options.shaping()
    judged = guard(
        previous=old,
        new=document,
        rendered=rendered,
        crawl=crawl,
        held_before=memory,
        confirmed=confirmed,
        now=found.now,
        still_wanted=None if as_before else still_chosen(site.options, state.pages, state.home),
        public_only=found.public_only,
    )
    if not isinstance(judged, Hold):
        return replace(result, outcome=Outcome.UPDATED, reason=judged.reason)
    after = replace(_read(found), held=asdict(judged.memory))
    return replace(result, outcome=Outcome.HELD, reason=judged.reason, state=after)


def _read(found: Crawled) -> SiteState:
    """The old state with what the pages said this time."""
    crawl, state = found.crawl, found.state
    lied = crawl.validators_lied or (state.validators_lie and not found.full)
    return replace(
        state,
        memory=crawl.memory if crawl.complete else {**state.memory, **crawl.memory},
        validators_lie=lied,
        left_out=crawl.left_out,
        resumed_since=None,
        deferrals=0,
    )


def _deferred(found: Crawled, common: dict[str, Any]) -> Survey:
    """A crawl that ran out of time goes on in another run; nothing is published in between."""
    state = found.state
    if state.deferrals >= MAX_DEFERRALS:
        given_up = replace(_read(found), memory={})
        return failed(given_up, f"the site could not be read in {MAX_DEFERRALS + 1} runs; allow fewer pages", **common)
    since = state.resumed_since or stamp(found.now)
    resumed = replace(_read(found), resumed_since=since, deferrals=state.deferrals + 1)
    reason = f"{len(found.crawl.memory)} pages were read; {found.crawl.problem}; the crawl goes on later"
    return Survey(outcome=Outcome.DEFERRED, reason=reason, state=resumed, **common)


def _unreachable(crawl: CrawlResult) -> str:
    """Why the entry page did not answer; empty when it did."""
    return next((item.detail for item in crawl.left({Left.UNREACHABLE})), "")


def _nothing_listed(crawl: CrawlResult) -> str:
    if Left.NEEDS_RENDERING in {item.reason for item in crawl.left_out}:
        return "the site's pages are empty without scripts, so there is nothing to list"
    return "the site has no page that may be listed"
