"""Queues: the one in the process, and SQS as moto plays it behind the real client."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber
from moto import mock_aws

from runtime.aws.client import Sqs
from runtime.ports import Message
from runtime.queues.memory import MemoryQueue
from runtime.queues.sqs import CALLS_AT_ONCE, GIVE_UP, SqsQueue, from_json, to_json
from runtime.wiring import utc_now
from tests.stand_ins.aws import running_aws

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

KEYS = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "secret-canary"}


class Heard:
    """Keeps the events it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def event(self, name: str, **fields: Any) -> None:
        self.events.append((name, fields))


def boto() -> SQSClient:
    return boto3.client("sqs", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")


@pytest.fixture
def ours(sqs: SQSClient) -> Iterator[Sqs]:
    """The client of the doors, at what `sqs` sees."""
    with running_aws() as url:
        client = Sqs({**KEYS, "AWS_ENDPOINT_URL": url}, utc_now)
        yield client
        client.close()


@pytest.fixture
def sqs() -> Iterator[SQSClient]:
    with mock_aws():
        yield boto()


@pytest.fixture
def queue_url(sqs: SQSClient) -> str:
    return sqs.create_queue(QueueName="sites")["QueueUrl"]


def messages(count: int) -> list[Message]:
    return [Message(site_id=f"site-{number}", tick_id="tick", tick_total=count) for number in range(count)]


def received(sqs: SQSClient, queue_url: str) -> list[Message]:
    """Everything that waits in the queue."""
    found: list[Message] = []
    while batch := sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10).get("Messages", []):
        found += [from_json(each["Body"]) for each in batch]
    return found


async def test_the_memory_queue_is_first_in_first_out() -> None:
    """Messages come out in the order they went in, as many as asked for, and none when none wait."""
    queue = MemoryQueue()
    sent = messages(5)

    assert await queue.receive(3) == []
    assert await queue.send(sent) == []
    assert len(queue) == 5
    assert await queue.receive(3) == sent[:3]
    assert await queue.receive(3) == sent[3:]
    assert await queue.receive(3) == []


async def test_the_memory_queue_keeps_a_message_back() -> None:
    """A delayed message comes out when its time has come, behind what waited already, and then has no delay."""
    now = [1_000.0]
    queue = MemoryQueue(lambda: now[0])
    await queue.send([Message(site_id="later", delay_seconds=300), Message(site_id="sooner", delay_seconds=60)])
    await queue.send([Message(site_id="now")])

    assert len(queue) == 3
    assert await queue.receive(9) == [Message(site_id="now")]
    now[0] += 299
    assert await queue.receive(9) == [Message(site_id="sooner")]
    now[0] += 1
    assert await queue.receive(9) == [Message(site_id="later")]


async def test_sqs_keeps_a_message_back() -> None:
    """The delay travels as SQS's own, its 900 seconds at most, and is not part of the message."""
    client = boto()
    sent = [Message(site_id="a", delay_seconds=300), Message(site_id="b", delay_seconds=1_000)]
    with Stubber(client) as stub:
        entries = [
            {"Id": "0", "MessageBody": to_json(Message(site_id="a")), "DelaySeconds": 300},
            {"Id": "1", "MessageBody": to_json(Message(site_id="b")), "DelaySeconds": 900},
        ]
        done = [{"Id": name, "MessageId": name, "MD5OfMessageBody": ""} for name in "01"]
        asked = {"QueueUrl": "https://q", "Entries": entries}
        stub.add_response("send_message_batch", {"Successful": done, "Failed": []}, asked)

        assert await SqsQueue(client, "https://q").send(sent) == []


@pytest.mark.parametrize("count", [0, 1, 10, 11, 57])
async def test_every_message_arrives_once(sqs: SQSClient, ours: Sqs, queue_url: str, count: int) -> None:
    """Any number of messages is cut into batches of ten, and all of them get there."""
    sent = messages(count)

    assert await SqsQueue(ours, queue_url).send(sent) == []
    assert sorted(received(sqs, queue_url), key=lambda m: m.site_id) == sorted(sent, key=lambda m: m.site_id)


async def test_a_queue_that_is_not_there_returns_everything(ours: Sqs, queue_url: str) -> None:
    """Nothing is raised and nothing is lost: all messages come back, and the reason is reported."""
    heard = Heard()
    sent = messages(12)

    assert await SqsQueue(ours, f"{queue_url}-typo", events=heard).send(sent) == sent
    assert sorted(fields["count"] for _, fields in heard.events) == [2, 10]
    assert all(
        "NonExistentQueue" in fields["code"] or "QueueDoesNotExist" in fields["code"] for _, fields in heard.events
    )


async def test_a_server_that_is_not_there_returns_everything() -> None:
    """No connection is an answer too; the reason names the kind of failure and no address or key."""
    heard = Heard()
    client = Sqs({**KEYS, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, utc_now, sleep=lambda _: None)
    sent = messages(2)

    assert await SqsQueue(client, "http://127.0.0.1:9/1/q", events=heard).send(sent) == sent
    assert heard.events == [("queue_failed", {"count": 2, "code": "EndpointConnectionError"})]


async def test_what_a_batch_refuses_comes_back_alone() -> None:
    """Of a batch in which some entries fail, those and what the answer forgot come back, in their order."""
    client = boto()
    heard = Heard()
    sent = messages(4)
    ok = {"MessageId": "m", "MD5OfMessageBody": "0" * 32}
    with Stubber(client) as stub:
        stub.add_response(
            "send_message_batch",
            {
                "Successful": [{"Id": "0", **ok}, {"Id": "2", **ok}],
                "Failed": [{"Id": "1", "Code": "InternalError", "SenderFault": False}],
            },
            {"QueueUrl": "q", "Entries": [{"Id": str(n), "MessageBody": to_json(m)} for n, m in enumerate(sent)]},
        )
        failed = await SqsQueue(client, "q", events=heard).send(sent)

    assert failed == [sent[1], sent[3]]
    assert heard.events == [("queue_failed", {"count": 2, "code": "InternalError"})]


async def test_one_failed_batch_leaves_the_others_sent(sqs: SQSClient, queue_url: str) -> None:
    """Batches fail one by one: exactly the messages of the refused one come back."""
    sent = messages(25)

    def refuse_the_second(params: dict[str, Any], **_: Any) -> Any:
        refused = b"site-10\\" in params["body"]
        return (SimpleNamespace(status_code=400), {"Error": {"Code": "ThrottlingException"}}) if refused else None

    sqs.meta.events.register("before-call.sqs.SendMessageBatch", refuse_the_second)
    failed = await SqsQueue(sqs, queue_url).send(sent)

    assert failed == sent[10:20]
    assert {each.site_id for each in received(sqs, queue_url)} == {each.site_id for each in sent[:10] + sent[20:]}


async def test_a_queue_that_is_down_is_not_asked_for_every_message() -> None:
    """After some batches in a row are lost the rest comes back untried, all in order; the next call tries again."""
    heard, calls = Heard(), []

    def lost(**call: Any) -> Any:
        calls.append(call)
        raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")

    sent = messages(5_000)
    queue = SqsQueue(cast("SQSClient", SimpleNamespace(send_message_batch=lost)), "url", events=heard)
    assert await queue.send(sent) == sent
    first = len(calls)
    assert await queue.send(sent) == sent

    for tried in (first, len(calls) - first):
        assert GIVE_UP <= tried <= GIVE_UP + CALLS_AT_ONCE
    assert sum(fields["count"] for _, fields in heard.events) == 10_000
    assert [fields["code"] for _, fields in heard.events].count("GivenUp") == 2


async def test_now_and_then_a_lost_batch_is_no_reason_to_give_up() -> None:
    """Each that is taken begins the count anew."""
    number = count()

    def odd(*, Entries: list[dict[str, Any]], **_: Any) -> Any:  # noqa: N803 - boto3 spells it so
        if next(number) % 2:
            raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    heard = Heard()
    queue = SqsQueue(cast("SQSClient", SimpleNamespace(send_message_batch=odd)), "url", events=heard)

    assert len(await queue.send(messages(2_000))) == 1_000
    assert "GivenUp" not in [fields["code"] for _, fields in heard.events]
