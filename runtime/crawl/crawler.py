"""Reads a site: polite, concurrent, bounded, and with the same result whatever the timing.

Requests are sent ahead of time, but answers are taken in queue order; so which pages are read, and in which order their
links join the queue, is a function of the site alone. Every URL that is not listed has a reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from runtime import urls
from runtime.crawl.frontier import Frontier
from runtime.crawl.judge import entry_problem, judge_page
from runtime.crawl.recall import Recall
from runtime.crawl.rules import Rules
from runtime.crawl.select import aliases_to_keep, old_versions, other_languages
from runtime.crawl.text import undouble
from runtime.crawl.unlock import Unlocking
from runtime.crawl.visit import Progress, Visit, Visitor
from runtime.crawl.window import Window
from runtime.models import SiteOptions
from runtime.ports import Web
from runtime.reading import CrawlResult, Left, LeftOut, Page, PageReading
from runtime.settings import CrawlLimits
from runtime.timed import LATE

THROTTLED = "the site asks us to slow down (429)"
Inventory = Mapping[str, str | None]

MOST_THROTTLED = 3
"""One page that answers 429 may have a limit of its own; more of them are the site's."""


@dataclass(slots=True)
class Crawler:
    """One crawl of one site.

    :param base_url: canonical, as enrolled.
    :param inventory: page URL -> lastmod, as the sitemaps have them. While they are still being read, the entry page
        and what it links to are asked for; then `recall` may not depend on them.
    :param recall: what earlier runs remember, and how far it may be relied on.
    :param deadline: event-loop time after which no further page is asked for; the result is then incomplete.
    :param unlocking: the way around walls and shells, if there is one for this site.
    """

    web: Web
    base_url: str
    options: SiteOptions
    rules: Rules
    limits: CrawlLimits
    now: datetime
    inventory: Inventory | Callable[[], Awaitable[Inventory]] = field(default_factory=dict)
    recall: Recall = field(default_factory=Recall)
    deadline: float | None = None
    progress: Progress | None = None
    unlocking: Unlocking | None = None
    _kept: dict[str, PageReading] = field(default_factory=dict)
    _aliases: dict[str, tuple[str, PageReading]] = field(default_factory=dict)
    _dead: set[str] = field(default_factory=set)
    _recalled: set[str] = field(default_factory=set)
    _entry_body: str = ""
    _problem: str = ""

    async def run(self) -> CrawlResult:
        """Crawl until `max_pages` are kept, nothing is left to ask for, or a bound is met.

        Never raises for what the site did; a site that cannot be entered has no pages and says why in `problem`.
        """
        visitor = Visitor(self.web, self.rules, self.limits, self.now, recall=self.recall, unlocking=self.unlocking)
        home = await visitor.enter(urls.entry_url(self.base_url))
        if home.reading is None:
            reason, detail = home.left or (Left.EMPTY, "")
            return CrawlResult(
                left_out=(LeftOut(home.url, reason, detail),),
                complete=False,
                problem=entry_problem(reason, detail),
                requests=visitor.requests,
                bytes_read=visitor.bytes_read,
                retry_after=visitor.not_before,
            )
        landed = home.final_url
        self.rules.scope = urls.adopted_base(self.base_url, landed)
        frontier = Frontier(landed, self.options, self.limits)
        frontier.seen |= {landed, frontier.identity(home.url) or landed}
        placed: Inventory = {}
        if isinstance(self.inventory, Mapping):
            placed = self._know(self.inventory, frontier, visitor)
        self._take(frontier, replace(home, url=landed))
        await self._drain(frontier, visitor, placed)
        return self._finish(frontier, visitor, landed)

    def _know(self, inventory: Inventory, frontier: Frontier, visitor: Visitor) -> Inventory:
        """Recall with every URL's identity (the sitemap may write the site in another way), and give the identities."""
        placed = {url: frontier.identity(url) for url in inventory}
        visitor.know(
            replace(
                self.recall,
                lastmods={url: inventory[raw] for raw, url in placed.items() if url is not None},
                touched=frozenset(url for raw in self.recall.touched if (url := frontier.identity(raw)) is not None),
            )
        )
        return placed

    async def _drain(self, frontier: Frontier, visitor: Visitor, placed: Inventory) -> None:
        window: Window[Visit] = Window()
        try:
            if not isinstance(self.inventory, Mapping):
                visitor.leave_room()
                self._fill(window, frontier, visitor)
                placed = self._know(await self.inventory(), frontier, visitor)
                visitor.take_room(len(window))
            frontier.add_inventory(placed)
            while True:
                self._fill(window, frontier, visitor)
                if not window:
                    self._problem = self._problem or (LATE if visitor.late else "")
                    return
                visit = await window.take()
                if len(self._kept) >= self.options.max_pages:
                    return
                self._take(frontier, visit)
                if frontier.full:
                    visitor.forget_links(visit.url)
        finally:
            await window.close()

    def _fill(self, window: Window[Visit], frontier: Frontier, visitor: Visitor) -> None:
        while (url := self._next(frontier, visitor, len(window))) is not None:
            window.begin(visitor.visit(url))

    def _next(self, frontier: Frontier, visitor: Visitor, in_flight: int) -> str | None:
        """The next URL to ask for. No more are under way than could still be kept, so that a limit wastes nothing."""
        wanted = self.options.max_pages - len(self._kept)
        if in_flight >= min(wanted, 4 * self.limits.connections_per_host) or not frontier.queue:
            return None
        self._problem = self._problem or self._bound(visitor)
        return None if self._problem else frontier.pop()

    def _bound(self, visitor: Visitor) -> str:
        if self.deadline is not None and asyncio.get_running_loop().time() >= self.deadline:
            return LATE
        if visitor.throttled >= MOST_THROTTLED:
            return THROTTLED
        if visitor.requests >= self.limits.requests_per_site(self.options.max_pages):
            return "the request budget of the site was used up"
        if visitor.bytes_read >= self.limits.bytes_per_site:
            return "the byte budget of the site was used up"
        return ""

    def _take(self, frontier: Frontier, visit: Visit) -> None:
        """Judge one visit: list it, hold it as an alias, or leave it out; queue its links."""
        final = frontier.identity(visit.final_url)
        if final is None:
            self._leave(frontier, visit.url, Left.OFF_SITE, visit.final_url)
            return
        if final != visit.url:
            self._leave(frontier, visit.url, Left.REDIRECT, final)
            if not frontier.arrive(final):
                return
        if final in self._kept or final in self._aliases or final in frontier.left_out:
            return
        if visit.reading is None:
            self._leave(frontier, final, *(visit.left or (Left.UNREACHABLE, "")))
            return
        if visit.recalled:
            self._recalled.add(final)
        if final == frontier.home:
            self._entry_body = visit.sha256
        elif visit.sha256 and visit.sha256 == self._entry_body and self._would_list(final, visit, frontier):
            # The entry page under another name: a path that means nothing, a soft 404, a loop of relative links.
            self._leave(frontier, final, Left.DUPLICATE, frontier.home)
            return
        self._list(frontier, final, visit.reading, redirected=final != visit.url)
        if self.progress is not None:
            self.progress(len(self._kept), self.options.max_pages, final)

    def _would_list(self, url: str, visit: Visit, frontier: Frontier) -> bool:
        """Whether nothing that the page says of itself keeps it off the list: its own reason comes first."""
        reading = visit.reading
        if reading is None or reading.redirect is not None:
            return False
        own = reading.canonical is None or frontier.identity(reading.canonical) == url
        return own and judge_page(reading, redirected=url != visit.url) is None

    def _list(self, frontier: Frontier, url: str, reading: PageReading, *, redirected: bool) -> None:
        left = judge_page(reading, redirected=redirected)
        if reading.follow:
            frontier.add(reading.links)
        if left is None and reading.redirect is not None and frontier.identity(reading.redirect) != url:
            frontier.add([reading.redirect], front=True)
            left = (Left.REDIRECT, reading.redirect)
        canonical = None if reading.canonical is None else frontier.identity(reading.canonical)
        if left is None and reading.canonical is not None and canonical is None:
            left = (Left.CANONICAL, reading.canonical)
        if left is not None:
            self._leave(frontier, url, *left)
        elif canonical is not None and canonical != url:
            self._aliases[url] = (canonical, reading)
            frontier.add([canonical], front=True)
        else:
            self._kept[url] = replace(reading, links=()) if frontier.full else reading

    def _leave(self, frontier: Frontier, url: str, reason: Left, detail: str) -> None:
        self._dead.add(url)
        frontier.leave(url, reason, detail)

    def _finish(self, frontier: Frontier, visitor: Visitor, home: str) -> CrawlResult:
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
        return CrawlResult(
            pages=tuple(_page(url, self._kept[url]) for url in sorted(self._kept)),
            left_out=tuple(sorted(frontier.left_out.values(), key=lambda item: item.url)),
            home=home if home in self._kept else None,
            complete=not self._problem,
            problem=self._problem,
            out_of_time=self._problem in (LATE, THROTTLED),
            retry_after=visitor.not_before if self._problem == THROTTLED else None,
            requests=visitor.requests,
            bytes_read=visitor.bytes_read,
            downloaded=visitor.downloaded,
            memory=visitor.memory,
            recalled=frozenset(self._recalled & self._kept.keys()),
            validators_lied=visitor.validators_lied,
        )


def _page(url: str, reading: PageReading) -> Page:
    return Page(
        url=url,
        title=undouble(reading.title),
        description=undouble(reading.description),
        alternates=reading.markdown_alternates,
        site_name=reading.site_name,
        language=reading.language,
    )
