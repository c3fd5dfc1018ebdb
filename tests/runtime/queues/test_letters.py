"""The queue of undelivered notifications, as moto plays it behind the real client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from runtime.aws.client import Sqs
from runtime.errors import StoreDown
from runtime.letters import Letter, from_json
from runtime.queues.letters import SqsLetters
from runtime.wiring import utc_now

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

LETTER = Letter(site_id="s1", role="service", id="run-1", kind="llms_txt.held", body='{"said":"été ☃"}')


def boto() -> SQSClient:
    return boto3.client("sqs", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")


@pytest.fixture
def sqs() -> Iterator[SQSClient]:
    with mock_aws():
        yield boto()


async def test_a_letter_comes_out_of_the_queue_as_it_was(sqs: SQSClient) -> None:
    """The worker reads what the run wrote, every character of it."""
    url = sqs.create_queue(QueueName="letters")["QueueUrl"]
    await SqsLetters(sqs, url).keep(LETTER)
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert from_json(message["Body"]) == LETTER


async def test_the_queue_holds_a_letter_back(sqs: SQSClient) -> None:
    """How long is the queue's to say, so that a letter that is sent back by hand waits as well."""
    url = sqs.create_queue(QueueName="letters", Attributes={"DelaySeconds": "900"})["QueueUrl"]
    await SqsLetters(sqs, url).keep(LETTER)
    counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesDelayed"])
    assert counts["Attributes"] == {"ApproximateNumberOfMessagesDelayed": "1"}
    assert "Messages" not in sqs.receive_message(QueueUrl=url)


async def test_the_largest_message_fits(sqs: SQSClient) -> None:
    """20 kB of a message, every byte of which is escaped in JSON, stay below the 256 KiB that SQS takes."""
    url = sqs.create_queue(QueueName="letters")["QueueUrl"]
    largest = Letter(site_id="s" * 36, role="service", id="r" * 64, kind="llms_txt.updated", body='"' * 20_000)
    await SqsLetters(sqs, url).keep(largest)
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert from_json(message["Body"]) == largest


@pytest.mark.parametrize("code", ["AWS.SimpleQueueService.NonExistentQueue", "AccessDenied", "ThrottlingException"])
async def test_a_queue_that_refuses_is_a_store_that_is_down(code: str) -> None:
    """Whatever AWS says: the run goes on without, and the sentence shows neither the queue nor the letter."""
    client = boto()
    stub = Stubber(client)
    stub.add_client_error("send_message", service_error_code=code)
    with stub, pytest.raises(StoreDown) as down:
        await SqsLetters(client, "https://sqs.us-east-1.amazonaws.com/123456789012/letters").keep(LETTER)
    assert down.value.code == "queue_down"
    assert "123456789012" not in str(down.value)
    assert LETTER.body not in str(down.value)


async def test_a_queue_that_cannot_be_reached_is_a_store_that_is_down() -> None:
    """Nothing listens there."""
    keys = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    client = Sqs({**keys, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, utc_now, sleep=lambda _: None)
    with pytest.raises(StoreDown):
        await SqsLetters(client, "http://127.0.0.1:9/123456789012/letters").keep(LETTER)
