"""One kept-alive connection: a request out, its answer in, nothing buffered beyond a few reads."""

from __future__ import annotations

import asyncio
import ssl
from typing import Final, cast

from runtime.web.incoming import Incoming, Malformed
from runtime.web.wire import Deadlines, Headers, WireError

HIGH_WATER: Final = 262_144


class Connection(asyncio.BufferedProtocol):
    """Sends one request at a time and is the `Answer` to it.

    What arrives is written into `buffer`, which all connections of one loop may share: it is taken before the loop does
    anything else. A fresh one a read (asyncio's way, 256 KiB) costs more than the parsing of a page's HTTP.

    Reading stops while more than `HIGH_WATER` bytes wait to be taken. `started` is true once a byte of the answer came;
    `reusable` once it came whole and the server keeps the connection open.
    """

    def __init__(self, buffer: memoryview) -> None:
        self._buffer = buffer
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._incoming = Incoming()
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadlines: Deadlines | None = None
        self._failure: WireError | None = None
        self._paused = False
        self._flow_mark = 0
        self._received = 0
        self.started = False
        self.open = False
        self.idle_since = 0.0

    # -- the caller's side

    async def request(self, head: bytes, deadlines: Deadlines) -> None:
        """Send a request head; returns when the answer's head is there.

        :raises WireError: timeout, protocol_error, or connection_lost with `started` false if not a byte came back.
        """
        incoming = self._incoming
        incoming.begin()
        self.started = False
        self._flow_mark = 0
        self._deadlines = deadlines
        self._timer = self._loop.call_at(min(deadlines.first_byte, deadlines.end), self._tick)
        if self._failure is None:
            cast("asyncio.Transport", self._transport).write(head)
        while not incoming.head_done:
            await self._wait()

    async def read(self) -> bytes:
        incoming = self._incoming
        while not incoming.chunks:
            if incoming.done or (self._failure is not None and self._failure.code == "connection_lost"):
                return b""
            await self._wait()
        data = incoming.take()
        self._resume()
        return data

    @property
    def status(self) -> int:
        return self._incoming.status

    @property
    def headers(self) -> Headers:
        return self._incoming.headers

    @property
    def whole(self) -> bool:
        return self._incoming.done

    @property
    def buffered(self) -> int:
        """Bytes of the body that wait to be read."""
        return self._incoming.buffered

    @property
    def reusable(self) -> bool:
        return self.open and self._incoming.done and self._incoming.keep_alive and self._failure is None

    def rest(self) -> None:
        """The exchange is over: stop the clock, forget the body."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._incoming.drop()
        self._resume()

    def abort(self) -> None:
        """Close at once and throw away what is unread."""
        self.rest()
        self._cut()

    def _cut(self) -> None:
        self.open = False
        if self._transport is not None:
            self._transport.abort()

    def _resume(self) -> None:
        if self._paused and self.open:
            self._paused = False
            cast("asyncio.Transport", self._transport).resume_reading()

    async def _wait(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, code: str, message: str) -> None:
        if self._failure is None:
            self._failure = WireError(code, message)
        self._cut()
        self._wake()

    def _tick(self) -> None:
        """The one timer of an exchange: first byte, then the flow of the body, then the end."""
        now, due = self._loop.time(), cast("Deadlines", self._deadlines)
        if now >= due.end:
            self._fail("timeout", "the answer was not complete within the deadline of the request")
            return
        if not self.started:
            self._fail("timeout", "no answer came within the time for the first byte")
            return
        following = due.rate_from
        if now >= due.rate_from + due.rate_window:
            if self._received - self._flow_mark < due.rate_bytes and not self._paused:
                self._fail("timeout", "the answer flows too slowly")
                return
            following = now + due.rate_window
        elif now >= due.rate_from:
            following = due.rate_from + due.rate_window
        self._flow_mark = self._received
        self._timer = self._loop.call_at(min(following, due.end), self._tick)

    # -- the loop's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.open = True

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        incoming = self._incoming
        if self._deadlines is None or incoming.done:
            self._fail("protocol_error", "the server sent an answer that nobody asked for")
            return
        self.started = True
        self._received += nbytes
        try:
            incoming.feed(self._buffer[:nbytes])
        except Malformed as error:
            self._fail("protocol_error", str(error))
            return
        if incoming.buffered > HIGH_WATER and not self._paused and self.open:
            self._paused = True
            cast("asyncio.Transport", self._transport).pause_reading()
        if incoming.head_done:
            self._wake()

    def eof_received(self) -> None:
        if self._incoming.head_done and self._incoming.until_close and self._closed_properly():
            self._incoming.done = True
        self._lose()

    def _closed_properly(self) -> bool:
        """Over TLS, whether the peer said goodbye: anybody on the way can cut the TCP connection (RFC 9112 9.8)."""
        secured = cast("asyncio.Transport", self._transport).get_extra_info("ssl_object")
        if secured is None:
            return True
        try:
            return not secured.read(1)  # empty after close_notify; without it OpenSSL still waits for more
        except ssl.SSLError:
            return False

    def connection_lost(self, _: Exception | None) -> None:
        self._lose()

    def _lose(self) -> None:
        self.open = False
        if self._failure is None:
            self._failure = WireError("connection_lost", "the server closed the connection")
        self._wake()
