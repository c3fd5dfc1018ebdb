"""One sitemap document, asked for as cheaply as its past allows: a conditional GET, equal bytes, then a parse."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from runtime import conditional
from runtime.errors import FetchFailed, HopRefused, Refused
from runtime.ports import MayVisit, Web
from runtime.reading import DocumentState, Response, stamp
from runtime.settings import CrawlLimits
from runtime.sitemap.body import Allowance, Body
from runtime.sitemap.dates import parse_lastmod
from runtime.sitemap.gunzip import MAGIC
from runtime.sitemap.parse import SitemapDocument, parse_sitemap
from runtime.sitemap.turns import Turns

ACCEPT: Final = "application/xml, text/xml, text/plain;q=0.9, */*;q=0.5"
LARGE: Final = 100_000
"""Bytes; a larger body is parsed beside the event loop, so that other sites go on."""

TURNS: Final = Turns()
"""One thread for all sites of the process."""

AGAIN: Final = "leads to a sitemap that is asked for anyway"

REMEMBER_FETCH: Final = timedelta(days=7)
"""A document that came in full unchanged is only stamped anew this often: the stored state then stays the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of asking for a document.

    Exactly one of three: `document` with a new `state` was parsed; `state` alone is the stored one, found unchanged;
    neither: nothing usable came, `problem` says why, and `transient` whether it may come next time. `again`: it leads
    to a document that is asked for anyway.
    """

    url: str
    state: DocumentState | None = None
    document: SitemapDocument | None = None
    problem: str = ""
    transient: bool = False
    again: bool = False
    not_before: datetime | None = None
    requests: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A document that came, is not the stored one, and waits to be parsed: a body takes less room than its entries."""

    url: str
    response: Response
    body: Body
    requests: int


async def read_document(
    web: Web,
    url: str,
    previous: DocumentState | None,
    *,
    limits: CrawlLimits,
    now: datetime,
    may_visit: MayVisit | None = None,
) -> Outcome:
    """Ask for a document and read it.

    :param previous: what the last reading stored of it.
    """
    allowance = Allowance(limits.sitemap_wire_bytes_per_site, limits.sitemap_bytes_per_site)
    came = await ask(web, url, previous, limits=limits, now=now, may_visit=may_visit, allowance=allowance)
    return await parse(came, limits, now) if isinstance(came, Unread) else came


async def ask(
    web: Web,
    url: str,
    previous: DocumentState | None,
    *,
    limits: CrawlLimits,
    now: datetime,
    allowance: Allowance,
    may_visit: MayVisit | None = None,
    seen: AbstractSet[str] = frozenset(),
) -> Outcome | Unread:
    """Ask for a document; one that has to be parsed is given as it came.

    :param allowance: what the site's documents may still take; this one takes its part.
    :param seen: documents that no redirect need lead to, since they are asked for themselves.
    """
    asked = None
    if previous is not None and previous.complete:
        asked = conditional.sendable(previous.validators, now, previous.fetched)
    requests = 0

    async def may_go(hop: str) -> str | None:
        if hop != url and hop in seen:
            return AGAIN
        return None if may_visit is None else await may_visit(hop)

    try:
        while True:
            body = Body(allowance)
            response = await web.get(
                url, max_bytes=limits.sitemap_bytes, accept=ACCEPT, validators=asked, may_visit=may_go, sink=body
            )
            requests += max(1, len(response.hops))
            fits = previous is not None and response.url == previous.final_url
            if response.status != 304 or asked is None or fits:
                break
            asked = None  # not modified, but since a document elsewhere: ask for the whole one
    except (FetchFailed, HopRefused, Refused) as error:
        transient = isinstance(error, FetchFailed)
        again = isinstance(error, HopRefused) and error.reason == AGAIN
        return Outcome(url=url, problem=f"{url}: {error}", transient=transient, again=again, requests=requests + 1)
    status = response.status
    if status == 304 and asked is not None and previous is not None:
        kept = replace(previous, url=url, validators=conditional.after_304(previous.validators, response))
        return Outcome(url=url, state=_seen(kept, now), requests=requests)
    if not 200 <= status < 300:
        return Outcome(
            url=url,
            problem=f"{url}: answers {status}",
            transient=status in (304, 408, 425, 429) or status >= 500,
            not_before=conditional.retry_after(response, now),
            requests=requests,
        )
    whole = previous is not None and previous.complete and response.complete
    if previous is not None and whole and (previous.sha256, previous.final_url) == (body.sha256, response.url):
        kept = replace(previous, url=url, validators=conditional.storable(response, now))
        return Outcome(url=url, state=_fetched(_seen(kept, now), now), requests=requests)
    return Unread(url=url, response=response, body=body, requests=requests)


async def parse(came: Unread, limits: CrawlLimits, now: datetime) -> Outcome:
    """Read a document that came."""
    url, response = came.url, came.response
    document = await _parse(response, came.body, limits)
    if document.kind == "invalid" and came.body.problem:
        return Outcome(url=url, problem=f"{url}: {came.body.problem}", transient=True, requests=came.requests)
    if document.kind == "invalid":
        reason = document.problems[0] if document.problems else "cannot be read"
        return Outcome(url=url, problem=f"{url}: not a sitemap ({reason})", requests=came.requests)
    state = DocumentState(
        url=url,
        final_url=response.url,
        validators=conditional.storable(response, now),
        sha256=came.body.sha256,
        kind=document.kind,
        complete=document.complete,
        checked_at=stamp(now),
        fetched_at=stamp(now),
        children=document.children,
    )
    return Outcome(url=url, state=state, document=document, requests=came.requests)


def stands(state: DocumentState | None, lastmod: str, now: datetime) -> bool:
    """Whether an unmoved lastmod in the index vouches for a stored document.

    Only for a whole one that was looked at after that time, that holds nothing newer than its index says, and that
    came in full not too long ago.
    """
    date = parse_lastmod(lastmod)
    if state is None or date is None or not state.complete or state.fetched is None:
        return False
    recent = timedelta() <= now - state.fetched <= conditional.RECHECK
    settled = max(stamp(date.over), state.open_until) <= state.checked_at
    return recent and settled and state.newest <= stamp(date.end)


def _seen(state: DocumentState, now: datetime) -> DocumentState:
    """Stamped as checked now, if that tells more than the stamp it has: a day was not over when it was last checked."""
    return replace(state, checked_at=stamp(now)) if state.open_until > state.checked_at else state


def _fetched(state: DocumentState, now: datetime) -> DocumentState:
    old = state.fetched
    return state if old is not None and now - old < REMEMBER_FETCH else replace(state, fetched_at=stamp(now))


async def _parse(response: Response, body: Body, limits: CrawlLimits) -> SitemapDocument:
    content_type = response.header("content-type") or ""

    def run() -> SitemapDocument:
        return parse_sitemap(body, response.url, content_type, limits=limits, complete=response.complete)

    large = len(body) > LARGE or body.head.startswith(MAGIC)
    document = await TURNS.read(body.site_took, run) if large else run()
    if not body.problem:
        return document
    return replace(document, complete=False, problems=tuple(dict.fromkeys((*document.problems, body.problem))))
