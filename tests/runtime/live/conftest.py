"""The live crawl on a real port, over the sample site on another, spoken to by a real WebSocket client."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from runtime.api import Api, Secrets
from runtime.cli.asgi import App
from runtime.cli.live import LiveDoor
from runtime.live import MAX_MESSAGE_BYTES
from runtime.ports import World
from runtime.sample.server import SampleServer, serve_in_thread
from runtime.sample.site import SampleSite
from runtime.settings import CrawlLimits, FetchPolicy, Settings
from runtime.wiring import embedded_world

KEY = "an-api-key-0123456789"
SETTINGS = Settings(
    limits=CrawlLimits(requests_per_second=0),
    policy=FetchPolicy(allow_networks=("127.0.0.0/8",), allow_any_port=True),
)


@dataclass
class Live:
    """A service that listens. `secrets` may be changed by a test; `said` is every event."""

    world: World
    site: SampleServer
    address: str
    door: LiveDoor
    secrets: list[Secrets]
    said: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    recrawled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def socket_url(self) -> str:
        return f"ws://{self.address}/ws/crawl"

    @asynccontextmanager
    async def connected(self, query: str = "", key: str | None = KEY) -> AsyncIterator[ClientConnection]:
        headers = {} if key is None else {"X-Api-Key": key}
        async with connect(self.socket_url + query, additional_headers=headers, max_size=None) as client:
            yield client

    async def ask(self, message: Any, query: str = "", key: str | None = KEY) -> list[dict[str, Any]]:
        """One request and all of its frames. What is not text or bytes is sent as JSON."""
        async with self.connected(query, key) as client:
            await client.send(message if isinstance(message, str | bytes) else json.dumps(message))
            return await frames_of(client)


async def frames_of(client: ClientConnection) -> list[dict[str, Any]]:
    """Every frame until the server closes."""
    found = []
    try:
        while True:
            found.append(json.loads(await asyncio.wait_for(client.recv(), 30)))
    except ConnectionClosed:
        return found


def of(frames: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [frame for frame in frames if frame["type"] == kind]


@pytest.fixture
def site() -> Iterator[SampleServer]:
    with serve_in_thread(SampleSite()) as server:
        yield server


@pytest.fixture
async def live(tmp_path: Path, site: SampleServer) -> AsyncIterator[Live]:
    said: list[tuple[str, dict[str, Any]]] = []
    recrawled = asyncio.Event()

    class Events:
        def event(self, name: str, **fields: Any) -> None:
            said.append((name, fields))
            if name == "site_recrawled":
                recrawled.set()

    listener = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    secrets = [Secrets(api_keys=(KEY, "the-key-before"))]

    async def current() -> Secrets:
        return secrets[0]

    async def no_tick() -> int:
        return 0

    async with embedded_world(
        tmp_path / "home",
        settings=SETTINGS,
        events=Events(),
        base_url=f"http://{address}",
        clock=lambda: datetime.now(UTC),
    ) as world:
        door = LiveDoor(world, current)
        config = uvicorn.Config(
            App(Api(world, current, no_tick), door),
            log_level="critical",
            ws="websockets-sansio",
            ws_max_size=4 * MAX_MESSAGE_BYTES,
        )
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield Live(world, site, address, door, secrets, said, recrawled)
        finally:
            server.should_exit = True
            await running
            await door.finish()
