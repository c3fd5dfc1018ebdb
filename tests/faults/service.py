"""The embedded service over several made-up sites, with a fault in any of its ports and a clock that tests move."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from runtime import keys
from runtime.dispatch import tick
from runtime.enroll import enroll
from runtime.errors import ServiceError
from runtime.local import run_tick
from runtime.models import Site as Row
from runtime.models import SiteOptions, Summary
from runtime.ports import World
from runtime.publish.folder import FolderPublisher, FolderStates
from runtime.settings import CrawlLimits, Settings
from runtime.sites.sqlite import SqliteSites
from runtime.state import SiteState
from runtime.survey import survey
from runtime.web.fetch import FetchClient
from tests.faults.ports import (
    FaultyQueue,
    FaultyResolver,
    Script,
    faulty_clock,
    faulty_publisher,
    faulty_sites,
    faulty_states,
    faulty_web,
)
from tests.stand_ins.site import LIMITS, Site, page, sitemap

START = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
WEEK = timedelta(days=7)
LEASE = timedelta(seconds=Settings().lease_seconds)
PUBLIC = "https://files.example.org"


def base(number: int) -> str:
    return f"https://s{number:02}.example.com"


def write(site: Site, number: int, titles: Iterable[str], *, dated: str = "2026-05-01") -> None:
    """Make the `number`-th site one of these pages, behind a home page and a sitemap with dates."""
    names = [f"page-{place}" for place, _ in enumerate(titles)]
    root = base(number)
    site.replies = {url: reply for url, reply in site.replies.items() if not url.startswith(f"{root}/")}
    for name, title in zip(names, titles, strict=True):
        site.replies[f"{root}/{name}"] = page(title)
    site.replies[f"{root}/"] = page(f"Site {number}", *(f"/{name}" for name in names))
    dates = dict.fromkeys((f"{root}/", *(f"{root}/{name}" for name in names)), dated)
    site.replies[f"{root}/sitemap.xml"] = sitemap(dates)


def titles(number: int, *, version: int = 1, count: int = 3) -> list[str]:
    return [f"Topic {place} of site {number}, edition {version}" for place in range(count)]


def site_of(count: int, *, pages: int = 3) -> Site:
    made = Site()
    for number in range(count):
        write(made, number, titles(number, count=pages))
    return made


class Resolver:
    async def resolve(self, host: str, port: int) -> list[str]:
        return ["93.184.215.14"]


class Recording(FolderPublisher):
    """A folder that remembers every body it ever showed its readers."""

    def __init__(self, root: Path, base_url: str) -> None:
        super().__init__(root, base_url)
        self.shown: dict[str, list[bytes]] = {}

    async def put(self, key: str, body: bytes, *, sha256: str, generation: int, expected_etag: str | None) -> str:
        etag = await super().put(key, body, sha256=sha256, generation=generation, expected_etag=expected_etag)
        if self.shown.setdefault(key, [b""])[-1] != body:
            self.shown[key].append(body)
        return etag


@dataclass
class Service:
    """`world` has the script's faults, `sound` the same stores without them. `summaries` are those of all ticks; `skew` is
    how far the database's clock is before ours.
    """

    home: Path
    site: Site
    limits: CrawlLimits = LIMITS
    settings: Settings = field(default_factory=Settings)
    script: Script = field(default_factory=lambda: Script(armed=False))
    base: datetime = START
    skew: timedelta = timedelta()
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)
    errors: list[ServiceError] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    hearing: list[Callable[[str, dict[str, Any]], None]] = field(default_factory=list)
    world: World = field(init=False)
    sound: World = field(init=False)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self.sites = SqliteSites(self.home / "sites.db", clock=self.store_now)
        self.public = Recording(self.home / "published", PUBLIC)
        self.states = FolderStates(self.home / "states")
        self.queue = FaultyQueue(self.script)
        self.resolver = FaultyResolver(Resolver(), self.script)
        self.web = FetchClient(self.settings.policy, self.limits, resolver=self.resolver, transport=self.site)
        self.sound = World(
            web=self.web,
            sites=self.sites,
            publisher=self.public,
            states=self.states,
            queue=self.queue,
            events=self,
            clock=self.now,
            settings=replace(self.settings, limits=self.limits),
        )
        self.world = replace(
            self.sound,
            web=faulty_web(self.web, self.script),
            sites=faulty_sites(self.sites, self.script),
            publisher=faulty_publisher(self.public, self.script),
            states=faulty_states(self.states, self.script),
            clock=faulty_clock(self.now, self.script),
        )

    def now(self) -> datetime:
        """Our clock: it moves with the loop's, and by `advance`."""
        try:
            passed = asyncio.get_running_loop().time()
        except RuntimeError:
            passed = 0.0
        return self.base + timedelta(seconds=passed)

    def store_now(self) -> datetime:
        """The database's clock."""
        return self.now() + self.skew

    def advance(self, span: timedelta) -> None:
        self.base += span

    def event(self, name: str, **fields: Any) -> None:
        self.events.append((name, fields))
        for hear in list(self.hearing):
            hear(name, fields)

    def said(self, name: str) -> list[dict[str, Any]]:
        return [fields for event, fields in self.events if event == name]

    async def enroll(self, *numbers: int, **options: Any) -> list[Row]:
        given = {"recrawlIntervalMinutes": 1_440, **options}
        self.known |= {base(number) for number in numbers}
        return [(await enroll(self.sound, {"url": base(number), **given}))[0] for number in numbers]

    async def tick(self, *, after: timedelta = timedelta()) -> Summary | None:
        """A tick under whatever faults are armed; None when it could not end, as the caller of a tick would see."""
        self.advance(after)
        try:
            summary = await run_tick(self.world)
        except ServiceError as error:
            self.errors.append(error)
            return None
        except ZeroDivisionError:  # `Fault.BUG` before any site was reached: the process of the tick has failed
            return None
        self.summaries.append(summary)
        return summary

    async def dispatch(self) -> int:
        return (await tick(self.world, tick_id=f"tick-{len(self.events)}")).total

    async def recover(self, *, ticks: int = 4, apart: timedelta = timedelta(hours=26)) -> None:
        """The faults end, and time passes until every lease and back-off is over."""
        self.script.disarm()
        for _ in range(ticks):
            await self.tick(after=apart)

    async def rows(self) -> list[Row]:
        return await self.sites.list_sites(limit=1_000)

    async def row(self, number: int) -> Row:
        found = await self.sites.find(base(number))
        assert found is not None
        return found

    def file(self, number: int) -> bytes:
        """The bytes that readers get; empty when there is no file."""
        path = self.home / "published" / keys.public(base(number))
        return path.read_bytes() if path.exists() else b""

    async def truth(self, number: int, **options: Any) -> bytes:
        """What the file of a site should be: a survey of it without a past and without faults."""
        web = FetchClient(self.settings.policy, self.limits, resolver=Resolver(), transport=Site(self.site.replies))
        world = replace(self.sound, web=web, events=_Silence(), clock=self.now)
        row = Row(id="truth", base_url=base(number), options=SiteOptions(recrawl_interval_minutes=1_440, **options))
        seen = await survey(world, row, SiteState(), None, forced=True, now=self.now())
        assert seen.rendered is not None, seen.reason
        return seen.rendered.text.encode()

    def close(self) -> None:
        self.sites.close()


class _Silence:
    def event(self, name: str, **fields: Any) -> None:
        """A survey that nobody hears."""


def sha(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
