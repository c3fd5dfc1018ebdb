"""A whole embedded world per test: real SQLite, real folders, the real fetch client over a made-up site."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtime import keys
from runtime.enroll import enroll
from runtime.local import run_site, run_tick
from runtime.models import Site as Row
from runtime.models import Summary
from runtime.ports import World
from runtime.publish.folder import FolderPublisher, FolderStates
from runtime.queues.memory import MemoryQueue
from runtime.recrawl import Finished
from runtime.settings import Settings
from runtime.sites.sqlite import SqliteSites
from tests.stand_ins.site import LIMITS, Site, page, sitemap

BASE = "https://docs.example.com"
DAY = timedelta(days=1)


@dataclass
class Service:
    """The embedded service over one made-up site, with a clock that the test moves."""

    home: Path
    site: Site
    now: datetime = datetime(2026, 6, 1, 12, tzinfo=UTC)
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    world: World = field(init=False)
    sites: SqliteSites = field(init=False)

    def __post_init__(self) -> None:
        self.sites = SqliteSites(self.home / "sites.db", clock=lambda: self.now)
        self.world = World(
            web=self.site.client(),
            sites=self.sites,
            publisher=FolderPublisher(self.home / "published", "https://files.example.org"),
            states=FolderStates(self.home / "states"),
            queue=MemoryQueue(),
            events=self,
            clock=lambda: self.now,
            settings=Settings(limits=LIMITS),
        )

    def event(self, name: str, **fields: Any) -> None:
        self.events.append((name, fields))

    async def enroll(self, **options: Any) -> Row:
        row, _ = await enroll(self.world, {"url": BASE, **options})
        return row

    async def run(self, row: Row, *, force: bool = True) -> Finished:
        """One recrawl; the request log starts anew with it."""
        self.site.log.clear()
        return await run_site(self.world, row, force=force)

    async def tick(self, *, after: timedelta = timedelta()) -> Summary:
        self.now += after
        self.site.log.clear()
        return await run_tick(self.world)

    @property
    def published(self) -> str:
        """The bytes that readers get, as text; empty when there is no file."""
        path = self.home / "published" / keys.public(BASE)
        return path.read_text("utf-8") if path.exists() else ""


def site_of(count: int = 12, *, dated: str = "2026-05-01") -> Site:
    """A documentation site of `count` guides behind a sitemap with dates."""
    names = [f"guide-{n:02}" for n in range(count)]
    replies = {f"{BASE}/{name}": page(f"Guide {name[-2:]}") for name in names}
    replies[f"{BASE}/"] = page("Acme Docs", *(f"/{name}" for name in names))
    replies[f"{BASE}/sitemap.xml"] = sitemap(dict.fromkeys(sorted(replies), dated))
    return Site(dict(replies))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path, site_of())
    yield made
    made.sites.close()
