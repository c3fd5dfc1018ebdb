"""Reads a site: polite, concurrent, bounded, and with the same result whatever the timing.

Requests are sent ahead of time, but answers are taken in queue order; so which pages are read, and in which order their
links join the queue, is a function of the site alone. Every URL that is not listed has a reason.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from runtime import urls
from runtime.crawl.frontier import Frontier
from runtime.crawl.judge import judge_page, judge_status
from runtime.crawl.page import is_page_type, read_page
from runtime.crawl.rules import Rules
from runtime.crawl.select import aliases_to_keep, old_versions, other_languages
from runtime.errors import FetchFailed, HopRefused, Refused
from runtime.models import SiteOptions
from runtime.ports import Web
from runtime.reading import CrawlResult, Left, LeftOut, Page, PageReading, Response
from runtime.settings import CrawlLimits

Progress = Callable[[int, int, str], None]
"""Called with pages kept, pages wanted and the URL just read."""

ACCEPT = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1"


@dataclass(slots=True)
class _Fetched:
    """One answer on its way to the judge: a response, or the reason there is none."""

    url: str
    response: Response | None = None
    left: tuple[Left, str] | None = None


@dataclass(slots=True)
class Crawler:
    """One crawl of one site.

    :param base_url: canonical, as enrolled.
    :param inventory: page URLs that the sitemaps name.
    :param deadline: event-loop time after which no further page is asked for; the result is then incomplete.
    """

    web: Web
    base_url: str
    options: SiteOptions
    rules: Rules
    limits: CrawlLimits
    now: datetime
    inventory: Iterable[str] = ()
    deadline: float | None = None
    progress: Progress | None = None
    _kept: dict[str, PageReading] = field(default_factory=dict)
    _aliases: dict[str, tuple[str, PageReading]] = field(default_factory=dict)
    _dead: set[str] = field(default_factory=set)
    _requests: int = 0
    _bytes: int = 0
    _problem: str = ""
    _cache: dict[str, str | None] = field(default_factory=dict)

    async def run(self) -> CrawlResult:
        """Crawl until `max_pages` are kept, nothing is left to ask for, or a bound is met. Never raises for what the
        site did; a site that cannot be entered has no pages and says why in `problem`.
        """
        home = await self._fetch(urls.entry_url(self.base_url), entry=True)
        if home.response is None or judge_status(home.response, cap=self.limits.html_bytes) is not None:
            reason, detail = home.left or judge_status(_answer(home), cap=self.limits.html_bytes) or (Left.EMPTY, "")
            left = (LeftOut(home.url, reason, detail),)
            return CrawlResult(
                left_out=left,
                complete=False,
                problem=_entry_problem(reason, detail),
                requests=self._requests,
                bytes_read=self._bytes,
            )
        landed = urls.normalize(home.response.url)
        self.rules.scope = urls.adopted_base(self.base_url, landed)
        frontier = Frontier(landed, self.options, self.limits)
        frontier.seen.add(landed)
        if home.url != landed and urls.in_scope(landed, home.url):
            frontier.seen.add(urls.on_origin(landed, home.url))
        self._take(frontier, _Fetched(landed, home.response), landed)
        frontier.add_inventory(self.inventory)
        await self._drain(frontier)
        return self._finish(frontier, landed)

    async def _drain(self, frontier: Frontier) -> None:
        window: deque[asyncio.Task[_Fetched]] = deque()
        try:
            while True:
                while (url := self._next(frontier, len(window))) is not None:
                    window.append(asyncio.ensure_future(self._fetch(url)))
                if not window:
                    return
                fetched = await window.popleft()
                if len(self._kept) >= self.options.max_pages:
                    return
                self._take(frontier, fetched, fetched.url)
        finally:
            for task in window:
                task.cancel()
            await asyncio.gather(*window, return_exceptions=True)

    def _next(self, frontier: Frontier, in_flight: int) -> str | None:
        wanted = self.options.max_pages - len(self._kept)
        if in_flight >= min(wanted, 4 * self.limits.connections_per_host):
            return None
        if frontier.queue and (problem := self._bound()):
            self._problem = problem
            return None
        return frontier.pop()

    def _bound(self) -> str:
        if self.deadline is not None and asyncio.get_running_loop().time() >= self.deadline:
            return "the time for one site was used up"
        if self._requests >= self.limits.requests_per_site(self.options.max_pages):
            return "the request budget of the site was used up"
        if self._bytes >= self.limits.bytes_per_site:
            return "the byte budget of the site was used up"
        return ""

    async def _fetch(self, url: str, *, entry: bool = False) -> _Fetched:
        self._requests += 1
        try:
            response = await self.web.get(
                url,
                max_bytes=self.limits.html_bytes,
                accept=ACCEPT,
                may_visit=self.rules.may_enter if entry else self.rules.may_visit,
            )
        except HopRefused as refusal:
            target = "" if refusal.url == url else refusal.url
            return _Fetched(url, left=(Left(refusal.reason), target))
        except Refused as refusal:
            return _Fetched(url, left=(Left.REFUSED, refusal.code))
        except FetchFailed as failure:
            return _Fetched(url, left=(Left.UNREACHABLE, failure.code))
        self._requests += max(0, len(response.hops) - 1)
        self._bytes += len(response.body)
        return _Fetched(url, response)

    def _take(self, frontier: Frontier, fetched: _Fetched, asked: str) -> None:
        """Judge one answer: list it, hold it as an alias, or leave it out; queue its links."""
        response = fetched.response
        if response is None:
            reason, detail = fetched.left or (Left.UNREACHABLE, "")
            self._leave(frontier, asked, reason, detail)
            return
        final = frontier.identity(urls.normalize(response.url))
        if final is None:
            self._leave(frontier, asked, Left.OFF_SITE, response.url)
            return
        if final != asked:
            self._leave(frontier, asked, Left.REDIRECT, final)
            if final in self._kept or final in frontier.left_out:
                return
            frontier.seen.add(final)
            # It may be queued, or in flight: this answer serves for it.
            if final in frontier.queue:
                frontier.queue.remove(final)
        elif asked in self._kept or asked in frontier.left_out:
            return
        left = judge_status(response, cap=self.limits.html_bytes)
        if left is None and not is_page_type(response.content_type, response.body):
            left = (Left.NOT_A_PAGE, response.content_type)
        if left is not None:
            self._leave(frontier, final, *left)
            return
        reading = read_page(response.body, response.url, response.headers, now=self.now, href_cache=self._cache)
        self._list(frontier, final, reading, redirected=final != asked)

    def _list(self, frontier: Frontier, url: str, reading: PageReading, *, redirected: bool) -> None:
        left = judge_page(reading, redirected=redirected)
        if reading.follow:
            frontier.add(reading.links)
        if reading.redirect is not None and left is None:
            target = frontier.identity(reading.redirect)
            if target != url:
                frontier.add([reading.redirect], front=True)
                left = (Left.REDIRECT, reading.redirect)
        if left is not None:
            self._leave(frontier, url, *left)
            return
        canonical = None if reading.canonical is None else frontier.identity(reading.canonical)
        if reading.canonical is not None and canonical is None:
            self._leave(frontier, url, Left.CANONICAL, reading.canonical)
        elif canonical is not None and canonical != url:
            self._aliases[url] = (canonical, reading)
            frontier.add([canonical], front=True)
        else:
            self._kept[url] = reading
        if self.progress is not None:
            self.progress(len(self._kept), self.options.max_pages, url)

    def _leave(self, frontier: Frontier, url: str, reason: Left, detail: str) -> None:
        self._dead.add(url)
        frontier.leave(url, reason, detail)

    def _finish(self, frontier: Frontier, home: str) -> CrawlResult:
        titles = {url: reading.title for url, reading in self._kept.items()}
        aliases = {url: (target, reading.title) for url, (target, reading) in self._aliases.items()}
        for url in aliases_to_keep(aliases, titles, self._dead):
            if len(self._kept) < self.options.max_pages:
                self._kept[url] = self._aliases.pop(url)[1]
        for url, (target, _) in self._aliases.items():
            frontier.leave(url, Left.CANONICAL, target)
        for item in [*old_versions(self._kept), *other_languages(self._kept, home)]:
            if item.url != home and item.url in self._kept:
                del self._kept[item.url]
                frontier.left_out[item.url] = item
        for url in frontier.queue:
            frontier.leave(url, Left.LIMIT, self._problem or f"max_pages is {self.options.max_pages}")
        pages = tuple(_page(url, self._kept[url]) for url in sorted(self._kept))
        return CrawlResult(
            pages=pages,
            left_out=tuple(sorted(frontier.left_out.values(), key=lambda item: item.url)),
            home=home if home in self._kept else None,
            complete=not self._problem,
            problem=self._problem,
            requests=self._requests,
            bytes_read=self._bytes,
        )


def _page(url: str, reading: PageReading) -> Page:
    return Page(
        url=url,
        title=reading.title,
        description=reading.description,
        alternates=reading.markdown_alternates,
        site_name=reading.site_name,
        language=reading.language,
    )


def _answer(fetched: _Fetched) -> Response:
    assert fetched.response is not None
    return fetched.response


def _entry_problem(reason: Left, detail: str) -> str:
    """The sentence an operator reads when a site cannot be entered."""
    sentences = {
        Left.ROBOTS: "robots.txt does not allow us to read the entry page",
        Left.OFF_SITE: f"the entry page leads to another site ({detail})",
        Left.LOGIN: f"the entry page asks for a login ({detail})",
        Left.UNREACHABLE: f"the site does not answer ({detail})",
        Left.REFUSED: f"the address of the site is not allowed ({detail})",
    }
    return sentences.get(reason, f"the entry page cannot be read ({detail or reason})")
