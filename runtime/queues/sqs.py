"""The queue between the dispatcher and the workers: SQS, in batches of ten, several at once.

Delivery is at least once and in no order. Neither matters: a claim can be committed once only.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runtime.ports import Events, Message
from runtime.queues.messages import from_json, to_json

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

    from runtime.aws.client import Sqs

__all__ = ["SqsQueue", "from_json", "to_json"]

BATCH = 10
"""The most messages that SendMessageBatch takes; ten of ours are far below its limit in bytes."""

MAX_DELAY_SECONDS = 900
"""What SQS can keep a message back; the row says when the site is due, so that one that comes early does no harm."""

CALLS_AT_ONCE = 16
"""A call waits 10 to 20 ms for its answer, and costs half a millisecond of CPU."""

GIVE_UP = 2 * CALLS_AT_ONCE
"""So many batches in a row that were lost whole, and what follows is not tried: each try takes seconds, and whoever
sends has to give the rest back while there is time.
"""


@dataclass(slots=True)
class _Losses:
    """Of one `send`: batches that were lost whole since the last that was taken, and messages that were not tried."""

    in_a_row: int = 0
    untried: int = 0


class SqsQueue:
    """Sends to one queue. Why a batch could not be sent goes to `events` as `queue_failed`."""

    def __init__(self, client: SQSClient | Sqs, queue_url: str, *, events: Events | None = None) -> None:
        self._client = client
        self._queue_url = queue_url
        self._events = events
        # Not asyncio's default executor, nor a semaphore: a queue outlives the event loop of one Lambda invocation.
        self._threads = ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="queue")

    async def send(self, messages: Sequence[Message]) -> list[Message]:
        """Queue the messages; those that could not be queued come back, in their order, and nothing is raised for them.

        After a lost answer a message may be both queued and returned.
        """
        batches = [messages[start : start + BATCH] for start in range(0, len(messages), BATCH)]
        losses = _Losses()
        failed = await asyncio.gather(*(self._send_batch(batch, losses) for batch in batches))
        if losses.untried:
            self._report(losses.untried, "GivenUp")
        return [message for batch in failed for message in batch]

    async def _send_batch(self, batch: Sequence[Message], losses: _Losses) -> list[Message]:
        from botocore.exceptions import BotoCoreError, ClientError

        entries: list[SendMessageBatchRequestEntryTypeDef] = [
            {"Id": str(number), "MessageBody": to_json(message)} for number, message in enumerate(batch)
        ]
        for entry, message in zip(entries, batch, strict=True):
            if message.delay_seconds > 0:
                entry["DelaySeconds"] = min(message.delay_seconds, MAX_DELAY_SECONDS)

        def call() -> Mapping[str, Any] | None:
            if losses.in_a_row >= GIVE_UP:
                return None
            losses.in_a_row += 1  # until it is known better, here in the thread: the loop may be far behind
            answer = self._client.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
            losses.in_a_row = 0
            return answer

        try:
            answer = await asyncio.get_running_loop().run_in_executor(self._threads, call)
        except ClientError as error:
            self._report(len(batch), error.response.get("Error", {}).get("Code", ""))
            return list(batch)
        except BotoCoreError as error:
            self._report(len(batch), type(error).__name__)
            return list(batch)
        if answer is None:
            losses.untried += len(batch)
            return list(batch)
        # What the answer does not name as queued is not queued.
        queued = {entry["Id"] for entry in answer.get("Successful", [])}
        refused = {entry["Id"]: entry["Code"] for entry in answer.get("Failed", [])}
        failed = [message for number, message in enumerate(batch) if str(number) not in queued]
        if failed:
            self._report(len(failed), next(iter(refused.values()), "unanswered"))
        return failed

    def _report(self, count: int, code: str) -> None:
        if self._events is not None:
            self._events.event("queue_failed", count=count, code=re.sub(r"[^A-Za-z0-9.]", "", code)[:80])
