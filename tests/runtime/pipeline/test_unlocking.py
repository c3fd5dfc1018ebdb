"""Pages behind scripts and walls: fetched once through the unlocker, judged again, paid for within a budget."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from runtime.models import Outcome
from runtime.reading import Left
from runtime.settings import CrawlLimits, FetchPolicy
from runtime.web.fetch import FetchClient
from runtime.web.unlocker import BrightData
from tests.runtime.pipeline.conftest import BASE, DAY, Service
from tests.stand_ins.site import HTML, Reply, page, sitemap
from tests.stand_ins.unlocker import ZONE, not_unlocked, rendered, running_unlocker
from tests.stand_ins.vendor import KEY, Vendor
from tests.stand_ins.vendor import Reply as Answer

POLICY = FetchPolicy(allow_networks=("127.0.0.0/8",), allow_any_port=True)
LIMITS = CrawlLimits(requests_per_second=0, request_deadline_seconds=5, first_byte_seconds=0.5)
NAMES = [f"guide-{n:02}" for n in range(6)]
SHELL: Reply = (200, HTML, b"<!DOCTYPE html><title>App</title><div id=root></div><script src=/app.js></script>")
WALL = b"<!DOCTYPE html><title>Just a moment...</title><script>window._cf_chl_opt={}</script>"


def wall(status: int) -> Reply:
    return status, HTML, WALL


@pytest.fixture
def real() -> dict[str, bytes]:
    """The pages as a browser sees them; a test may change them."""
    return {f"{BASE}/{name}": page(f"Guide {name[-2:]}")[2] for name in NAMES}


@pytest.fixture
def unlocker(real: dict[str, bytes]) -> Iterator[Vendor]:
    with running_unlocker(real) as server:
        yield server


@pytest.fixture
async def wired(service: Service, unlocker: Vendor) -> AsyncIterator[Service]:
    """The service with an unlocker, over a site of which every page but the first is a shell."""
    web = FetchClient(POLICY, LIMITS)
    service.world = replace(
        service.world, unlocker=BrightData(web, api_key=KEY, zone=ZONE, endpoint=f"{unlocker.url}/request")
    )
    shells(service, SHELL)
    yield service
    await web.aclose()


def shells(service: Service, reply: Reply) -> None:
    service.site.replies = {f"{BASE}/{name}": reply for name in NAMES}
    service.site.replies[f"{BASE}/"] = page("Acme Docs", *(f"/{name}" for name in NAMES))
    service.site.replies[f"{BASE}/sitemap.xml"] = sitemap({f"{BASE}/{name}": None for name in NAMES})


@pytest.mark.parametrize("reply", [SHELL, wall(200), wall(403), wall(429), wall(503)], ids=str)
async def test_a_page_behind_an_obstacle_is_listed(wired: Service, unlocker: Vendor, reply: Reply) -> None:
    """Each page is fetched once, and listed with what it really says; the run's row tells what it cost."""
    shells(wired, reply)
    done = await wired.run(await wired.enroll())

    assert done.outcome is Outcome.UPDATED
    assert [f"[Guide {name[-2:]}]" in wired.published for name in NAMES] == [True] * 6
    assert sorted(call.body["url"] for call in unlocker.calls) == sorted(f"{BASE}/{name}" for name in NAMES)
    counts = (await wired.sites.runs(done.site.id))[0].counts
    assert (counts["unlock_calls"], counts["unlocked_pages"], counts["unlock_micro_usd"]) == (6, 6, 9_000)


TALK = page("How Cloudflare captchas work", body="<p>Access denied. Please verify you are human. {{ blocked }}</p>")
ORDINARY: dict[str, Reply] = {
    "words about walls": TALK,
    "a login": (401, HTML, b"<title>Log in</title>"),
    "a plain 403": (403, HTML, b"<!DOCTYPE html><title>Forbidden</title><h1>Forbidden</h1>"),
    "a plain 503": (503, HTML, b"<!DOCTYPE html><title>Maintenance</title><h1>Back soon, says Cloudflare</h1>"),
    "a 404": (404, HTML, WALL),
    "a file": (200, {"content-type": "application/pdf"}, b"%PDF-1.7"),
}


@pytest.mark.parametrize("reply", ORDINARY.values(), ids=ORDINARY.keys())
async def test_what_is_no_obstacle_is_never_paid_for(wired: Service, unlocker: Vendor, reply: Reply) -> None:
    """Status, headers and markup decide; words never do, and a refusal is not a wall."""
    shells(wired, reply)
    await wired.run(await wired.enroll())

    assert unlocker.calls == []


async def test_a_site_that_does_not_allow_it_is_left_as_it_is(wired: Service, unlocker: Vendor) -> None:
    """The pages are left out with their reason, as without the service."""
    done = await wired.run(await wired.enroll(useBrightdata=False))
    crawl = done.survey.crawl

    assert unlocker.calls == []
    assert crawl is not None
    assert {item.reason for item in crawl.left_out} == {Left.NEEDS_RENDERING}
    assert "unlock_calls" not in done.survey.counts


async def test_what_comes_back_is_judged_again(wired: Service, unlocker: Vendor, real: dict[str, bytes]) -> None:
    """A wall behind the wall, a noindex, a "not found": none of it is listed because it was paid for."""
    real[f"{BASE}/guide-00"] = WALL
    real[f"{BASE}/guide-01"] = page("Guide 01", head="<meta name=robots content=noindex>")[2]
    real[f"{BASE}/guide-02"] = b"<!DOCTYPE html><title>Page not found</title><h1>Page not found</h1>"
    done = await wired.run(await wired.enroll())
    crawl = done.survey.crawl

    assert crawl is not None
    assert {item.url[-2:]: item.reason for item in crawl.left_out} == {
        "00": Left.NEEDS_RENDERING,
        "01": Left.NOINDEX,
        "02": Left.SOFT_404,
    }
    assert wired.published.count("/guide-") == 3


FAULTS = {
    "401": (Answer.of({"error": f"bad key {KEY}"}, 401), 4),
    "402": (Answer.of({"error": "no balance"}, 402), 4),
    "429": (Answer.of({"error": "slow down"}, 429, retry_after="1"), 6),
    "500": (Answer(500, b"oops"), 6),
    "failed behind a 200": (not_unlocked("target_40001"), 6),
    "slow": (Answer(hang=True), 6),
    "cut short": (Answer(200, b"<html>", {"Content-Type": "text/html"}, cut=True), 6),
    "no page": (Answer.of({"status": "pending"}), 6),
    "redirect": (Answer(302, b"", {"Location": "https://evil.example/"}), 6),
}


@pytest.mark.parametrize(("answer", "most"), FAULTS.values(), ids=FAULTS.keys())
async def test_a_service_that_fails_costs_the_page_and_nothing_else(
    wired: Service, unlocker: Vendor, answer: Answer, most: int
) -> None:
    """The pages are left out with their own reason, and a site that is all shell is held; no error, event or state names a credential."""
    unlocker.script += [answer] * 6
    done = await wired.run(await wired.enroll())
    crawl = done.survey.crawl

    assert done.outcome is Outcome.HELD  # a file of the entry page alone is not published
    assert crawl is not None
    assert {item.reason for item in crawl.left_out} == {Left.NEEDS_RENDERING}
    assert len(unlocker.calls) <= most
    assert done.survey.counts["unlock_micro_usd"] == 0
    assert not any(secret in str(wired.events) + str(done) for secret in (KEY, ZONE))
    assert [fields["code"] for name, fields in wired.events if name == "unlock_fell_back"]


async def test_an_over_long_page_is_cut_like_any_other(
    wired: Service, unlocker: Vendor, real: dict[str, bytes]
) -> None:
    """The cap of a page holds, whoever fetched it."""
    limits = replace(wired.world.settings.limits, html_bytes=5_000)
    wired.world = replace(wired.world, settings=replace(wired.world.settings, limits=limits))
    unlocker.script.append(rendered(real[f"{BASE}/guide-00"] + b"<p>more</p>" * 9_000))
    done = await wired.run(await wired.enroll())

    assert done.survey.counts["unlocked_pages"] == 6


async def test_a_shell_all_through_is_held_or_fails_but_never_empties_the_file(
    wired: Service, unlocker: Vendor
) -> None:
    """A site that turned into a shell, with the service down: the published file stays."""
    row = await wired.enroll()
    await wired.run(row)
    before = wired.published
    wired.site.replies[f"{BASE}/"] = SHELL
    unlocker.script += [Answer(503, b"")] * 40
    wired.now += DAY
    done = await wired.run(row)

    assert done.outcome in (Outcome.HELD, Outcome.FAILED)
    assert wired.published == before


async def test_the_budget_of_a_run_and_of_a_month(wired: Service, unlocker: Vendor) -> None:
    """What was unlocked before stays listed while there is no budget; a new month has a new one."""
    budget = replace(wired.world.settings, unlocks_per_run=4, unlocks_per_month=7)
    wired.world = replace(wired.world, settings=budget)
    row = await wired.enroll()
    calls = []
    for days in (0, 1, 2, 31):
        wired.now += timedelta(days=days)
        asked = len(unlocker.calls)
        await wired.run(row)
        calls.append((len(unlocker.calls) - asked, wired.published.count("/guide-")))

    assert [made for made, _ in calls] == [4, 3, 0, 4]
    assert next(listed for _, listed in calls) == 4
    assert min(listed for _, listed in calls) >= 4


async def test_the_month_of_all_sites_together(wired: Service, unlocker: Vendor) -> None:
    """The deployment's pages are counted over all sites before they are asked for; the file keeps what it had."""
    budget = replace(wired.world.settings, unlocks_per_month_of_all=8)
    wired.world = replace(wired.world, settings=budget)
    row, other = await wired.enroll(), await wired.enroll(url=f"{BASE}/guide-00")
    made = []
    for days, site in ((0, row), (1, row), (1, row), (0, other), (31, other)):
        wired.now += timedelta(days=days)
        asked, said = len(unlocker.calls), len(wired.events)
        await wired.run(site)
        made.append((len(unlocker.calls) - asked, "unlock_budget_spent" in [name for name, _ in wired.events[said:]]))

    assert made == [(6, False), (2, True), (0, True), (0, True), (1, False)]
    assert wired.published.count("/guide-") == 6
    assert await wired.world.sites.unlocks_taken() == 1


async def test_a_page_that_cannot_be_counted_is_not_asked_for(wired: Service, unlocker: Vendor, tmp_path: Path) -> None:
    """A store that fails in the middle of a crawl costs the pages behind the obstacle, not the run's other pages."""
    row = await wired.enroll()
    with closing(sqlite3.connect(tmp_path / "sites.db")) as file:
        file.execute("DROP TABLE unlock_spending")
    done = await wired.run(row)

    assert unlocker.calls == []
    assert done.survey.crawl is not None
    assert [page.url for page in done.survey.crawl.pages] == [f"{BASE}/"]
    assert ("unlock_fell_back", "corrupt_store") in [(name, fields.get("code")) for name, fields in wired.events]


async def test_an_outage_of_the_service_changes_nothing(wired: Service, unlocker: Vendor) -> None:
    """A page that was unlocked before keeps what it said then."""
    row = await wired.enroll()
    await wired.run(row)
    before = wired.published
    unlocker.script += [Answer(500, b"")] * 6
    wired.now += DAY
    done = await wired.run(row)

    assert (done.outcome, wired.published) == (Outcome.UNCHANGED_CONTENT, before)


async def test_a_change_behind_the_shell_is_seen(wired: Service, unlocker: Vendor, real: dict[str, bytes]) -> None:
    """The shell is the same to the byte; the page behind it is not."""
    row = await wired.enroll()
    await wired.run(row)
    real[f"{BASE}/guide-03"] = page("Guide three, second edition")[2]
    wired.now += DAY
    done = await wired.run(row)

    assert done.outcome is Outcome.UPDATED
    assert "[Guide three, second edition]" in wired.published


async def test_an_entry_page_behind_a_wall_is_entered(wired: Service, unlocker: Vendor, real: dict[str, bytes]) -> None:
    """The first page may need the service as well."""
    wired.site.replies[f"{BASE}/"] = wall(403)
    real[f"{BASE}/"] = page("Acme Docs", *(f"/{name}" for name in NAMES))[2]
    done = await wired.run(await wired.enroll())

    assert done.outcome is Outcome.UPDATED
    assert wired.published.startswith("# Acme Docs\n")
