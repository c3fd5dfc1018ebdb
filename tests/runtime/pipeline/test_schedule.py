"""The schedule at work in the whole pipeline: which policy, what it is told, and what its decisions do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from runtime.local import run_site, run_tick
from runtime.models import Outcome
from runtime.models import Site as Row
from runtime.outlook import outlook
from runtime.ports import Message
from runtime.scheduling.past import PAGES_A_DATE
from runtime.settings import Settings
from runtime.start import start_run
from tests.runtime.pipeline.conftest import BASE, DAY, Service
from tests.stand_ins.site import LIMITS, page, sitemap

LEARNED: dict[str, Any] = {"schedule": "learned", "recrawlIntervalMinutes": 10_080}


def configured(service: Service, **settings: Any) -> None:
    service.world = replace(service.world, settings=Settings(limits=LIMITS, **settings))


async def looks(service: Service, row: Row, days: float) -> list[Outcome]:
    """Tick whenever the site is due, for so many days; how each look ended."""
    end = service.now + timedelta(days=days)
    seen: list[Outcome] = []
    while True:
        row = await service.sites.get(row.id)
        assert row.next_crawl_at is not None
        if row.next_crawl_at > end:
            return seen
        service.now = max(service.now, row.next_crawl_at)
        await run_tick(service.world)
        last = (await service.sites.get(row.id)).last_outcome
        assert last is not None
        seen.append(last)


def retitle_silently(service: Service) -> None:
    """A page changes; its lastmod in the sitemap does not."""
    service.site.replies[f"{BASE}/guide-03"] = page("Guide 03, rewritten")


@pytest.mark.parametrize("chosen", ["site", "deployment"])
async def test_the_plan_to_read_the_pages_makes_the_next_look_read_them(service: Service, chosen: str) -> None:
    """A change that the sitemap hides is found by the full reading that the learned schedule plans: the row says that
    the next look reads the pages, and that look does, although the sitemap says that nothing changed."""
    if chosen == "deployment":
        configured(service, schedule="learned")
    row = await service.enroll(**({} if chosen == "deployment" else LEARNED))
    await service.run(row)
    retitle_silently(service)
    found = None
    for _ in range(60):
        row = await service.sites.get(row.id)
        planned_full = bool(row.schedule.get("full"))
        assert row.next_crawl_at is not None
        service.now = row.next_crawl_at
        service.site.log.clear()
        await run_tick(service.world)
        row = await service.sites.get(row.id)
        asked = [request for request in service.site.log if "guide" in str(request)]
        assert bool(asked) == planned_full, "pages are read when, and only when, the last decision said so"
        if row.last_outcome is Outcome.UPDATED:
            found = service.now
            break
        assert row.last_outcome in (Outcome.UNCHANGED_SITEMAP, Outcome.UNCHANGED_CONTENT)

    assert found is not None
    assert "Guide 03, rewritten" in service.published
    assert any(name.startswith("hidden_") and value > 0 for name, value in row.schedule.items())


async def test_a_fixed_site_keeps_to_its_sitemap_whatever_an_earlier_policy_planned(service: Service) -> None:
    """The plan of the learned policy is void under another one: the look is spared, and the plan is forgotten."""
    row = await service.enroll(**LEARNED)
    await service.run(row)
    while not (row := await service.sites.get(row.id)).schedule.get("full"):
        assert row.next_crawl_at is not None
        await service.tick(after=row.next_crawl_at - service.now)
    row = await service.enroll(schedule="fixed")
    assert row.next_crawl_at is not None

    await service.tick(after=row.next_crawl_at - service.now)

    row = await service.sites.get(row.id)
    assert row.last_outcome is Outcome.UNCHANGED_SITEMAP
    assert not {"full", "crawls_a_day"} & set(row.schedule)


async def test_the_default_is_the_owners_interval(service: Service) -> None:
    """Nothing chosen: fixed, as it always was; the reason says so."""
    row = await service.enroll(recrawlIntervalMinutes=1_440)
    finished = await service.run(row)

    assert finished.site.next_crawl_at is not None
    assert timedelta(hours=21.6) <= finished.site.next_crawl_at - service.now <= DAY
    assert finished.site.next_crawl_reason == "every 24 h, as chosen"


async def test_a_quiet_site_is_looked_at_less_under_the_learned_policy(service: Service) -> None:
    """Half a year without a change: fewer crawls than the fixed interval, though more cheap looks are made."""
    row = await service.enroll(**LEARNED)
    await service.run(row)

    seen = await looks(service, row, 180)

    assert sum(outcome is not Outcome.UNCHANGED_SITEMAP for outcome in seen) < 180 / 7
    row = await service.sites.get(row.id)
    view = outlook(row, service.world.settings, await service.sites.budget(), service.now)
    assert view["changes_every_minutes"] > 10_080
    assert view["signals"]["sitemap"] > 0.7
    assert view["crawls_a_day"] < 1 / 7


async def test_a_webhook_is_told_from_what_a_look_found(service: Service) -> None:
    """Announced changes are counted as such, and the site is then polled less."""
    row = await service.enroll(**LEARNED)
    await service.run(row)
    for number in range(4):
        service.now += 2 * DAY
        service.site.replies[f"{BASE}/guide-01"] = page(f"Guide 01, part {number}")
        await service.sites.request_recrawl(row.id)
        await start_run(service.world, Message(site_id=row.id))
        await run_tick(service.world)

    row = await service.sites.get(row.id)
    view = outlook(row, service.world.settings, await service.sites.budget(), service.now)
    assert row.last_outcome is Outcome.UPDATED
    assert view["signals"]["webhook"] == 1
    assert "its webhook announces 100% of its changes" in view["why"]


async def test_new_posts_are_counted_by_their_own_dates(service: Service) -> None:
    """Three posts of three days between two looks are three changes; the index that lists them is no fourth."""
    row = await service.enroll(**LEARNED)
    await service.run(row)
    await looks(service, row, 3)
    dates = {str(url): "2026-05-01" for url in service.site.replies if not str(url).endswith(".xml")}
    for number in range(3):
        at = service.now + timedelta(days=number, hours=1)
        service.site.replies[f"{BASE}/post-{number}"] = page(f"Post {number}")
        dates |= {f"{BASE}/post-{number}": at.isoformat(), f"{BASE}/": (at + timedelta(minutes=1)).isoformat()}
    service.site.replies[f"{BASE}/sitemap.xml"] = sitemap(dates)
    before = (await service.sites.get(row.id)).schedule.get("seen_told", 0.0)
    service.now += 4 * DAY

    await service.tick()

    row = await service.sites.get(row.id)
    assert row.last_outcome is Outcome.UPDATED
    assert row.schedule["seen_told"] == pytest.approx(before + 3, abs=0.1)


async def test_a_spent_budget_puts_sites_off_and_says_so(service: Service) -> None:
    """The tick counts them, `show` explains, a single run is refused, and nothing is lost when there is room again."""
    configured(service, crawls_a_day=1)
    row = await service.enroll(recrawlIntervalMinutes=60)
    await run_tick(service.world)
    service.now += DAY / 2
    service.events.clear()

    summary = await run_tick(service.world)

    assert summary.total == 0
    told = dict(service.events)
    line = told["tick_dispatched"]
    assert (line["DueSites"], line["OverBudgetSites"], line["OverdueSites"], line["OldestDueSeconds"]) == (1, 1, 0, 0.0)
    row = await service.sites.get(row.id)
    why = outlook(row, service.world.settings, await service.sites.budget(), service.now)["why"]
    assert why.endswith("it waits for the budget: 1 of 1 crawls were used in the last 24 hours")
    with pytest.raises(Exception, match="crawls of the last 24 hours are used up"):
        await run_site(service.world, row)
    await service.sites.request_recrawl(row.id)
    await start_run(service.world, Message(site_id=row.id, force=True))
    assert (await run_tick(service.world)).total == 0, "the webhook's message is dropped; its row stays due"
    assert [fields["code"] for name, fields in service.events if name == "message_dropped"] == ["budget_spent"]

    service.now += DAY / 2 + timedelta(minutes=11)
    assert (await run_tick(service.world)).total == 1
    assert (await service.sites.get(row.id)).requested_at is None


async def test_the_first_look_knows_a_dated_past(service: Service) -> None:
    """Pages changed on each of the eight days before enrolment, by their own dates: after one look the row knows of the
    newest ones, a fifth of the pages, and expects changes sooner than at a site whose dates say nothing."""
    plain = await service.enroll(**LEARNED)
    await service.run(plain)
    undated = (await service.sites.get(plain.id)).avg_change_interval_minutes
    await service.sites.delete(plain.id)
    pages = [str(url) for url in service.site.replies if not str(url).endswith((".xml", ".txt"))]
    recent = dict(zip(pages, range(1, 9), strict=False))
    dates = {url: (service.now - timedelta(days=recent.get(url, 400))).isoformat() for url in pages}
    dates |= {f"{BASE}/more-{number}": (service.now - (300 + number) * DAY).isoformat() for number in range(20)}
    service.site.replies |= {url: page(url) for url in dates if "more-" in url}
    service.site.replies[f"{BASE}/sitemap.xml"] = sitemap(dates)
    row = await service.enroll(**LEARNED)

    await service.run(row)

    row = await service.sites.get(row.id)
    assert row.schedule["dated_told"] == pytest.approx(len(dates) // PAGES_A_DATE, rel=0.05)
    assert row.avg_change_interval_minutes is not None
    assert undated is not None
    assert row.avg_change_interval_minutes < undated / 5
