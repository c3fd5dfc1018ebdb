"""What the webhook and the cron call leave behind: queued runs, the answer of a database that hangs, a retry's luck."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NoReturn

import pytest

from runtime import metrics, webhook
from runtime.api import STORE_SECONDS, Secrets
from runtime.errors import Misconfigured, StoreDown
from runtime.http import Request
from runtime.models import Outcome, Site
from runtime.ports import Message
from runtime.registry import Requested
from runtime.start import QUEUE_SECONDS
from tests.runtime.api.conftest import BASE, CRON, KEY, START, WEEK, Service

HOOK = "/internal/hooks/site-changed"


async def hook(service: Service, site: dict[str, Any]) -> dict[str, Any]:
    body = {"base_url": BASE, "webhook_secret": site["webhook_secret"]}
    answer = await service.call("POST", HOOK, body, key=None)
    assert answer.status == 200, answer.body
    return dict(answer.body)


async def test_a_webhook_starts_a_run_at_once(service: Service) -> None:
    """The row is due, a message is queued, and the answer is the specification's."""
    site = await service.enroll()
    await service.crawl(site["id"])
    answer = await hook(service, site)

    assert answer == {"status": "scheduled", "base_url": BASE, "next_crawl_at": START.isoformat()}
    assert await service.queued() == [Message(site_id=site["id"])]
    claim = await service.sites.claim_site(site["id"], lease_seconds=60, owner="worker")
    assert claim is not None
    assert claim.forced


async def test_a_change_right_after_a_crawl_waits_in_the_queue(service: Service) -> None:
    """The second deploy of five minutes is crawled when they are over, whenever the next tick is; a third joins it."""
    site = await service.enroll()
    await service.crawl(site["id"])
    await hook(service, site)
    await service.crawl(site["id"])
    service.now += timedelta(seconds=100)
    second, third = await hook(service, site), await hook(service, site)

    slot = (START + timedelta(seconds=300)).isoformat()
    assert (second["status"], second["next_crawl_at"]) == ("scheduled", slot)
    assert (third["status"], third["next_crawl_at"]) == ("already_scheduled", slot)
    assert await service.queued() == []
    service.now += timedelta(seconds=200)
    assert await service.queued() == [Message(site_id=site["id"])]


async def test_a_site_in_back_off_is_queued_for_its_end(service: Service) -> None:
    """A quarter of an hour after the failure, not before, and not a day later."""
    site = await service.enroll()
    await service.crawl(site["id"], Outcome.FAILED, failure_count=4, next_crawl_at=START + WEEK)
    await hook(service, site)

    assert await service.queued() == []
    service.now += timedelta(seconds=899)
    assert await service.queued() == []
    service.now += timedelta(seconds=1)
    assert await service.queued() == [Message(site_id=site["id"])]


async def test_a_due_site_is_crawled_now_not_at_the_next_tick(service: Service) -> None:
    """`already_scheduled`, and all the same a message: ticks may be hours apart."""
    site = await service.enroll()
    await service.queued()
    service.now += timedelta(seconds=10)
    answer = await hook(service, site)

    assert (answer["status"], answer["next_crawl_at"]) == ("already_scheduled", START.isoformat())
    assert await service.queued() == [Message(site_id=site["id"])]


async def test_a_paused_site_says_so(service: Service) -> None:
    """CI learns why nothing will happen; the wish is kept for the day the site is resumed."""
    site = await service.enroll()
    await service.call("POST", f"/sites/{site['id']}/pause")
    await service.queued()
    answer = await hook(service, site)

    assert answer == {"status": "paused", "base_url": BASE, "next_crawl_at": None}
    assert await service.queued() == []
    assert (await service.sites.get(site["id"])).requested_at == START


async def test_a_change_during_a_crawl_is_not_lost(service: Service) -> None:
    """The run that is under way may have read the page already: another follows it."""
    site = await service.enroll()
    await service.crawl(site["id"])
    claim = await service.sites.claim_site(site["id"], lease_seconds=300, owner="worker")
    assert claim is not None
    answer = await hook(service, site)

    assert answer["status"] == "scheduled"
    row = await service.sites.get(site["id"])
    assert row.requested_at == START


class Hanging:
    """A store that takes every call and answers none."""

    def __getattr__(self, _: str) -> Any:
        async def call(*_: Any, **__: Any) -> NoReturn:
            await asyncio.Event().wait()
            raise AssertionError

        return call


class HangingLate(Hanging):
    """Finds the site, then hangs."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def find(self, _: str) -> Site:
        return self._site


@pytest.mark.parametrize("late", [False, True])
async def test_a_database_that_hangs_is_answered_for(service: Service, late: bool) -> None:
    """503 and when to try again, as soon as the time for the database is over."""
    site = await service.enroll()
    store: Any = HangingLate(await service.sites.get(site["id"])) if late else Hanging()
    api = replace(service.api, world=replace(service.world, sites=store), store_seconds=0.05)
    body = json.dumps({"base_url": BASE, "webhook_secret": site["webhook_secret"]}).encode()
    started = time.perf_counter()
    answer = await api.handle(Request(method="POST", path=HOOK, body=body, id="r"))

    assert (answer.status, answer.body["code"], answer.headers["retry-after"]) == (503, "unavailable", "30")
    assert time.perf_counter() - started < 1


def test_database_and_queue_together_leave_time_to_answer() -> None:
    """The two waits of a webhook stay below the two seconds that it may take."""
    assert STORE_SECONDS + QUEUE_SECONDS <= 1.8


class Silent:
    async def send(self, messages: Sequence[Message]) -> list[Message]:
        await asyncio.Event().wait()
        return []


class Down:
    async def send(self, messages: Sequence[Message]) -> list[Message]:
        raise StoreDown("the queue does not answer")


@pytest.mark.parametrize("queue", [Silent(), Down()])
async def test_a_queue_that_fails_loses_nothing(service: Service, queue: Any) -> None:
    """The row is due and the caller is told so; that nothing was queued is said to the log."""
    site = await service.enroll()
    await service.crawl(site["id"])
    service.api = replace(service.api, world=replace(service.world, queue=queue))
    answer = await hook(service, site)

    assert answer["status"] == "scheduled"
    assert ("run_not_queued", {"site_id": site["id"]}) in service.said
    assert len(await service.sites.claim_due(limit=1, lease_seconds=60, owner="tick")) == 1


def signed(site: dict[str, Any], message_id: str) -> Request:
    body, at = json.dumps({"type": "site.changed", "data": {"base_url": BASE}}).encode(), int(START.timestamp())
    headers = webhook.signed_headers([site["webhook_secret"]], message_id=message_id, timestamp=at, body=body)
    return Request(method="POST", path=HOOK, headers=headers, body=body, id="r")


async def test_a_retry_after_an_outage_is_not_a_replay(service: Service) -> None:
    """Senders retry with the same id: what failed in the database has left no trace of it."""
    site = await service.enroll()
    await service.crawl(site["id"])

    class DownOnce:
        async def find(self, base_url: str) -> Site | None:
            return await service.sites.find(base_url)

        async def request_recrawl(self, site_id: str, **_: Any) -> Requested:
            raise StoreDown("the database is away")

    broken: Any = DownOnce()
    failed = await replace(service.api, world=replace(service.world, sites=broken)).handle(signed(site, "msg_1"))
    again = await service.api.handle(signed(site, "msg_1"))
    replay = await service.api.handle(signed(site, "msg_1"))

    assert (failed.status, again.status, replay.status) == (503, 200, 409)
    assert again.body["status"] == "scheduled"


async def test_wrong_secrets_do_not_lock_the_right_one_out(service: Service) -> None:
    """A thousand guesses are a thousand counted refusals; the owner's call works in between and after."""
    site = await service.enroll()
    await service.crawl(site["id"])
    for n in range(1_000):
        body = {"base_url": BASE, "webhook_secret": f"guess-{n}"}
        assert (await service.call("POST", HOOK, body, key=None)).status == 401

    assert (await hook(service, site))["status"] == "scheduled"
    assert sum(name == metrics.WEBHOOK_UNAUTHORIZED for name, _ in service.said) == 1_000


async def test_the_cron_call_starts_a_tick(service: Service) -> None:
    """The specification's answer; beside a tick that has just claimed everything it claims nothing (clk-026)."""
    await service.enroll()
    await service.enroll("https://other.example.com")
    headers = {"x-cron-secret": CRON}
    first, second = await asyncio.gather(
        *(service.call("POST", "/internal/cron/recrawl", key=None, headers=headers) for _ in range(2))
    )

    assert first.body == {"status": "triggered", "message": "Recrawl of 2 due sites started", "total": 2}
    assert (second.status, second.body["total"]) == (200, 0)


async def test_clk_026_a_clock_that_goes_back_claims_no_site_twice(service: Service) -> None:
    """The cron call after the clock was put back an hour finds the leases of the one before it."""
    await service.enroll()
    headers = {"x-cron-secret": CRON}
    first = await service.call("POST", "/internal/cron/recrawl", key=None, headers=headers)
    service.now -= timedelta(hours=1)
    second = await service.call("POST", "/internal/cron/recrawl", key=None, headers=headers)

    assert (first.body["total"], second.body["total"]) == (1, 0)


@pytest.mark.parametrize("path", ["/internal/cron/recrawl", "/sites"])
async def test_without_secrets_nothing_opens(service: Service, path: str) -> None:
    """Secrets that are empty match no header; secrets that cannot be read close the door, with 503."""
    service.secrets = Secrets(cron=("",), api_keys=("",))
    for value in (None, ""):
        headers = {} if value is None else {"x-cron-secret": value}
        assert (await service.call("POST", path, key=value, headers=headers)).status == 401

    async def down() -> Secrets:
        raise StoreDown("the secret store does not answer")

    service.api = replace(service.api, secrets=down)
    answer = await service.call("POST", path, key=KEY, headers={"x-cron-secret": CRON})
    assert (answer.status, answer.body["code"], answer.headers["retry-after"]) == (503, "unavailable", "30")


async def test_a_service_that_is_not_set_up_says_no_more_than_that(service: Service) -> None:
    """500 with a fixed text; what is missing is for the log."""

    async def missing() -> Secrets:
        raise Misconfigured("the secret arn:aws:secret-name lacks url", code="secret_not_filled")

    service.api = replace(service.api, secrets=missing)
    answer = await service.call("GET", "/sites")

    assert (answer.status, answer.body["detail"]) == (500, "the service is not set up correctly")
    assert ("request_failed", {"request_id": "request-1", "error": "secret_not_filled"}) in service.said
