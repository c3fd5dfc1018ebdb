"""The real wire: kept-alive HTTP/1.1 connections to pinned addresses.

A connection belongs to (scheme, name, address, port): the address is one the gate has judged, TLS and the Host header
stay with the name. Nothing here looks a name up, reads a proxy from the environment or follows Alt-Svc.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from typing import Final

from runtime.web.connection import Connection
from runtime.web.gate import Target
from runtime.web.tls import shared_tls
from runtime.web.wire import Deadlines, Headers, WireError

Dial = Callable[[str, int], Awaitable[socket.socket]]
"""Opens a TCP connection to exactly this address and port."""

IDLE_SECONDS: Final = 15.0
IDLE_CONNECTIONS: Final = 256
READ_BYTES: Final = 65_536
"""At most this much is read from a socket at once."""

ATTEMPTS: Final = 3
"""How many of a name's addresses are tried, one after another."""

_Key = tuple[str, str, str, int]


async def dial(address: str, port: int) -> socket.socket:
    """Connect, and make sure of who answered.

    :raises OSError: no connection, or the peer is not the pinned address.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
        peer, peer_port = sock.getpeername()[:2]
        if ip_address(peer) != ip_address(address) or peer_port != port:
            raise OSError("the peer is not the pinned address")  # noqa: TRY301 - closed below like any failure
    except BaseException:
        sock.close()
        raise
    return sock


class PinnedTransport:
    """A `Wire` with a pool. Idle connections are kept `IDLE_SECONDS`, `IDLE_CONNECTIONS` at most, the oldest go first.

    `dial` and `tls` are seams for tests; the defaults are right everywhere else.
    """

    def __init__(self, *, dial: Dial = dial, tls: ssl.SSLContext | None = None) -> None:
        self._dial = dial
        self._tls = tls
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._idle: OrderedDict[Connection, _Key] = OrderedDict()
        self._by_key: dict[_Key, list[Connection]] = {}

    async def send(
        self,
        target: Target,
        addresses: Sequence[str],
        headers: Sequence[tuple[str, str]],
        deadlines: Deadlines,
        body: bytes | None = None,
    ) -> _Exchange:
        head = _head(target, headers, body)
        # A POST is not asked twice (RFC 9110 9.2.2), so it does not go where it may find the connection closed.
        kept = self._take(target, addresses) if body is None else None
        if kept is not None:
            key, connection = kept
            try:
                return await self._ask(key, connection, head, deadlines)
            except WireError as error:
                # The server may close a kept connection at any time (RFC 9112 9.3.1): a GET is asked once more.
                if error.code != "connection_lost" or connection.started:
                    raise
        key, connection = await self._open(target, addresses, deadlines)
        return await self._ask(key, connection, head, deadlines)

    async def aclose(self) -> None:
        while self._idle:
            self._drop(next(iter(self._idle)))
        await asyncio.sleep(0)  # lets the transports run their last callbacks

    async def _ask(self, key: _Key, connection: Connection, head: bytes, deadlines: Deadlines) -> _Exchange:
        try:
            await connection.request(head, deadlines)
        except BaseException:
            connection.abort()
            raise
        return _Exchange(self, key, connection)

    async def _open(self, target: Target, addresses: Sequence[str], deadlines: Deadlines) -> tuple[_Key, Connection]:
        """A connection to the first address that takes one; each gets its share of the time that is left."""
        clock = asyncio.get_running_loop().time
        end = min(deadlines.connect, deadlines.end)
        failure = WireError("timeout", "no connection was made in time")
        tried = addresses[:ATTEMPTS]
        for place, address in enumerate(tried):
            now = clock()
            try:
                async with asyncio.timeout_at(now + max(0.0, end - now) / (len(tried) - place)):
                    connection = await self._connect(target, address)
            except TimeoutError:
                failure = WireError("timeout", "no connection was made in time")
            except ssl.SSLError as error:
                reason = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else error.reason
                raise WireError("tls", f"no secure connection: {reason}") from None
            except OSError as error:
                failure = WireError("connect_failed", f"no connection: {error.strerror or 'closed by the peer'}")
            else:
                return (target.scheme, target.host, address, target.port), connection
        raise failure

    async def _connect(self, target: Target, address: str) -> Connection:
        secure = target.scheme == "https"
        tls = (self._tls or shared_tls()) if secure else None
        sock = await self._dial(address, target.port)
        # From here on the loop owns the socket, and closes it if the handshake fails or is cancelled.
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(self._buffer), sock=sock, ssl=tls, server_hostname=target.host if secure else None
        )
        return connection

    # -- the pool

    def _take(self, target: Target, addresses: Sequence[str]) -> tuple[_Key, Connection] | None:
        fresh = asyncio.get_running_loop().time() - IDLE_SECONDS
        for address in addresses:
            key = (target.scheme, target.host, address, target.port)
            waiting = self._by_key.get(key)
            while waiting:
                connection = waiting[-1]
                if connection.open and connection.idle_since > fresh:
                    self._forget(connection)
                    return key, connection
                self._drop(connection)
        return None

    def _keep(self, key: _Key, connection: Connection) -> None:
        now = asyncio.get_running_loop().time()
        connection.rest()
        connection.idle_since = now
        self._idle[connection] = key
        self._by_key.setdefault(key, []).append(connection)
        while True:
            oldest = next(iter(self._idle))
            if len(self._idle) <= IDLE_CONNECTIONS and oldest.open and oldest.idle_since > now - IDLE_SECONDS:
                break
            self._drop(oldest)

    def _forget(self, connection: Connection) -> None:
        key = self._idle.pop(connection)
        waiting = self._by_key[key]
        waiting.remove(connection)
        if not waiting:
            del self._by_key[key]

    def _drop(self, connection: Connection) -> None:
        self._forget(connection)
        connection.abort()

    def release(self, key: _Key, connection: Connection) -> None:
        if connection.reusable:
            self._keep(key, connection)
        else:
            connection.abort()


class _Exchange:
    """The answer of a pooled connection; `close` gives the connection back."""

    __slots__ = ("_connection", "_key", "_pool", "headers", "status")

    def __init__(self, pool: PinnedTransport, key: _Key, connection: Connection) -> None:
        self._pool, self._key, self._connection = pool, key, connection
        self.status: int = connection.status
        self.headers: Headers = connection.headers

    async def read(self) -> bytes:
        return await self._connection.read()

    @property
    def whole(self) -> bool:
        return self._connection.whole

    async def close(self) -> None:
        self._pool.release(self._key, self._connection)


def _head(target: Target, headers: Sequence[tuple[str, str]], body: bytes | None) -> bytes:
    method = "GET" if body is None else "POST"
    lines = [f"{method} {target.path} HTTP/1.1\r\nhost: {target.authority}\r\n"]
    lines += [f"{name}: {value}\r\n" for name, value in headers]
    lines.append("\r\n" if body is None else f"content-length: {len(body)}\r\n\r\n")
    return "".join(lines).encode("latin-1") + (body or b"")
