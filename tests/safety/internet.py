"""An internet in one process: every connection the product opens ends here, and is written down.

The fetch client's `dial` gets one end of a socket pair, a small HTTP server the other, behind TLS when the client
speaks it. So the product's own transport, TLS and parser run, and nothing leaves the machine: an audit hook counts real
connects and look-ups, which must be none.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.safety.certificates import Authority

TLS_HANDSHAKE = b"\x16"


@dataclass
class Reply:
    """One answer of the server: several values of a header are several lines."""

    status: int = 200
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b"hello"

    def wire(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} Whatever", *(f"{name}: {value}" for name, value in self.headers)]
        lines.append(f"content-length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body


class Names:
    """A resolver with a script: the n-th look-up of a name gets its n-th answer, later ones the last.

    A name without a script is public, so that a refusal never comes from a missing answer. A word that is no address
    stands for a look-up that fails.
    """

    def __init__(self, script: dict[str, list[list[str] | None]], default: str = "93.184.216.34") -> None:
        self.script, self.default = script, default
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if host not in self.script:
            return [self.default]
        answers = self.script[host]
        answer = answers[min(self.asked.count(host), len(answers)) - 1] if answers else None
        if not answer or any(not (set(text) & set(".:")) for text in answer):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return list(answer)


@dataclass
class Internet:
    """`dialled` lists (address, port) of every connection, `heads` what was asked over them; `replies` are sent in turn."""

    authority: Authority
    replies: list[Reply] = field(default_factory=list)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def dial(self, address: str, port: int) -> socket.socket:
        self.dialled.append((address, port))
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        task = asyncio.ensure_future(self._serve(ours))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return theirs

    async def aclose(self) -> None:
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(sock, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(sock)
        secure = sock.recv(1, socket.MSG_PEEK) == TLS_HANDSHAKE
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, sock, ssl=self.authority.server_context() if secure else None
            )
        except (ssl.SSLError, OSError):
            return
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write((self.replies.pop(0) if self.replies else Reply()).wire())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            transport.abort()


class Audit:
    """Counts what really leaves the process while it is armed: connects and look-ups of the operating system."""

    def __init__(self) -> None:
        self.armed = False
        self.seen: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.armed and event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
            self.seen.append(f"{event} {arguments[1] if event == 'socket.connect' else arguments[0]!r}")
