"""The live crawl in AWS: one queued message is one crawl, whose frames are posted back to the client's connection."""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from runtime import environment as env
from runtime import live
from runtime.errors import ServiceError
from runtime.handlers.live import VERSION
from runtime.handlers.process import Process, remaining_seconds
from runtime.live import Frame, Wanted
from runtime.live_crawl import crawl_live
from runtime.ownership import take
from runtime.ports import World
from runtime.settings import require
from runtime.work import STOP_MARGIN_SECONDS

NEEDED = (
    env.SUPABASE_SECRET_ARN,
    env.QUEUE_URL,
    env.STATE_BUCKET,
    env.PUBLIC_BUCKET,
    env.PUBLIC_BASE_URL,
    env.LIVE_ENDPOINT_URL,
)
process = Process(NEEDED)

READ = (1, VERSION)
"""Versions of messages; those of the first were sent by a door that announced nobody."""

MAX_FRAME_BYTES = 120_000
"""API Gateway takes 128 KB in one message; a longer text goes out in `parts`."""

GONE = "GoneException"
PART_CHARS = 20_000
"""Six bytes each at most, as JSON writes a control character."""


class Connections(Protocol):
    """What is used of boto3's `apigatewaymanagementapi` client."""

    def post_to_connection(self, *, ConnectionId: str, Data: bytes) -> Any: ...  # noqa: N803 - boto3 spells it so


class Gone(Exception):
    """No frame reaches the client any more. `fault` is the code of an error that is ours; empty: it has closed."""

    def __init__(self, fault: str = "") -> None:
        super().__init__(fault)
        self.fault = fault


def handler(event: Any, context: Any) -> None:
    """Do one message of the live queue.

    :raises ServiceError: the process is not set up, the bucket is another stage's, or a store of ours does not answer:
        the message comes again.
    """

    async def work(world: World) -> None:
        await take(world.publisher, world.settings.stage)
        deadline = asyncio.get_running_loop().time() + remaining_seconds(context) - STOP_MARGIN_SECONDS
        for record in event["Records"]:
            await one(world, record["body"], _client(), deadline=deadline)

    process.run(context, work)


async def one(world: World, body: str, client: Connections, *, deadline: float | None = None) -> None:
    """One message. A client that has gone ends a crawl that is kept nowhere; an enrolment goes on without it.

    :param deadline: event-loop time by which the crawl must have stopped, before the process is ended.
    """
    value = json.loads(body)
    if value.get("v") not in READ:
        world.events.event("live_unreadable_failed", code="version")
        return
    connection = value["connection"]
    if "caller" in value:
        await world.sites.open_live(connection, value["caller"])
        return
    frames = Frames(client, connection)
    try:
        wanted = live.parse(value["text"])
        seconds = lease_seconds(world, deadline)
        begun = await world.sites.begin_live(connection, at_once=live.AT_ONCE, lease_seconds=seconds)
    except ServiceError as error:
        await _refuse(frames, live.refusal(error))
        return
    if not begun:
        await _refuse(frames, live.busy())
        return
    try:
        await _crawl(world, wanted, frames, deadline)
    finally:
        await _give_back(world, connection)


async def _give_back(world: World, connection: str) -> None:
    """End the lease of a crawl. One that cannot be ended runs out; the crawl is done and must not come again."""
    try:
        await world.sites.end_live(connection)
    except ServiceError as error:
        world.events.event("live_place_failed", code=error.code)


def lease_seconds(world: World, deadline: float | None) -> int:
    """How long the place of a crawl is kept if its worker dies: until the process would have been ended."""
    if deadline is None:
        return math.ceil(world.settings.limits.site_deadline_seconds + STOP_MARGIN_SECONDS)
    return max(1, math.ceil(deadline - asyncio.get_running_loop().time() + STOP_MARGIN_SECONDS))


async def _refuse(frames: Frames, why: Frame) -> None:
    frames.say(why)
    frames.say(live.done())
    frames.end()
    with suppress(Gone):  # who has gone need not be told
        await frames.send_all()


async def _crawl(world: World, wanted: Wanted, frames: Frames, deadline: float | None) -> None:
    sender = asyncio.create_task(frames.send_all())
    crawl = asyncio.create_task(crawl_live(world, wanted, frames.say, deadline=deadline))
    crawl.add_done_callback(lambda _: frames.end())
    try:
        await sender
    except Gone as gone:
        if gone.fault:
            world.events.event("live_frames_failed", code=gone.fault)
        if not wanted.enroll:
            crawl.cancel()
    await asyncio.gather(crawl, return_exceptions=True)


@dataclass(slots=True)
class Frames:
    """Frames on their way to one connection, in order. Of progress that waits only the latest is worth sending."""

    client: Connections
    connection: str
    _waiting: deque[Frame] = field(default_factory=deque)
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: bool = False

    def say(self, frame: Frame) -> None:
        if frame.type == "progress" and self._waiting and self._waiting[-1].type == "progress":
            self._waiting.pop()
        self._waiting.append(frame)
        self._ready.set()

    def end(self) -> None:
        self._ended = True
        self._ready.set()

    async def send_all(self) -> None:
        """:raises Gone: the client has closed, or frames cannot be posted."""
        while self._waiting or not self._ended:
            self._ready.clear()
            if not self._waiting:
                await self._ready.wait()
                continue
            for text in encoded(self._waiting.popleft()):
                await asyncio.to_thread(self._post, text)

    def _post(self, text: str) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self.client.post_to_connection(ConnectionId=self.connection, Data=text.encode())
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "unknown")
            raise Gone("" if code == GONE else code) from None
        except BotoCoreError as error:
            raise Gone(type(error).__name__) from None


def encoded(frame: Frame) -> list[str]:
    """The frame as texts that API Gateway takes: one, or for a very long content several with `part` and `parts`."""
    text = frame.encoded()
    if len(text.encode()) <= MAX_FRAME_BYTES:
        return [text]
    pieces = [frame.content[at : at + PART_CHARS] for at in range(0, len(frame.content), PART_CHARS)]
    return [
        Frame(frame.type, piece, {**frame.more, "part": number, "parts": len(pieces)}).encoded()
        for number, piece in enumerate(pieces, 1)
    ]


def _client() -> Connections:
    import boto3
    from botocore.config import Config

    config = Config(connect_timeout=3, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3})
    endpoint = require(os.environ, env.LIVE_ENDPOINT_URL)[env.LIVE_ENDPOINT_URL]
    client: Connections = boto3.client("apigatewaymanagementapi", endpoint_url=endpoint, config=config)
    return client
