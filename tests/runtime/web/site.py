"""A web site that behaves as a test wants, and a fetch client that can reach it and nothing else."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Self

from runtime.settings import CrawlLimits, FetchPolicy
from runtime.web.fetch import FetchClient
from runtime.web.transport import PinnedTransport
from tests.safety.certificates import Authority
from tests.safety.internet import Names

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
PUBLIC = "93.184.216.34"
LIMITS = CrawlLimits(requests_per_second=0)


class Site:
    """Every connection the client opens is served by `of(site)`. `sent` counts what the site could get rid of."""

    def __init__(
        self, of: Callable[[Site], Behaviour], *, tls: Authority | None = None, shown_name: str | None = None
    ) -> None:
        self.behaviour = of(self)
        self.connections = 0
        self.dialled: list[tuple[str, int]] = []
        self.requests: list[bytes] = []
        self.sent = 0
        self._tls = tls.server_context(shown_name) if tls else None
        self._serving: set[asyncio.Task[None]] = set()

    async def dial(self, address: str, port: int) -> socket.socket:
        self.dialled.append((address, port))
        self.connections += 1
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        task = asyncio.ensure_future(self._serve(ours))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return theirs

    async def _serve(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock, ssl=self._tls)
        except OSError:
            return
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            await self.behaviour(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            transport.abort()

    async def aclose(self) -> None:
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    # -- what behaviours are made of

    async def head(self, reader: asyncio.StreamReader) -> bytes:
        """The next request's head, kept in `requests`."""
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head)
        return head

    async def send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        """Write, and wait until the client takes it."""
        writer.write(data)
        self.sent += len(data)
        await writer.drain()


def answers(*wires: bytes, close: bool = False) -> Callable[[Site], Behaviour]:
    """A site that answers the requests with these bytes in turn (the last for ever), then closes if asked to."""

    def of(site: Site) -> Behaviour:
        async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                await site.head(reader)
                await site.send(writer, wires[min(len(site.requests), len(wires)) - 1])
                if close:
                    writer.close()
                    await writer.wait_closed()
                    return

        return behaviour

    return of


def message(body: bytes = b"", status: str = "200 OK", headers: Sequence[str] = (), *, length: bool = True) -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Visit:
    """`async with Visit(behaviour) as visit: await visit.get(path)`: a site at http(s)://example.com, and a client."""

    def __init__(
        self,
        of: Callable[[Site], Behaviour],
        *,
        limits: CrawlLimits = LIMITS,
        policy: FetchPolicy | None = None,
        names: Names | None = None,
        tls: Authority | None = None,
        shown_name: str | None = None,
    ) -> None:
        self.names = names or Names({})
        self.site = Site(of, tls=tls, shown_name=shown_name)
        self.pool = PinnedTransport(dial=self.site.dial, tls=tls.client_context if tls else None)
        self.client = FetchClient(policy or FetchPolicy(), limits, resolver=self.names, wire=self.pool)
        self.base = "https://example.com" if tls else "http://example.com"

    async def get(self, path: str = "/", *, max_bytes: int = 2_000_000, **more: Any) -> Any:
        return await self.client.get(path if "://" in path else self.base + path, max_bytes=max_bytes, **more)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()
        await self.site.aclose()
