"""The WebSocket's door in AWS: lets a client in at `$connect`, and queues its one message for the live worker.

It knows the API key and may write to one queue; it has no rows, no bucket and no way out. What is wrong with a message
is told to the client by the worker, which speaks to connections anyway. The queue takes one message a connection: its
deduplication id is the connection's (FIFO queues forget it after five minutes, and a crawl is over by then).

Only `$connect` sees the key. So that the worker can bound what one key does, the door announces each connection and a
digest of its key through the same queue, before the client is let in: a group of messages keeps its order.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from runtime import environment as env
from runtime import live_token, metrics
from runtime.errors import ServiceError
from runtime.handlers.logs import Log
from runtime.handlers.vault import Vault
from runtime.live import MAX_MESSAGE_BYTES
from runtime.settings import require
from runtime.webhook import equal_any

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

    from runtime.aws.client import Sqs

VERSION = 2
OK, FORBIDDEN, UNAVAILABLE = ({"statusCode": status} for status in (200, 403, 503))


class Door:
    """What one process keeps: its clients and the secrets it has read.

    :param now: the time, aware and in UTC.
    """

    def __init__(
        self, environment: Mapping[str, str], vault: Vault, queue: SQSClient | Sqs, now: Callable[[], datetime]
    ) -> None:
        """:raises Misconfigured: a variable is missing."""
        given = require(environment, env.API_KEY_SECRET_ARN, env.LIVE_QUEUE_URL)
        self._arn, self._url = given[env.API_KEY_SECRET_ARN], given[env.LIVE_QUEUE_URL]
        self._vault, self._queue, self._now = vault, queue, now
        self._logger = Log(metrics.SERVICE)

    def close(self) -> None:
        """Hang up. Lambda freezes a process instead."""
        self._vault.close()
        self._queue.close()

    async def answer(self, event: Mapping[str, Any]) -> dict[str, int]:
        """The status of one event of the API; the event, which may hold a key, is never logged."""
        context = event["requestContext"]
        try:
            match context["routeKey"]:
                case "$connect":
                    return await self._let_in(context["connectionId"], event)
                case "$default":
                    connection = context["connectionId"]
                    await asyncio.to_thread(self._send, connection, connection, request(connection, event.get("body")))
                    return OK
        except ServiceError as error:
            self._logger.error("live_refused", code=error.code)
            return UNAVAILABLE
        return OK

    async def _let_in(self, connection: str, event: Mapping[str, Any]) -> dict[str, int]:
        key = await self._key(event)
        if key is None:
            return FORBIDDEN
        body = {"v": VERSION, "connection": connection, "caller": live_token.caller_of(key)}
        await asyncio.to_thread(self._send, connection, f"{connection}-opened", body)
        return OK

    async def _key(self, event: Mapping[str, Any]) -> str | None:
        """The API key that the caller knows, or has a token of."""
        headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
        query = event.get("queryStringParameters") or {}
        keys = await self._vault.values(self._arn)
        given = headers.get("x-api-key") or query.get("api_key") or ""
        token, now = query.get("token") or "", self._now()
        known = [key for key in keys if equal_any(given, [key]) or live_token.is_valid(token, [key], now)]
        return known[0] if known else None

    def _send(self, connection: str, once: str, body: Mapping[str, Any]) -> None:
        """:param once: of several messages with this id the queue takes the first."""
        self._queue.send_message(
            QueueUrl=self._url, MessageBody=json.dumps(body), MessageGroupId=connection, MessageDeduplicationId=once
        )


def request(connection: str, text: str | None) -> dict[str, Any]:
    """A text of a client for the worker. One that is too long travels as its beginning: it is refused there."""
    return {"v": VERSION, "connection": connection, "text": None if text is None else text[: MAX_MESSAGE_BYTES + 1]}


_door: Door | None = None


def handler(event: Any, _context: Any) -> dict[str, int]:
    """Answer one event of the WebSocket API.

    :raises Misconfigured: the function lacks a variable. What else fails is raised too: the connection then ends.
    """
    global _door  # noqa: PLW0603 - made by the first invocation, so that a missing variable fails it with its sentence
    if _door is None:
        from runtime.aws.client import SecretsManager, Sqs

        vault = Vault(SecretsManager(os.environ, _utc_now), time.monotonic)
        _door = Door(os.environ, vault, Sqs(os.environ, _utc_now), _utc_now)
    return asyncio.run(_door.answer(event))


def _utc_now() -> datetime:
    return datetime.now(UTC)
