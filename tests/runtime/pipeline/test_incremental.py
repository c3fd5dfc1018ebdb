"""A recrawl fetches what changed, and its file is the one that a full crawl of the same site would give."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.models import Outcome, SiteOptions
from runtime.models import Site as Row
from runtime.state import SiteState
from runtime.survey import is_stale, survey
from tests.runtime.pipeline.conftest import BASE, DAY, Service
from tests.stand_ins.site import HTML, Replies, Reply, Site, page, sitemap

NAMES = [f"page-{n}" for n in range(8)]


class Edited:
    """A site that answers with ETags and honest lastmods, and that can be edited."""

    def __init__(self) -> None:
        self.titles = {name: f"Title of {name}" for name in NAMES}
        self.links: dict[str, tuple[str, ...]] = dict.fromkeys(NAMES, ())
        self.moved = dict.fromkeys(NAMES, "2026-05-01T00:00:00Z")
        self.site = Site()
        self.refresh()

    def refresh(self) -> None:
        replies: Replies = {
            f"{BASE}/{name}": self._tagged(page(title, *self.links[name])) for name, title in self.titles.items()
        }
        replies |= {f"{BASE}/{name}": (410, HTML, b"gone") for name in NAMES if name not in self.titles}
        replies[f"{BASE}/"] = self._tagged(page("Home", *(f"/{name}" for name in sorted(self.titles))))
        dates = {f"{BASE}/{name}": self.moved[name] for name in self.titles}
        replies[f"{BASE}/sitemap.xml"] = self._tagged(sitemap(dates))
        self.site.replies = replies

    @staticmethod
    def _tagged(reply: Reply) -> Callable[[httpx.Request], Reply]:
        tag = f'"{hash(reply[2]) & 0xFFFFFFFF:x}"'

        def answer(request: httpx.Request) -> Reply:
            if request.headers.get("if-none-match") == tag:
                return 304, {"etag": tag}, b""
            return reply[0], {**reply[1], "etag": tag}, reply[2]

        return answer

    def edit(self, kind: str, name: str, number: int, now: datetime) -> None:
        if kind == "remove" and len(self.titles) > 4:
            self.titles.pop(name, None)
        elif kind == "link" and name in self.titles:
            self.links[name] = (f"/{NAMES[number % len(NAMES)]}",)
        else:
            self.titles[name] = f"Edition {number} of {name}"
        self.moved[name] = f"{now - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
        self.refresh()


edits = st.lists(
    st.tuples(st.sampled_from(["retitle", "remove", "link"]), st.sampled_from(NAMES), st.integers(1, 99)), max_size=3
)


async def full_text(service: Service, row: Row) -> str:
    """The file that a crawl without a memory would publish."""
    result = await survey(service.world, row, SiteState(), None, forced=True, now=service.now)
    assert result.rendered is not None
    return result.rendered.text


@settings(max_examples=25, deadline=None)
@given(history=st.lists(st.tuples(edits, st.booleans()), min_size=1, max_size=5))
def test_any_history_of_edits_gives_the_file_of_a_full_crawl(
    history: list[tuple[list[tuple[str, str, int]], bool]],
) -> None:
    """Whatever was edited between the looks, forced or not, the published bytes are those of a full crawl."""

    async def play(home: Path) -> None:
        edited = Edited()
        service = Service(home, edited.site)
        try:
            row = (await service.run(await service.enroll())).site
            for changes, forced in history:
                service.now += 8 * DAY
                for kind, name, number in changes:
                    edited.edit(kind, name, number, service.now)
                if forced:
                    row = (await service.run(row)).site
                else:
                    await service.tick()
                assert service.published == await full_text(service, row)
        finally:
            service.sites.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))


async def test_ten_edits_cost_about_ten_requests(tmp_path: Path) -> None:
    """With dated sitemaps an edit costs its own page, the home page, the sitemap and robots.txt."""
    edited = Edited()
    service = Service(tmp_path, edited.site)
    await service.run(await service.enroll())
    edited.edit("retitle", "page-3", 7, service.now + 8 * DAY)

    summary = await service.tick(after=8 * DAY)

    assert summary.updated == 1
    assert sorted(set(service.site.log)) == [
        f"{BASE}/",
        f"{BASE}/page-3",
        f"{BASE}/page-3.md",
        f"{BASE}/robots.txt",
        f"{BASE}/sitemap.xml",
    ]
    service.sites.close()


async def test_a_site_whose_validators_lie_is_fetched_in_full(tmp_path: Path) -> None:
    """Bytes that change under an unchanged entity tag end the belief in 304s (N4)."""
    text = "Home"
    frozen = {"etag": '"always"'}

    def home(request: httpx.Request) -> Reply:
        if request.headers.get("if-none-match"):
            return 304, frozen, b""
        status, headers, body = page(text, "/a")
        return status, {**headers, **frozen}, body

    site = Site({f"{BASE}/": home, f"{BASE}/a": page("A")})
    service = Service(tmp_path, site)
    row = (await service.run(await service.enroll())).site
    text = "Home, renamed"

    believed = await service.run(row)
    service.now += 40 * DAY
    full = await service.run(believed.site)
    text = "Home, renamed twice"
    doubted = await service.run(full.site)

    assert believed.outcome is Outcome.UNCHANGED_CONTENT
    assert full.outcome is Outcome.UPDATED
    assert doubted.outcome is Outcome.UPDATED
    assert "renamed twice" in service.published
    service.sites.close()


async def test_a_crawl_that_runs_out_of_time_goes_on_where_it_stopped(service: Service) -> None:
    """Nothing is published in between, and no page is fetched twice (P8)."""
    row = await service.enroll()
    claim = await service.sites.claim_site(row.id, lease_seconds=300, owner="test", force=True)
    assert claim is not None
    from runtime.recrawl import recrawl

    first = await recrawl(service.world, claim, deadline=asyncio.get_running_loop().time())
    between = service.published
    second = await service.run(first.site)

    assert (first.outcome, between) == (Outcome.DEFERRED, "")
    assert first.site.next_crawl_at is not None
    assert first.site.next_crawl_at - service.now <= timedelta(minutes=10)
    assert second.outcome is Outcome.UPDATED
    assert "Guide 11" in service.published


@pytest.mark.parametrize(("ago", "stale"), [(DAY, False), (40 * DAY, True), (-DAY, True)])
def test_a_full_crawl_of_the_future_counts_for_nothing(ago: timedelta, stale: bool) -> None:
    """A clock that was ahead, and is set right, does not put the next full crawl off."""
    row = Row(id="a", base_url=BASE, options=SiteOptions())
    now = datetime(2026, 6, 1, 12, tzinfo=UTC)
    state = SiteState(last_full_crawl_at=now - ago, options=row.options.shaping())

    assert is_stale(state, row, now, 28) is stale
