"""What of a survey goes on side by side, and that it changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from runtime.state import decode
from tests.runtime.pipeline.conftest import BASE, Service, site_of
from tests.stand_ins.site import Reply, Site, text

GUIDE = f"{BASE}/guide-00"


@dataclass
class Waiting(Site):
    """A site that does not answer a URL before another one was asked for."""

    waits: dict[str, Callable[[str], bool]] = field(default_factory=dict)
    asked: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = str(request.url)
        answer = await super().handle_async_request(request)
        async with self.asked:
            self.asked.notify_all()
            until = self.waits.get(url)
            if until is not None:
                await self.asked.wait_for(lambda: any(until(other) for other in self.log))
        return answer


def sitemap_index(*children: str) -> Reply:
    items = "".join(f"<sitemap><loc>{child}</loc></sitemap>" for child in children)
    return text(f"<sitemapindex>{items}</sitemapindex>", "application/xml")


def is_page(url: str) -> bool:
    return url.startswith(f"{BASE}/guide")


async def test_pages_that_are_asked_for_in_any_case_do_not_wait_for_the_sitemaps(tmp_path: Path) -> None:
    """A first crawl asks for the entry page and its links while the sitemap is still unanswered."""
    service = Service(tmp_path, Waiting(replies=site_of().replies, waits={f"{BASE}/sitemap.xml": is_page}))
    done = await asyncio.wait_for(service.run(await service.enroll()), 20)
    assert done.outcome == "updated"
    assert service.published.count("](") == 13
    service.sites.close()


async def test_the_file_and_the_memory_are_the_same_when_pages_come_before_the_sitemap(tmp_path: Path) -> None:
    """Pages that were read before the sitemap are remembered with its dates, as those that come after it."""
    found = []
    for name, waits in (("plain", {}), ("late", {f"{BASE}/sitemap.xml": lambda url: url == f"{BASE}/guide-11"})):
        service = Service(tmp_path / name, Waiting(replies=site_of().replies, waits=waits))
        row = await service.enroll()
        await asyncio.wait_for(service.run(row), 20)
        state = decode(await service.world.states.load(row.id))
        found.append((service.published, {url: known.lastmod for url, known in state.memory.items()}))
        service.sites.close()
    assert found[0] == found[1]
    assert found[0][1][GUIDE] == "2026-05-01"


async def test_sitemaps_do_not_wait_for_every_page_that_was_begun(tmp_path: Path) -> None:
    """While sitemaps are read, pages leave them connections: here no page is answered before a child was asked for."""
    site = site_of(30)
    site.replies[f"{BASE}/all.xml"] = site.replies[f"{BASE}/sitemap.xml"]
    site.replies[f"{BASE}/sitemap.xml"] = sitemap_index(f"{BASE}/all.xml")
    waits = dict.fromkeys(filter(is_page, site.replies), lambda url: url == f"{BASE}/all.xml")
    service = Service(tmp_path, Waiting(replies=site.replies, waits=waits))
    done = await asyncio.wait_for(service.run(await service.enroll()), 20)
    assert done.outcome == "updated"
    assert service.published.count("](") == 31
    service.sites.close()


async def test_a_quiet_look_waits_for_the_sitemaps(service: Service) -> None:
    """Where the sitemap may spare the crawl, no page is asked for before it has said so."""
    row = (await service.run(await service.enroll())).site
    done = await service.run(row, force=False)
    assert done.outcome == "unchanged_sitemap"
    assert not [url for url in service.site.log if is_page(url)]


async def test_the_pace_that_robots_txt_asks_for_is_kept(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Crawl-delay of the site's own robots.txt slows down everything after it, sitemaps first."""
    service.site.replies[f"{BASE}/robots.txt"] = text("User-agent: *\nCrawl-delay: 0.01\n")
    told: list[tuple[str, float, int]] = []
    web = service.world.web
    original = web.set_pace

    async def listen(host: str, delay_seconds: float) -> None:
        told.append((host, delay_seconds, len(service.site.log)))
        await original(host, delay_seconds)

    monkeypatch.setattr(web, "set_pace", listen)
    await service.run(await service.enroll())
    assert told == [("docs.example.com", 0.01, 1)]
