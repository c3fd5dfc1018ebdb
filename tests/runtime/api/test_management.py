"""The management API: every route, pages, and what each action leaves behind."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from runtime.models import Outcome, SiteStatus
from runtime.ports import Message
from tests.runtime.api.conftest import BASE, KEY, OLD_KEY, START, WEEK, Service
from tests.runtime.api.test_versions import published

ROUTES = {
    "/sites": {"GET", "POST"},
    "/sites/{id}": {"GET", "PATCH", "DELETE"},
    "/sites/{id}/runs": {"GET"},
    "/sites/{id}/schedule": {"GET"},
    **{
        f"/sites/{{id}}/{action}": {"POST"}
        for action in ("recrawl", "pause", "resume", "rollback", "confirm", "secret")
    },
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get")


async def test_a_new_site_is_answered_with_its_secret_once(service: Service) -> None:
    """201 with the row and the webhook secret; the secret is in no later answer, and the first crawl is queued."""
    site = await service.enroll(maxPages=7, include=["docs/**"])

    assert site["url"] == BASE
    assert site["webhook_secret"].startswith("whsec_")
    assert (site["status"], site["maxPages"], site["include"]) == ("active", 7, ["docs/**"])
    assert (site["descLength"], site["recrawlIntervalMinutes"]) == (500, 10_080)
    assert site["next_crawl_at"] == START.isoformat()
    assert await service.queued() == [Message(site_id=site["id"])]
    again = await service.call("GET", f"/sites/{site['id']}")
    assert (again.status, dict(again.body)) == (200, {k: v for k, v in site.items() if k != "webhook_secret"})


async def test_the_hundred_and_first_site_waiting_is_not_started_but_has_a_time(service: Service) -> None:
    """A bulk enrolment through the API: the first hundred begin at once, the next at its place of the day."""
    for number in range(100):
        await service.enroll(f"https://bulk-{number}.example.com")
    assert len(await service.queued()) == 100

    late = await service.enroll("https://late.example.com")

    assert await service.queued() == []
    assert service.now.isoformat() < late["next_crawl_at"] < (service.now + timedelta(days=1)).isoformat()
    asked = await service.call("POST", f"/sites/{late['id']}/recrawl")
    assert asked.body["next_crawl_at"] == service.now.isoformat()
    assert len(await service.queued()) == 1


async def test_a_schedule_is_explained(service: Service) -> None:
    """Policy, reason, and what is believed of the site; of a site that is not there, nothing."""
    site = await service.enroll(schedule="learned")
    before = await service.call("GET", f"/sites/{site['id']}/schedule")
    await service.crawl(site["id"], next_crawl_reason="it changed", schedule={"asked": 4.0, "seen_quiet": 90_000.0})
    after = await service.call("GET", f"/sites/{site['id']}/schedule")

    assert (before.status, before.body["policy"], before.body["why"]) == (200, "learned", "it was not looked at yet")
    assert (after.body["why"], after.body["url"]) == ("it changed", BASE)
    assert after.body["changes_every_minutes"] > 20_000
    assert after.body["signals"]["sitemap"] > 0.8
    assert (await service.call("GET", f"/sites/{uuid4()}/schedule")).status == 404
    assert (await service.call("POST", f"/sites/{site['id']}/schedule")).status == 405


async def test_enrolling_again_keeps_options_and_secret_and_looks_again(service: Service) -> None:
    """200: what was not sent stays as it is, the secret is neither changed nor shown, and a run is asked for."""
    site = await service.enroll(maxPages=7, notifyUrl="https://hooks.example.com/x")
    await service.crawl(site["id"])
    again = await service.call("POST", "/sites", {"url": "https://DOCS.example.com:443/#top", "descLength": 60})

    assert again.status == 200
    assert again.body["id"] == site["id"]
    assert "webhook_secret" not in again.body
    assert (again.body["maxPages"], again.body["descLength"]) == (7, 60)
    assert again.body["notifyUrl"] == "https://hooks.example.com/x"
    assert again.body["next_crawl_at"] == START.isoformat()
    assert [message.site_id for message in await service.queued()] == [site["id"]]
    assert (await service.sites.get(site["id"])).webhook_secret == site["webhook_secret"]


async def test_a_row_without_a_secret_gets_one_and_shows_it(service: Service) -> None:
    """A row from before secrets existed: the enrolment that gives it one is the moment to see it."""
    site = await service.enroll()
    with service.sites._file.transaction(write=True) as db:
        db.execute("UPDATE crawl_sites SET webhook_secret = NULL")
    again = await service.call("POST", "/sites", {"url": BASE})

    assert again.status == 200
    assert again.body["webhook_secret"] == (await service.sites.get(site["id"])).webhook_secret != ""


async def test_a_site_enrolled_without_auto_update_waits(service: Service) -> None:
    """`enableAutoUpdate: false` keeps the row, paused; nothing is queued."""
    site = await service.enroll(enableAutoUpdate=False)

    assert (site["status"], site["next_crawl_at"]) == ("paused", None)
    assert await service.queued() == []


async def test_a_list_comes_in_pages(service: Service) -> None:
    """In order of the address; `next` is what the next call's `after` is, and null at the end."""
    urls = [f"https://site-{n:02}.example.com" for n in range(5)]
    for url in reversed(urls):
        await service.enroll(url)
    first = await service.call("GET", "/sites?limit=2")
    second = await service.call("GET", f"/sites?limit=2&after={first.body['next']}")
    third = await service.call("GET", f"/sites?limit=2&after={second.body['next']}")

    pages = [[site["url"] for site in page.body["sites"]] for page in (first, second, third)]
    assert pages == [urls[:2], urls[2:4], urls[4:]]
    assert third.body["next"] is None
    assert len((await service.call("GET", "/sites")).body["sites"]) == 5


@pytest.mark.parametrize("limit", ["0", "-1", "101", "x", "1.5", "٣", "9" * 9])
async def test_a_page_has_bounds(service: Service, limit: str) -> None:
    """1 to 100, in ASCII digits."""
    site = await service.enroll()
    for path in ("/sites", f"/sites/{site['id']}/runs"):
        answer = await service.call("GET", f"{path}?limit={limit}")
        assert (answer.status, answer.body["field"]) == (422, "limit")


async def test_runs_come_newest_first_in_pages(service: Service) -> None:
    """Every line of a run once, though they are read in pages."""
    site = await service.enroll()
    for n in range(5):
        service.now += timedelta(hours=1)
        await service.crawl(site["id"], reason=f"run {n}", counts={"pages": n})
    seen, path = [], f"/sites/{site['id']}/runs?limit=2"
    answer = await service.call("GET", path)
    while True:
        seen += [(run["reason"], run["counts"]) for run in answer.body["runs"]]
        if answer.body["next"] is None:
            break
        answer = await service.call("GET", f"{path}&before={answer.body['next']}")

    assert seen == [(f"run {n}", {"pages": n}) for n in reversed(range(5))]


@pytest.mark.parametrize("before", ["yesterday", "2026-12-02T12:00:00", "2026-13-01T00:00:00Z"])
async def test_a_time_has_an_offset(service: Service, before: str) -> None:
    site = await service.enroll()
    answer = await service.call("GET", f"/sites/{site['id']}/runs?before={before}")

    assert (answer.status, answer.body["field"]) == (422, "before")


async def test_a_patch_changes_what_it_names(service: Service) -> None:
    """The other options stay; one that shapes the file asks for a run, one that does not leaves the schedule."""
    site = await service.enroll(maxPages=7, adaptive=True)
    row = await service.crawl(site["id"])
    service.now += timedelta(hours=1)
    plain = await service.call("PATCH", f"/sites/{site['id']}", {"requireSignature": True})

    assert plain.body["requireSignature"] is True
    assert (plain.body["maxPages"], plain.body["adaptive"]) == (7, True)
    assert row.next_crawl_at is not None
    assert plain.body["next_crawl_at"] == row.next_crawl_at.isoformat()
    assert await service.queued() == []
    shaped = await service.call("PATCH", f"/sites/{site['id']}", {"exclude": ["blog/**"]})
    assert shaped.body["next_crawl_at"] == service.now.isoformat()
    assert await service.queued() == [Message(site_id=site["id"])]
    off = await service.call("PATCH", f"/sites/{site['id']}", {"enableAutoUpdate": False, "notifyUrl": ""})
    assert (off.body["status"], off.body["next_crawl_at"]) == ("paused", None)
    on = await service.call("PATCH", f"/sites/{site['id']}", {"enableAutoUpdate": True})
    assert (on.body["status"], on.body["next_crawl_at"]) == ("active", service.now.isoformat())


async def test_an_address_does_not_change(service: Service) -> None:
    site = await service.enroll()
    answer = await service.call("PATCH", f"/sites/{site['id']}", {"url": "https://other.example.com"})

    assert (answer.status, answer.body["field"]) == (422, "url")


async def test_a_deleted_site_is_gone(service: Service) -> None:
    """Its row, secret, history and memory go; a second time it is 404."""
    site = await service.enroll()
    await service.crawl(site["id"])
    await service.world.states.save(site["id"], b"memory")
    gone = await service.call("DELETE", f"/sites/{site['id']}")

    assert (gone.status, gone.body) == (200, {"status": "deleted", "id": site["id"]})
    assert await service.world.states.load(site["id"]) is None
    for path in (f"/sites/{site['id']}", f"/sites/{site['id']}/runs"):
        assert (await service.call("GET", path)).status == 404
    assert (await service.call("DELETE", f"/sites/{site['id']}")).status == 404


async def test_pause_and_resume(service: Service) -> None:
    """Paused, a site has no crawl time; resumed, it is looked at again at once."""
    site = await service.enroll()
    await service.crawl(site["id"])
    paused = await service.call("POST", f"/sites/{site['id']}/pause")
    service.now += timedelta(days=30)
    resumed = await service.call("POST", f"/sites/{site['id']}/resume", {})

    assert (paused.status, paused.body["status"], paused.body["next_crawl_at"]) == (200, "paused", None)
    assert (resumed.status, resumed.body["status"]) == (200, "active")
    assert resumed.body["next_crawl_at"] == service.now.isoformat()
    assert await service.queued() == [Message(site_id=site["id"])]


async def test_clk_034_a_site_without_a_crawl_time_is_shown_as_paused(service: Service) -> None:
    """A row that a person left active without a crawl time is never due; it says so, and `resume` brings it back."""
    site = await service.enroll()
    await service.queued()
    with service.sites._file.transaction(write=True) as db:
        db.execute("UPDATE crawl_sites SET next_crawl_at = NULL")
    service.now += timedelta(days=400)

    assert await service.sites.claim_due(limit=10, lease_seconds=60, owner="tick") == []
    assert (await service.call("GET", f"/sites/{site['id']}")).body["status"] == "paused"
    resumed = await service.call("POST", f"/sites/{site['id']}/resume")
    assert (resumed.body["status"], resumed.body["next_crawl_at"]) == ("active", service.now.isoformat())


async def test_resuming_a_disabled_site_forgets_its_failures(service: Service) -> None:
    site = await service.enroll()
    await service.crawl(
        site["id"], Outcome.FAILED, status=SiteStatus.DISABLED, failure_count=10, error="down", next_crawl_at=None
    )
    shown = await service.call("GET", f"/sites/{site['id']}")
    resumed = await service.call("POST", f"/sites/{site['id']}/resume")

    assert (shown.body["status"], shown.body["last_error"], shown.body["failure_count"]) == ("disabled", "down", 10)
    assert (resumed.body["status"], resumed.body["failure_count"]) == ("active", 0)
    assert resumed.body["next_crawl_at"] == START.isoformat()


async def test_a_recrawl_is_asked_for_at_once(service: Service) -> None:
    """No debounce, no back-off: a person asked. Twice is two messages, and the row says that it is wanted."""
    site = await service.enroll()
    await service.crawl(site["id"], Outcome.FAILED, failure_count=3, next_crawl_at=START + WEEK)
    answers = [await service.call("POST", f"/sites/{site['id']}/recrawl") for _ in range(2)]

    assert [answer.body for answer in answers] == [
        {"status": "scheduled", "id": site["id"], "next_crawl_at": START.isoformat()}
    ] * 2
    assert await service.queued() == [Message(site_id=site["id"], force=True)] * 2
    assert (await service.sites.get(site["id"])).requested_at == START


async def test_a_rotated_secret_is_shown_once_and_overlaps_for_an_hour(service: Service) -> None:
    """Both secrets call the webhook for an hour, then the new one alone."""
    site = await service.enroll()
    answer = await service.call("POST", f"/sites/{site['id']}/secret")
    new, old = answer.body["webhook_secret"], site["webhook_secret"]

    async def works(secret: str) -> bool:
        body = {"base_url": BASE, "webhook_secret": secret}
        return (await service.call("POST", "/internal/hooks/site-changed", body, key=None)).status == 200

    assert answer.status == 200
    assert answer.body["previous_secret_until"] == (START + timedelta(hours=1)).isoformat()
    assert new != old
    assert "webhook_secret" not in (await service.call("GET", f"/sites/{site['id']}")).body
    assert (await works(new), await works(old)) == (True, True)
    service.now += timedelta(seconds=3_600)
    assert (await works(new), await works(old)) == (True, True)
    service.now += timedelta(seconds=1)
    assert (await works(new), await works(old)) == (True, False)


async def test_a_leaked_secret_ends_at_once(service: Service) -> None:
    """`overlapSeconds: 0` gives the old secret no time; the bounds are a week."""
    site = await service.enroll()
    answer = await service.call("POST", f"/sites/{site['id']}/secret", {"overlapSeconds": 0})
    body = {"base_url": BASE, "webhook_secret": site["webhook_secret"]}

    assert answer.body["previous_secret_until"] is None
    assert (await service.call("POST", "/internal/hooks/site-changed", body, key=None)).status == 401
    for value in (-1, 604_801, "60", True):
        refused = await service.call("POST", f"/sites/{site['id']}/secret", {"overlapSeconds": value})
        assert (refused.status, refused.body["field"]) == (422, "overlapSeconds")


async def test_nothing_is_held_and_nothing_was_published_before(service: Service) -> None:
    """Confirming and rolling back what is not there is 404, and a version is a SHA-256."""
    site = await service.enroll()

    assert (await service.call("POST", f"/sites/{site['id']}/confirm")).status == 404
    assert (await service.call("POST", f"/sites/{site['id']}/rollback")).status == 404
    assert (await service.call("POST", f"/sites/{site['id']}/rollback", {"version": "a" * 64})).status == 404
    for value in (5, "latest", "A" * 64, ["a" * 64]):
        refused = await service.call("POST", f"/sites/{site['id']}/rollback", {"version": value})
        assert (refused.status, refused.body["field"]) == (422, "version")


async def test_a_site_that_is_being_crawled_is_not_rolled_back(service: Service) -> None:
    """409, for a person to try again."""
    site = await service.enroll()
    version = await published(service, site["id"], "# Acme\n")
    await published(service, site["id"], "# Acme two\n")
    await service.sites.claim_site(site["id"], lease_seconds=60, owner="worker")
    answer = await service.call("POST", f"/sites/{site['id']}/rollback", {"version": version})

    assert (answer.status, answer.body["code"]) == (409, "busy")


@pytest.mark.parametrize("action", ["recrawl", "pause", "resume", "rollback", "confirm", "secret"])
async def test_an_action_refuses_a_field_it_does_not_know(service: Service, action: str) -> None:
    site = await service.enroll()
    answer = await service.call("POST", f"/sites/{site['id']}/{action}", {"forse": True})

    assert (answer.status, answer.body["field"]) == (422, "forse")


@pytest.mark.parametrize(("path", "allowed"), ROUTES.items())
async def test_a_path_has_its_methods_and_no_others(service: Service, path: str, allowed: set[str]) -> None:
    """Any other is 405, and `Allow` names those that there are."""
    for method in METHODS:
        answer = await service.call(method, path.replace("{id}", "no-such-id"))
        assert (answer.status == 405) is (method not in allowed), (method, answer)
        if method not in allowed:
            assert set(answer.headers["allow"].split(", ")) == allowed
            assert answer.body["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    "path",
    ["/sites/", "/sites//runs", "/sites/x/", "/sites/x/runs/", "/sites/x/what", "/sites/x/runs/y", "//sites", "/Sites"],
)
async def test_a_path_that_is_not_there(service: Service, path: str) -> None:
    """404 for every method."""
    for method in METHODS:
        answer = await service.call(method, path)
        assert (answer.status, answer.body["code"]) == (404, "not_found")


@pytest.mark.parametrize("site_id", ["no-such-id", "00000000-0000-0000-0000-000000000000", "é", "%00", "'; --"])
async def test_a_site_that_is_not_there(service: Service, site_id: str) -> None:
    """404 from every route under it."""
    for path, methods in ROUTES.items():
        for method in methods if "{id}" in path else ():
            answer = await service.call(method, path.replace("{id}", site_id), {} if method != "GET" else None)
            assert (answer.status, answer.body["code"]) == (404, "not_found"), (method, path)


@pytest.mark.parametrize("key", [None, "", "x", KEY[:-1], KEY + " ", "é"])
async def test_nothing_under_sites_answers_without_the_key(service: Service, key: str | None) -> None:
    """The same 401 for every path and method, also for those that are not there."""
    answers = [await service.call(method, path, key=key) for path in (*ROUTES, "/sites/x/what") for method in METHODS]

    assert {answer.status for answer in answers} == {401}
    assert len({str(answer.body) for answer in answers}) == 1


async def test_the_key_before_stays_valid_while_it_is_rotated(service: Service) -> None:
    assert (await service.call("GET", "/sites", key=OLD_KEY)).status == 200


async def test_health_says_that_it_is_there(service: Service) -> None:
    """No key, no database."""
    answer = await service.call("GET", "/health", key=None)

    assert (answer.status, answer.body) == (200, {"status": "ok"})
    assert (await service.call("POST", "/health")).headers["allow"] == "GET"
