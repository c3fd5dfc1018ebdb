"""Notifications go out signed, through the gate, once or a few times, and never take the run down with them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from runtime import notify, webhook
from runtime.models import Commit, Outcome, Site, SiteOptions
from runtime.ports import World
from runtime.publish.folder import FolderPublisher, FolderStates
from runtime.queues.memory import MemoryQueue
from runtime.settings import CrawlLimits, FetchPolicy, Settings
from runtime.sites.sqlite import SqliteSites
from runtime.web.fetch import FetchClient
from tests.safety.internet import Names
from tests.safety.virtual import run

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
SECRET, OLD, SERVICE = webhook.new_secret(), webhook.new_secret(), webhook.new_secret()
OWNER_URL, OPERATOR_URL = "https://owner.example.com/hooks/t0ken", "https://ops.example.com/h"
Receiver = Callable[[httpx.Request], httpx.Response]


@dataclass
class Post:
    """An internet with one receiver; `waits` are the pauses between tries."""

    receiver: Receiver
    names: dict[str, list[list[str] | None]] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    received: list[httpx.Request] = field(default_factory=list)
    said: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    now: datetime = NOW

    def event(self, name: str, **fields: Any) -> None:
        self.said.append((name, fields))

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += timedelta(seconds=seconds)

    def _take(self, request: httpx.Request) -> httpx.Response:
        self.received.append(request)
        return self.receiver(request)

    def world(self) -> World:
        web = FetchClient(
            FetchPolicy(),
            CrawlLimits(requests_per_second=0),
            resolver=Names(self.names),
            transport=httpx.MockTransport(self._take),
        )
        nowhere = Path("/nonexistent")
        return World(
            web=web,
            sites=SqliteSites(":memory:", clock=lambda: self.now),
            publisher=FolderPublisher(nowhere, "https://files.example.org"),
            states=FolderStates(nowhere),
            queue=MemoryQueue(),
            events=self,
            clock=lambda: self.now,
            settings=self.settings,
        )

    async def tell(self, row: Site, outcome: Outcome = Outcome.UPDATED, **fields: Any) -> None:
        given: dict[str, Any] = {"reason": "because", "next_crawl_at": None, **fields}
        commit = Commit(run_id="run-1", tick_id=None, outcome=outcome, **given)
        await notify.after_run(self.world(), replace(row, failure_count=0), row, commit, None, sleep=self.sleep)


def site(url: str = OWNER_URL, **fields: Any) -> Site:
    given: dict[str, Any] = {"webhook_secret": SECRET, **fields}
    return Site(id="s1", base_url="https://docs.example.com", options=SiteOptions(notify_url=url), **given)


def answering(*statuses: int, **headers: str) -> Receiver:
    """Answers with these statuses in turn, then 200."""
    left = iter(statuses)
    return lambda _: httpx.Response(next(left, 200), headers=headers)


def is_signed(request: httpx.Request, secret: str) -> bool:
    """As the Standard Webhooks specification says, in its own words."""
    content = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.content
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return f"v1,{mac}" in request.headers["webhook-signature"].split(" ")


async def test_the_owner_is_told_of_a_change() -> None:
    """One POST with the JSON of the change, signed with the site's own webhook secret."""
    post = Post(answering())
    await post.tell(site())
    (request,) = post.received

    assert (request.method, str(request.url)) == ("POST", OWNER_URL)
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.content)["type"] == "llms_txt.updated"
    assert request.headers["webhook-id"] == "run-1"
    assert request.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    assert is_signed(request, SECRET)
    assert post.said == [
        (
            "notification_sent",
            {
                "tries": 1,
                "site_id": "s1",
                "run_id": "run-1",
                "type": "llms_txt.updated",
                "to": "site",
                "host": "owner.example.com",
            },
        )
    ]


async def test_owner_and_operator_each_get_their_own_signature() -> None:
    """The deployment's address hears of every site, signed with the deployment's secrets."""
    post = Post(answering(), settings=Settings(notify_url=OPERATOR_URL, notify_secrets=(SERVICE, OLD)))
    await post.tell(site())
    by_host = {request.url.host: request for request in post.received}

    assert set(by_host) == {"owner.example.com", "ops.example.com"}
    operators = by_host["ops.example.com"]
    assert is_signed(operators, SERVICE)
    assert is_signed(operators, OLD)
    assert not is_signed(operators, SECRET)
    assert not is_signed(by_host["owner.example.com"], SERVICE)


async def test_both_secrets_sign_during_a_rotation() -> None:
    """A receiver that still holds the old one is not cut off before its time."""
    post = Post(answering())
    await post.tell(site(previous_webhook_secret=OLD, previous_secret_until=NOW + timedelta(hours=1)))
    await post.tell(site(previous_webhook_secret=OLD, previous_secret_until=NOW - timedelta(seconds=1)))
    during, after = post.received

    assert is_signed(during, SECRET)
    assert is_signed(during, OLD)
    assert not is_signed(after, OLD)


async def test_nobody_asked_and_nothing_to_tell() -> None:
    """Without an address, and after a run that changed nothing, not a request is made."""
    post = Post(answering())
    await post.tell(site(""))
    await post.tell(site(), Outcome.UNCHANGED_CONTENT)

    assert (post.received, post.said) == ([], [])


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
async def test_a_receiver_that_stumbles_is_tried_again(status: int) -> None:
    """The same message with the same id and a fresh time stamp, after growing pauses with jitter."""
    post = Post(answering(status, status))
    await post.tell(site())

    assert len(post.received) == 3
    assert len({(r.content, r.headers["webhook-id"]) for r in post.received}) == 1
    assert len({r.headers["webhook-timestamp"] for r in post.received}) > 1
    assert all(is_signed(request, SECRET) for request in post.received)
    assert 0.5 <= post.waits[0] <= 1
    assert 1.5 <= post.waits[1] <= 3
    assert [(name, fields["tries"]) for name, fields in post.said] == [("notification_sent", 3)]


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 410, 422])
async def test_a_receiver_that_refuses_is_not_tried_again(status: int) -> None:
    """A redirect counts as a refusal: a signed message goes where the owner said, and nowhere else."""
    post = Post(answering(status, location="https://elsewhere.example.com/"))
    await post.tell(site())

    assert [request.url.host for request in post.received] == ["owner.example.com"]
    assert [(name, fields["why"], fields["tries"]) for name, fields in post.said] == [
        ("notification_failed", f"status_{status}", 1)
    ]


async def test_a_message_that_cannot_be_delivered_is_a_dead_letter() -> None:
    """After four tries: what it was, for whom, and why; the address's path, which may be a secret, is left out."""
    post = Post(answering(500, 503, 500, 503))
    await post.tell(site())
    ((name, fields),) = post.said

    assert len(post.received) == 4
    assert (name, fields["why"], fields["tries"]) == ("notification_failed", "status_503", 4)
    assert (fields["site_id"], fields["run_id"], fields["type"]) == ("s1", "run-1", "llms_txt.updated")
    assert "t0ken" not in str(post.said)
    assert SECRET not in str(post.said)


async def test_a_pause_that_is_asked_for_is_kept_if_it_is_short() -> None:
    """Ten seconds are waited for, an hour is not."""
    short, long = Post(answering(429, **{"retry-after": "10"})), Post(answering(429, **{"retry-after": "3600"}))
    await short.tell(site())
    await long.tell(site())

    assert short.waits == [10.0]
    assert [name for name, _ in short.said] == ["notification_sent"]
    assert (len(long.received), [name for name, _ in long.said]) == (1, ["notification_failed"])


async def test_a_name_that_has_moved_inside_is_refused() -> None:
    """The gate judges at every send, not only when the address was stored."""
    post = Post(answering(), names={"owner.example.com": [["10.0.0.7"]]})
    await post.tell(site())

    assert post.received == []
    assert [(name, fields["why"]) for name, fields in post.said] == [("notification_failed", "address_private")]


async def test_one_receivers_trouble_is_not_the_others() -> None:
    """The owner's dead address keeps nothing from the operator."""

    def receiver(request: httpx.Request) -> httpx.Response:
        if request.url.host == "owner.example.com":
            raise httpx.ConnectError("down")
        return httpx.Response(204)

    post = Post(receiver, settings=Settings(notify_url=OPERATOR_URL, notify_secrets=(SERVICE,)))
    await post.tell(site())

    assert {(name, fields["to"]) for name, fields in post.said} == {
        ("notification_failed", "site"),
        ("notification_sent", "service"),
    }
    assert [fields["why"] for name, fields in post.said if name == "notification_failed"] == ["connect_failed"]


async def test_without_a_secret_a_message_is_sent_unsigned() -> None:
    """An operator's chat takes no signatures; there is then none to be mistaken for one."""
    post = Post(answering(), settings=Settings(notify_url=OPERATOR_URL))
    await post.tell(site(""))
    (request,) = post.received

    assert not {"webhook-id", "webhook-signature", "webhook-timestamp"} & set(request.headers)


def test_all_tries_together_have_an_end() -> None:
    """A receiver that never answers holds a worker for 25 seconds of the loop's clock, and no longer."""

    class Silent(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await asyncio.Event().wait()
            raise AssertionError

    async def main() -> None:
        post = Post(answering())
        web = FetchClient(FetchPolicy(), CrawlLimits(), resolver=Names({}), transport=Silent())
        world = replace(post.world(), web=web)
        commit = Commit(run_id="r", tick_id=None, outcome=Outcome.UPDATED, reason="", next_crawl_at=None)
        began = asyncio.get_running_loop().time()
        await notify.after_run(world, site(), site(), commit, None)
        assert asyncio.get_running_loop().time() - began <= notify.TOTAL_SECONDS
        assert [name for name, _ in post.said] == ["notification_failed"]

    run(main())


def test_pauses_differ_between_messages_and_not_between_runs_of_the_same() -> None:
    """Jitter comes from the message, so that a thousand sites do not knock together."""
    waits = [notify.wait_before(f"run-{n}", 3) for n in range(1_000)]

    assert 4.5 <= min(waits) < 5
    assert 8.5 < max(waits) <= 9
    assert waits == [notify.wait_before(f"run-{n}", 3) for n in range(1_000)]
