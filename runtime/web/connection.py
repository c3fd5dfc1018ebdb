"""One HTTP/1.1 connection: bytes in, answers out, nothing buffered beyond a few reads.

llhttp (httptools) parses in its strict mode: bare CR, bad chunk sizes, two lengths or a length beside chunks end the
connection (RFC 9112 6.3, 11.1). The caps of a head are ours: 100 headers, 64 KiB, 10 interim answers.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Final, cast

import httptools

from runtime.web.wire import Deadlines, Headers, WireError

HEADER_COUNT: Final = 100
HEADER_BYTES: Final = 65_536
INTERIM_ANSWERS: Final = 10
HIGH_WATER: Final = 262_144


class Connection(asyncio.Protocol):
    """Sends one request at a time and is the `Answer` to it.

    Reading stops while more than `HIGH_WATER` bytes wait to be taken. `reusable` is true once an answer came whole and
    the server keeps the connection open.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadlines: Deadlines | None = None
        self._failure: WireError | None = None
        self._paused = False
        self.open = False
        self.idle_since = 0.0
        self.bytes_received = 0
        self._begin()

    def _begin(self) -> None:
        self.status = 0
        self.headers: Headers = ()
        self.started = False
        self._fields: list[tuple[str, str]] = []
        self._head_bytes = 0
        self._head_received = 0
        self._interim = 0
        self._head_done = False
        self._message_done = False
        self._until_close = False
        self._chunks: list[bytes] = []
        self._buffered = 0
        self._flow_mark = 0
        self._keep_alive = False

    # -- the caller's side

    async def request(self, head: bytes, deadlines: Deadlines) -> None:
        """Send a request head; returns when the answer's head is there.

        :raises WireError: timeout, protocol_error, or connection_lost with `started` false if not a byte came back.
        """
        self._begin()
        self._deadlines = deadlines
        self._timer = self._loop.call_at(min(deadlines.first_byte, deadlines.end), self._tick)
        if self._failure is None:
            cast("asyncio.Transport", self._transport).write(head)
        while not self._head_done:
            await self._wait()

    async def read(self) -> bytes:
        while not self._chunks:
            if self._message_done:
                return b""
            if self._failure is not None and self._failure.code == "connection_lost":
                return b""
            await self._wait()
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._buffered = 0
        self._resume()
        return data

    @property
    def whole(self) -> bool:
        return self._message_done

    @property
    def reusable(self) -> bool:
        return self.open and self._message_done and self._keep_alive and self._failure is None

    def rest(self) -> None:
        """The exchange is over: stop the clock, forget the body."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._chunks.clear()
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
        elif not self.started:
            self._fail("timeout", "no answer came within the time for the first byte")
        else:
            if now >= due.rate_from + due.rate_window:
                if self.bytes_received - self._flow_mark < due.rate_bytes and not self._paused:
                    self._fail("timeout", "the answer flows too slowly")
                    return
                self._flow_mark, following = self.bytes_received, now + due.rate_window
            elif now >= due.rate_from:
                self._flow_mark, following = self.bytes_received, due.rate_from + due.rate_window
            else:
                following = due.rate_from
            self._timer = self._loop.call_at(min(following, due.end), self._tick)

    # -- the loop's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.open = True

    def data_received(self, data: bytes) -> None:
        self.bytes_received += len(data)
        if self._deadlines is None or self._message_done:
            self._fail("protocol_error", "the server sent an answer that nobody asked for")
            return
        self.started = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail("protocol_error", "the server switched to another protocol")
        except httptools.HttpParserError as error:
            own = error.__context__
            self._fail("protocol_error", str(own) if isinstance(own, _Unfit) else "the answer is not valid HTTP/1.1")
        else:
            if not self._head_done:
                self._head_received += len(data)
                if self._head_received > HEADER_BYTES:
                    self._fail("protocol_error", f"the headers are longer than {HEADER_BYTES} bytes")
            if self._buffered > HIGH_WATER and not self._paused and self.open:
                self._paused = True
                cast("asyncio.Transport", self._transport).pause_reading()
            if self._head_done:
                self._wake()

    def eof_received(self) -> None:
        if self._head_done and self._until_close and self._closed_properly():
            self._message_done = True
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

    # -- the parser's side

    def on_message_begin(self) -> None:
        if self._message_done:
            raise _Unfit("the server sent an answer that nobody asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head_done:
            return  # a trailer (RFC 9110 6.5): nothing we read may come from there
        self._fields.append((name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")))
        self._head_bytes += len(name) + len(value) + 4
        if len(self._fields) > HEADER_COUNT or self._head_bytes > HEADER_BYTES:
            raise _Unfit(f"the answer has more than {HEADER_COUNT} headers or {HEADER_BYTES} bytes of them")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            return
        self.status, self.headers = status, tuple(self._fields)
        self._head_done = True
        codings = [value.lower() for name, value in self._fields if name == "transfer-encoding"]
        if codings not in ([], ["chunked"]):
            raise _Unfit("the answer has a transfer coding that was not asked for")
        self._until_close = not codings and all(name != "content-length" for name, _ in self._fields)

    def on_body(self, data: bytes) -> None:
        self._chunks.append(data)
        self._buffered += len(data)

    def on_message_complete(self) -> None:
        if self._head_done:
            self._message_done = True
            self._keep_alive = self._parser.should_keep_alive()
            return
        self._interim += 1
        self._fields.clear()
        if self._interim > INTERIM_ANSWERS:
            raise _Unfit(f"the server sent more than {INTERIM_ANSWERS} interim answers")


class _Unfit(Exception):
    """The answer is HTTP, but not as we take it."""
