"""One page: recalled, asked for under a condition, or fetched; and read. What it says, or the reason it says
nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime

from runtime import urls
from runtime.conditional import retry_after
from runtime.crawl.judge import judge_status
from runtime.crawl.page import is_page_type, read_page
from runtime.crawl.recall import Plan, Recall
from runtime.crawl.rules import Rules
from runtime.crawl.unlock import Unlocking, is_in_the_way, is_obstructed, is_wall
from runtime.errors import FetchFailed, HopRefused, Refused
from runtime.ports import MayVisit, Web
from runtime.reading import Left, PageMemory, PageReading, Response, Validators, stamp
from runtime.settings import CrawlLimits
from runtime.timed import OUT_OF_TIME

ACCEPT = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1"
SITEMAPS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Visit:
    """The answer to one URL. `final_url` is normal; `left` is the reason why there is no `reading`."""

    url: str
    final_url: str
    reading: PageReading | None = None
    left: tuple[Left, str] | None = None
    recalled: bool = False
    sha256: str = ""


@dataclass(slots=True)
class Visitor:
    """Visits the pages of one crawl and counts what that took.

    `recall` is set by `know` once the crawler knows the site's origin and sitemaps. `memory` is what
    the next run may recall.
    """

    web: Web
    rules: Rules
    limits: CrawlLimits
    now: datetime
    recall: Recall = field(default_factory=Recall)
    requests: int = 0
    bytes_read: int = 0
    downloaded: int = 0
    validators_lied: bool = False
    throttled: int = 0
    late: bool = False
    not_before: datetime | None = None
    memory: dict[str, PageMemory] = field(default_factory=dict)
    unlocking: Unlocking | None = None
    _lanes: asyncio.Semaphore | None = None
    _hrefs: dict[str, str | None] = field(default_factory=dict)
    _read_at: str = field(init=False)

    def __post_init__(self) -> None:
        self._read_at = stamp(self.now)

    def know(self, recall: Recall) -> None:
        """Use a recall from now on. What was read before it was known gets the lastmods that it has."""
        self.recall = recall
        for url, known in self.memory.items():
            if (lastmod := recall.lastmods.get(url)) != known.lastmod:
                self.memory[url] = replace(known, lastmod=lastmod)

    def leave_room(self) -> None:
        """Sitemaps are read now: leave them some connections, half of them at most, so that neither side waits."""
        total = self.limits.connections_per_host
        self._lanes = asyncio.Semaphore(total - min(SITEMAPS_AT_ONCE, total // 2))

    def take_room(self, waiting: int) -> None:
        """The sitemaps are read: pages may use every connection, those of the `waiting` visits that were begun too."""
        lanes, self._lanes = self._lanes, None
        if lanes is not None:
            for _ in range(waiting):
                lanes.release()

    async def enter(self, url: str) -> Visit:
        """The entry page: always asked for, as proof that the site is there. It may move within the host pair."""
        plan = self._plan(url)
        return await self._ask(url, Plan.REVALIDATE if plan is Plan.REUSE else plan, self.rules.may_enter)

    async def visit(self, url: str) -> Visit:
        """Any other page; never raises for what the site did."""
        plan = self._plan(url)
        if plan is Plan.REUSE and await self.rules.may_visit(url) is None:
            return self._recalled(url, self.recall.memory[url])
        return await self._ask(url, plan, self.rules.may_visit)

    def _plan(self, url: str) -> Plan:
        """How to ask for a page. An obstacle is not worth remembering where it can be got around."""
        if self.unlocking is not None and is_in_the_way(self.recall.memory.get(url)):
            return Plan.FETCH
        return self.recall.plan(url)

    async def _ask(self, url: str, plan: Plan, may_visit: MayVisit) -> Visit:
        known = self.recall.memory.get(url)
        validators = known.validators if known is not None and plan is Plan.REVALIDATE else None
        try:
            response = await self._get(url, may_visit, validators)
            if response.status == 304 and known is not None and validators:
                if urls.normalize(response.url) == known.final_url:
                    return self._recalled(url, known)
                response = await self._get(url, may_visit, None)
        except HopRefused as refusal:
            return Visit(url, url, left=(Left(refusal.reason), "" if refusal.url == url else refusal.url))
        except Refused as refusal:
            return Visit(url, url, left=(Left.REFUSED, refusal.code))
        except FetchFailed as failure:
            self.late = self.late or failure.code == OUT_OF_TIME
            return Visit(url, url, left=(Left.UNREACHABLE, failure.code))
        return await self._behind(self._read(url, response, known), response, known)

    async def _behind(self, visit: Visit, response: Response, known: PageMemory | None) -> Visit:
        """The page behind a wall or a shell, where a service may be asked for it; else what it said when it was.

        A page that came this way is remembered without validators: those of the obstacle say nothing about it.
        """
        unlocking = self.unlocking
        blocked = is_obstructed(visit.reading) if visit.reading is not None else is_wall(response, self.now)
        if blocked and visit.reading is None:
            visit = replace(visit, left=(Left.BLOCKED, f"a challenge page was served with status {response.status}"))
        if unlocking is None or not blocked:
            return visit
        answer = await unlocking.fetch(visit.final_url)
        if answer is not None:
            reading = read_page(answer.body, answer.url, answer.headers, now=self.now, href_cache=self._hrefs)
            if not is_obstructed(reading):
                reading = replace(reading, unlocked=True)
                self.downloaded += visit.reading is None
                sha256 = hashlib.sha256(answer.body).hexdigest()
                self._keep(visit.url, visit.final_url, Validators(), sha256, reading)
                return replace(visit, reading=reading, left=None, sha256=sha256)
        if known is not None and known.reading.unlocked:
            return self._recalled(visit.url, known)
        return visit

    async def _get(self, url: str, may_visit: MayVisit, validators: Validators | None) -> Response:
        self.requests += 1
        async with self._lanes or nullcontext():
            response = await self.web.get(
                url, max_bytes=self.limits.html_bytes, accept=ACCEPT, may_visit=may_visit, validators=validators
            )
        self.requests += max(0, len(response.hops) - 1)
        self.bytes_read += len(response.body)
        return response

    def _read(self, url: str, response: Response, known: PageMemory | None) -> Visit:
        final = urls.normalize(response.url)
        self._listen(response)
        left = judge_status(response, cap=self.limits.html_bytes)
        if left is None and not is_page_type(response.content_type, response.body):
            left = (Left.NOT_A_PAGE, response.content_type)
        if left is not None:
            return Visit(url, final, left=left)
        self.downloaded += 1
        sha256 = hashlib.sha256(response.body).hexdigest()
        if known is not None and known.sha256 != sha256 and _same_tag(known.validators, response.validators):
            self.validators_lied = True
        reading = read_page(response.body, response.url, response.headers, now=self.now, href_cache=self._hrefs)
        self._keep(url, final, response.validators, sha256, reading)
        return Visit(url, final, reading, sha256=sha256)

    def _keep(self, url: str, final: str, validators: Validators, sha256: str, reading: PageReading) -> None:
        self.memory[url] = PageMemory(
            final_url=final,
            validators=validators,
            lastmod=self.recall.lastmods.get(url),
            sha256=sha256,
            reading=reading,
            read_at=self._read_at,
        )

    def _listen(self, response: Response) -> None:
        """Count the answers that say we ask too much (RFC 6585 4), and remember until when the site wants peace."""
        self.throttled += response.status == 429
        asked = retry_after(response, self.now)
        if asked is not None and (self.not_before is None or asked > self.not_before):
            self.not_before = asked

    def forget_links(self, url: str) -> None:
        """Remember a page without its links, which nobody followed."""
        known = self.memory.get(url)
        if known is not None:
            self.memory[url] = replace(known, reading=replace(known.reading, links=()))

    def _recalled(self, url: str, known: PageMemory) -> Visit:
        self.memory[url] = replace(known, lastmod=self.recall.lastmods.get(url))
        return Visit(url, known.final_url, known.reading, recalled=True, sha256=known.sha256)


def _same_tag(before: Validators, after: Validators) -> bool:
    """Whether a strong entity tag claims that the bytes are the same (RFC 9110 8.8.3)."""
    return before.etag is not None and before.etag == after.etag and not before.etag.startswith("W/")


Progress = Callable[[int, int, str], None]
"""Called with pages kept, pages wanted and the URL just read."""
