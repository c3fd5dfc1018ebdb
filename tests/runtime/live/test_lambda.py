"""The live crawl in AWS, with recorded events of API Gateway: who gets in, what is queued, what is posted back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from runtime import environment as env
from runtime import live, live_token
from runtime.errors import Misconfigured
from runtime.handlers.live import Door, request
from runtime.handlers.live_worker import MAX_FRAME_BYTES, encoded, one
from runtime.handlers.vault import Vault
from runtime.live import Frame
from runtime.models import Outcome
from runtime.ports import World
from runtime.queues.memory import MemoryQueue
from runtime.sample.server import SampleServer
from runtime.web.fetch import FetchClient
from runtime.wiring import embedded_world
from tests.runtime.live.conftest import KEY, SETTINGS

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
EVENTS = Path(__file__).parents[2] / "events"
CONNECTION = "L0SM9cOFvHcCIhw="


def recorded(name: str, **changes: Any) -> dict[str, Any]:
    """An event as API Gateway sent it, with some of its fields replaced."""
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return {**event, **changes}


class Cloud:
    """Moto's secret store and queue, and the door before them."""

    def __init__(self) -> None:
        self.sqs = boto3.client("sqs", region_name="eu-west-1")
        secrets = boto3.client("secretsmanager", region_name="eu-west-1")
        arn = secrets.create_secret(Name="key", SecretString=KEY)["ARN"]
        attributes: dict[Any, str] = {"FifoQueue": "true"}
        self.url = self.sqs.create_queue(QueueName="live.fifo", Attributes=attributes)["QueueUrl"]
        self.environment = {env.API_KEY_SECRET_ARN: arn, env.LIVE_QUEUE_URL: self.url}
        self.door = Door(self.environment, Vault(secrets, lambda: 0.0), self.sqs, lambda: NOW)

    def queued(self) -> list[str]:
        found = self.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10).get("Messages", [])
        return [message["Body"] for message in found]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        yield Cloud()


GIVEN: list[tuple[dict[str, Any], int]] = [
    ({"headers": {"X-Api-Key": KEY}}, 200),
    ({"headers": {"x-api-key": KEY}}, 200),
    ({"queryStringParameters": {"api_key": KEY}}, 200),
    ({"queryStringParameters": {"token": live_token.issue(KEY, NOW)}}, 200),
    ({"queryStringParameters": {"token": live_token.issue(KEY, NOW - timedelta(minutes=6))}}, 403),
    ({"queryStringParameters": {"token": live_token.issue("another", NOW)}}, 403),
    ({"queryStringParameters": {"token": None, "api_key": ""}}, 403),
    ({"headers": {"X-Api-Key": "wrong"}}, 403),
    ({"headers": None, "queryStringParameters": None}, 403),
    ({}, 403),
]


@pytest.mark.parametrize(("changes", "status"), GIVEN, ids=str)
async def test_who_may_connect(
    cloud: Cloud, changes: dict[str, Any], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The status decides whether the connection is made; who is let in is announced, and no key is told or logged."""
    answer = await cloud.door.answer(recorded("websocket_connect", **changes))
    queued = cloud.queued()

    assert answer == {"statusCode": status}
    caller = {"v": 2, "connection": CONNECTION, "caller": live_token.caller_of(KEY)}
    assert [json.loads(body) for body in queued] == ([caller] if status == 200 else [])
    assert KEY not in "".join(queued)
    assert KEY not in "".join(capsys.readouterr())


async def test_a_secret_that_cannot_be_read_lets_nobody_in(cloud: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    """The door is closed with 503, not opened."""
    secrets = boto3.client("secretsmanager", region_name="eu-west-1")
    secrets.delete_secret(SecretId=cloud.environment[env.API_KEY_SECRET_ARN], ForceDeleteWithoutRecovery=True)
    answer = await cloud.door.answer(recorded("websocket_connect", headers={"X-Api-Key": KEY}))

    assert answer == {"statusCode": 503}
    assert KEY not in "".join(capsys.readouterr())


async def test_a_connection_has_one_message(cloud: Cloud) -> None:
    """The first is queued as it came; what the same connection sends after it is not."""
    first = recorded("websocket_message")
    assert await cloud.door.answer(first) == {"statusCode": 200}
    assert await cloud.door.answer({**first, "body": '{"url": "https://other.example"}'}) == {"statusCode": 200}
    (body,) = cloud.queued()

    assert json.loads(body) == {"v": 2, "connection": CONNECTION, "text": first["body"]}


async def test_a_connection_is_announced_before_its_message(cloud: Cloud) -> None:
    """Both are of one group, whose order the queue keeps; the one does not count as the other sent twice."""
    await cloud.door.answer(recorded("websocket_connect", headers={"X-Api-Key": KEY}))
    await cloud.door.answer(recorded("websocket_message"))

    assert ["caller" in json.loads(body) for body in cloud.queued()] == [True, False]


async def test_who_cannot_be_announced_is_not_let_in(cloud: Cloud) -> None:
    """The handshake fails, and nobody crawls without being counted."""
    cloud.sqs.delete_queue(QueueUrl=cloud.url)

    with pytest.raises(ClientError, match="NonExistentQueue"):
        await cloud.door.answer(recorded("websocket_connect", headers={"X-Api-Key": KEY}))


async def test_an_endless_message_is_queued_as_its_beginning(cloud: Cloud) -> None:
    """Enough of it for the worker to refuse it, and far below what SQS takes."""
    await cloud.door.answer(recorded("websocket_message", body="x" * 100_000))
    (body,) = cloud.queued()

    assert len(json.loads(body)["text"]) == live.MAX_MESSAGE_BYTES + 1


def test_a_door_without_its_variables_says_which(cloud: Cloud) -> None:
    """One sentence with the name."""
    with pytest.raises(Misconfigured, match=env.LIVE_QUEUE_URL):
        Door({env.API_KEY_SECRET_ARN: "arn"}, cloud.door._vault, cloud.sqs, lambda: NOW)


class Connection:
    """The client's end: what was posted to it, until it goes away."""

    def __init__(self, *, gone_after: int = 10**9, code: str = "GoneException") -> None:
        self.frames: list[dict[str, Any]] = []
        self.gone_after, self.code = gone_after, code

    def post_to_connection(self, *, ConnectionId: str, Data: bytes) -> Any:  # noqa: N803 - boto3 spells it so
        assert ConnectionId == CONNECTION
        assert len(Data) <= 128 * 1024
        if len(self.frames) >= self.gone_after:
            raise ClientError({"Error": {"Code": self.code, "Message": ""}}, "PostToConnection")
        self.frames.append(json.loads(Data))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    class Quiet:
        def event(self, name: str, **fields: Any) -> None:
            """Nobody listens."""

    async with embedded_world(
        tmp_path, settings=SETTINGS, events=Quiet(), base_url="https://files.example", clock=lambda: datetime.now(UTC)
    ) as made:
        yield made


def message(**wanted: Any) -> str:
    return json.dumps(request(CONNECTION, json.dumps(wanted)))


def announced(connection: str, key: str = KEY) -> str:
    return json.dumps({"v": 2, "connection": connection, "caller": live_token.caller_of(key)})


async def test_a_key_has_two_crawls_at_once_and_is_told(world: World, site: SampleServer) -> None:
    """A third is refused with a sentence and left at that; another key's goes on, and so does one after the first."""
    for connection in ("a", "b", CONNECTION):
        await one(world, announced(connection), Connection())
    for connection in ("a", "b"):
        assert await world.sites.begin_live(connection, at_once=live.AT_ONCE, lease_seconds=60)
    refused, allowed = Connection(), Connection()
    await one(world, message(url=site.url, maxPages=3), refused)

    assert [(frame["type"], frame.get("code")) for frame in refused.frames] == [("error", "busy"), ("done", None)]
    assert "2 live crawls of your API key are under way" in refused.frames[0]["content"]
    assert site.requests == []

    await world.sites.end_live("a")
    await one(world, message(url=site.url, maxPages=3), allowed)
    assert "result" in [frame["type"] for frame in allowed.frames]
    assert await world.sites.begin_live("c", at_once=1, lease_seconds=60), "the place was given back"


async def test_a_crawl_of_another_key_is_not_counted(world: World, site: SampleServer) -> None:
    """The bound is a key's; the worker's is the stage's."""
    for connection in ("a", "b"):
        await one(world, announced(connection, "another key"), Connection())
        assert await world.sites.begin_live(connection, at_once=live.AT_ONCE, lease_seconds=60)
    client = Connection()
    await one(world, announced(CONNECTION), client)
    await one(world, message(url=site.url, maxPages=3), client)

    assert "result" in [frame["type"] for frame in client.frames]


async def test_a_message_of_the_door_before_is_still_read(world: World, site: SampleServer) -> None:
    """A deploy in between loses no request."""
    client = Connection()
    await one(world, message(url=site.url, maxPages=3).replace('"v": 2', '"v": 1'), client)

    assert client.frames[-1]["type"] == "done"
    assert "result" in [frame["type"] for frame in client.frames]


async def test_the_worker_posts_what_the_client_waits_for(world: World, site: SampleServer) -> None:
    """The same frames as on a laptop, and a row."""
    client = Connection()
    await one(world, message(url=site.url, maxPages=10, enableAutoUpdate=True), client)
    (row,) = await world.sites.list_sites()
    kinds = [frame["type"] for frame in client.frames]

    assert {"log", "progress", "result", "url"} <= set(kinds)
    assert kinds[-1] == "done"
    assert client.frames[-1]["site"]["webhook_secret"] == row.webhook_secret
    assert live.ENABLED in [frame["content"] for frame in client.frames]


async def test_an_enrolment_goes_on_without_its_client(world: World, site: SampleServer) -> None:
    """The connection is gone after the first frame."""
    client = Connection(gone_after=1)
    await one(world, message(url=site.url, maxPages=10, enableAutoUpdate=True), client)
    (row,) = await world.sites.list_sites()

    assert len(client.frames) == 1
    assert row.latest_llms_hash


async def test_frames_that_cannot_be_posted_are_an_error_of_ours(world: World, site: SampleServer) -> None:
    """A right that is gone is logged, which a client that closes is not; the enrolment is done all the same."""
    said: list[tuple[str, Any]] = []

    class Heard:
        def event(self, name: str, **fields: Any) -> None:
            said.append((name, fields.get("code")))

    wanted = message(url=site.url, maxPages=10, enableAutoUpdate=True)
    await one(replace(world, events=Heard()), wanted, Connection(gone_after=1, code="ForbiddenException"))
    await one(replace(world, events=Heard()), wanted, Connection(gone_after=1))
    (row,) = await world.sites.list_sites()

    assert row.latest_llms_hash
    assert [code for name, code in said if name == "live_frames_failed"] == ["ForbiddenException"]


async def test_a_site_too_large_for_one_turn_goes_on_in_the_fleet(world: World, site: SampleServer) -> None:
    """The crawl stops before the process is ended; the client is told, and a worker gets the rest."""
    limits = replace(world.settings.limits, requests_per_second=25)
    slow = replace(world, settings=replace(world.settings, limits=limits), web=FetchClient(SETTINGS.policy, limits))
    client = Connection()
    deadline = asyncio.get_running_loop().time() + 1.0
    await one(slow, message(url=site.url, maxPages=200, enableAutoUpdate=True), client, deadline=deadline)
    await slow.web.aclose()
    assert isinstance(world.queue, MemoryQueue)
    (row,) = await world.sites.list_sites()

    assert row.last_outcome is Outcome.DEFERRED
    assert [(queued.site_id, queued.force) for queued in await world.queue.receive(10)] == [(row.id, True)]
    assert client.frames[-1]["type"] == "done"


async def test_a_crawl_that_is_kept_nowhere_ends_with_its_client(world: World, site: SampleServer) -> None:
    """It is cancelled, and no more is asked of the site than was on its way."""
    await asyncio.wait_for(one(world, message(url=site.url, maxPages=50), Connection(gone_after=0)), 20)

    assert await world.sites.list_sites() == []
    assert len(site.requests) < 50


@pytest.mark.parametrize(
    ("text", "field"),
    [("{", "message"), (None, "message"), ('{"url": 5}', "url"), ("x" * (live.MAX_MESSAGE_BYTES + 1), "message")],
    ids=["no JSON", "no text", "no address", "too long"],
)
async def test_a_bad_message_is_answered_by_name(world: World, text: str | None, field: str) -> None:
    """An error frame with the field, then done."""
    client = Connection()
    await one(world, json.dumps({"v": 1, "connection": CONNECTION, "text": text}), client)

    assert [frame["type"] for frame in client.frames] == ["error", "done"]
    assert client.frames[0]["field"] == field


@pytest.mark.parametrize("content", ["x" * 50_000, "説" * 50_000, "\U0001f600" * 50_000, "\x01" * 50_000])
def test_a_long_file_fits_into_messages_of_the_api(content: str) -> None:
    """Whatever the script of its text: in one message, or in parts that give it back."""
    texts = encoded(Frame("result", content))
    frames = [json.loads(text) for text in texts]

    assert all(len(text.encode()) <= 128 * 1024 for text in texts)
    assert "".join(frame["content"] for frame in frames) == content
    assert [frame.get("part", 1) for frame in frames] == list(range(1, len(frames) + 1))
    assert len(frames) == 1 or len(Frame("result", content).encoded().encode()) > MAX_FRAME_BYTES
