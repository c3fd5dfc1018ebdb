"""The answers on one connection, parsed as they come in.

llhttp (httptools) parses in its strict mode: bare CR, bad chunk sizes, two lengths or a length beside chunks are no
HTTP (RFC 9112 6.3, 11.1). The caps of a head are ours: 100 headers, 64 KiB, 10 interim answers; and so is that of what
comes around a body, chunk extensions and trailers, which no cap on the body sees (CVE-2023-39326).
"""

from __future__ import annotations

from typing import Final

import httptools

from runtime.web.wire import Headers

HEADER_COUNT: Final = 100
HEADER_BYTES: Final = 65_536
INTERIM_ANSWERS: Final = 10
FRAMING_PER_BYTE: Final = 16
"""Bytes of framing for each of the body, beside two heads' worth: chunks of one byte need 5."""


class Malformed(Exception):
    """What came is no HTTP/1.1, or not as we take it; the text says what is wrong."""


class Incoming:
    """`begin` before each request; `feed` what arrives; read the attributes.

    `status` and `headers` count once `head_done`; `chunks` holds `buffered` bytes of the body; `done` is the end of the
    message. `until_close` says that only the end of the connection ends the body.
    """

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.begin()

    def begin(self) -> None:
        self.status = 0
        self.headers: Headers = ()
        self.head_done = False
        self.done = False
        self.until_close = False
        self.keep_alive = False
        self.chunks: list[bytes] = []
        self.buffered = 0
        self._fields: list[tuple[str, str]] = []
        self._head_bytes = 0
        self._wire_bytes = 0
        self._body_bytes = 0
        self._interim = 0

    def feed(self, data: bytes | memoryview) -> None:
        """:raises Malformed: the connection is of no more use."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise Malformed("the server switched to another protocol") from None
        except httptools.HttpParserError as error:
            own = error.__context__
            raise Malformed(str(own) if isinstance(own, Malformed) else "the answer is not valid HTTP/1.1") from None
        self._wire_bytes += len(data)
        if not self.head_done and self._wire_bytes > HEADER_BYTES:
            raise Malformed(f"the headers are longer than {HEADER_BYTES} bytes")
        framing = self._wire_bytes - self._body_bytes
        if framing > 2 * HEADER_BYTES + FRAMING_PER_BYTE * self._body_bytes:
            raise Malformed("the answer is made of chunk extensions or trailers")

    def take(self) -> bytes:
        """What of the body is there."""
        data = self.chunks[0] if len(self.chunks) == 1 else b"".join(self.chunks)
        self.drop()
        return data

    def drop(self) -> None:
        self.chunks.clear()
        self.buffered = 0

    # -- called by the parser

    def on_message_begin(self) -> None:
        if self.done:
            raise Malformed("the server sent an answer that nobody asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.head_done:
            return  # a trailer (RFC 9110 6.5): nothing we read may come from there
        self._fields.append((name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")))
        self._head_bytes += len(name) + len(value) + 4
        if len(self._fields) > HEADER_COUNT or self._head_bytes > HEADER_BYTES:
            raise Malformed(f"the answer has more than {HEADER_COUNT} headers or {HEADER_BYTES} bytes of them")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            return
        self.status, self.headers = status, tuple(self._fields)
        self.head_done = True
        codings = [value.lower() for name, value in self._fields if name == "transfer-encoding"]
        if codings not in ([], ["chunked"]):
            raise Malformed("the answer has a transfer coding that was not asked for")
        self.until_close = not codings and all(name != "content-length" for name, _ in self._fields)

    def on_body(self, data: bytes) -> None:
        self.chunks.append(data)
        self.buffered += len(data)
        self._body_bytes += len(data)

    def on_message_complete(self) -> None:
        if self.head_done:
            self.done = True
            self.keep_alive = self._parser.should_keep_alive()
            return
        self._interim += 1
        self._fields.clear()
        if self._interim > INTERIM_ANSWERS:
            raise Malformed(f"the server sent more than {INTERIM_ANSWERS} interim answers")
