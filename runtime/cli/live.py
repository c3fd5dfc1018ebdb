"""The live crawl on a port: a WebSocket at /ws/crawl, and the page at / that speaks to it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from runtime import live, live_token
from runtime.api import Secrets
from runtime.errors import InputError, ServiceError
from runtime.live import Frame, Wanted
from runtime.live_crawl import crawl_live
from runtime.ports import World
from runtime.webhook import equal_any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

FORM = Path(__file__).with_name("live.html")


@dataclass(slots=True)
class LiveDoor:
    """Answers one WebSocket after another; keeps count of what is under way, also when its client has gone."""

    world: World
    secrets: Callable[[], Awaitable[Secrets]]
    first_message_seconds: float = live.FIRST_MESSAGE_SECONDS
    _under_way: Counter[str] = field(default_factory=Counter)
    _detached: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """One connection, from its handshake to its end."""
        if (await receive())["type"] != "websocket.connect":
            return
        key = await self._key(scope) if scope["path"] == live.PATH else None
        if key is None:
            # Closed before it was accepted: the handshake fails with 403, and nobody learns why.
            await send({"type": "websocket.close", "code": 1008})
            return
        await send({"type": "websocket.accept"})
        client = _Client(send)
        try:
            wanted = await self._wanted(receive)
        except InputError as error:
            await client.tell(live.refusal(error), live.done())
        else:
            if wanted is None:
                return
            await self._crawl(key, wanted, client, receive)
        await client.close()

    async def finish(self) -> None:
        """Wait for enrolments whose clients have gone."""
        await asyncio.gather(*self._detached, return_exceptions=True)

    async def _key(self, scope: Mapping[str, Any]) -> str | None:
        """The API key that the caller knows, or has a token of; None when there is none."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        query = parse_qs(scope["query_string"].decode("latin-1"))
        given = headers.get("x-api-key") or query.get("api_key", [""])[-1]
        token = query.get("token", [""])[-1]
        try:
            keys = (await self.secrets()).api_keys
        except ServiceError as error:
            self.world.events.event("live_refused", code=error.code)
            return None
        now = self.world.clock()
        for key in keys:
            if equal_any(given, [key]) or live_token.is_valid(token, [key], now):
                return key
        self.world.events.event("live_refused", code="unauthorized")
        return None

    async def _wanted(self, receive: Receive) -> Wanted | None:
        """The client's one message; None when it went away instead.

        :raises InputError: it is not a request, or did not come in time.
        """
        try:
            async with asyncio.timeout(self.first_message_seconds):
                message = await receive()
        except TimeoutError:
            raise InputError("message", "no request came in time", code="timeout") from None
        if message["type"] != "websocket.receive":
            return None
        return live.parse(message.get("text"))

    async def _crawl(self, key: str, wanted: Wanted, client: _Client, receive: Receive) -> None:
        if self._under_way[key] >= live.AT_ONCE:
            await client.tell(live.busy(), live.done())
            return
        self._under_way[key] += 1
        work = asyncio.create_task(self._work(key, wanted, client))
        gone = asyncio.create_task(_gone(receive))
        sender = asyncio.create_task(client.send_all())
        try:
            await asyncio.wait({sender, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (gone, sender):
                task.cancel()
            if not work.done() and wanted.enroll:
                self._detached.add(work)
                work.add_done_callback(self._detached.discard)
            else:
                work.cancel()
            await asyncio.gather(gone, sender, return_exceptions=True)

    async def _work(self, key: str, wanted: Wanted, client: _Client) -> None:
        try:
            await crawl_live(self.world, wanted, client.put)
        finally:
            self._under_way[key] -= 1
            client.end()


@dataclass(slots=True)
class _Client:
    """Frames on their way to a client, in order. They wait here while it is slow; a crawl has a bounded number."""

    send: Send
    _waiting: asyncio.Queue[Frame | None] = field(default_factory=asyncio.Queue)

    def put(self, frame: Frame) -> None:
        self._waiting.put_nowait(frame)

    def end(self) -> None:
        self._waiting.put_nowait(None)

    async def send_all(self) -> None:
        """Until the last frame, or until the client has gone."""
        while (frame := await self._waiting.get()) is not None and await self.tell(frame):
            pass

    async def tell(self, *frames: Frame) -> bool:
        """Whether the client was there for all of them."""
        said = [await self._sent({"type": "websocket.send", "text": frame.encoded()}) for frame in frames]
        return all(said)

    async def close(self) -> None:
        await self._sent({"type": "websocket.close", "code": 1000})

    async def _sent(self, message: Message) -> bool:
        try:
            await self.send(message)
        except (RuntimeError, OSError):
            # What servers raise when the connection is closed (ASGI specification 2.4, "Disconnected Client").
            return False
        return True


async def _gone(receive: Receive) -> None:
    """Returns when the client goes away; what it says after its request is not listened to."""
    while (await receive())["type"] != "websocket.disconnect":
        pass
