"""How the body of an answer is taken: under caps while its connection is held, the last of it inflated afterwards."""

from __future__ import annotations

import asyncio
from typing import Final

from runtime.errors import FetchFailed
from runtime.ports import Sink
from runtime.reading import Response
from runtime.web import decode
from runtime.web.wire import Answer, Headers, WireError

BODILESS: Final = frozenset({204, 304})
WIRE_SLACK: Final = 65_536


class Reception:
    """One answer's body: `take` it while the connection is held, give that back, then ask for the `response`.

    `size` counts the bytes of the body as they came over the wire.
    """

    def __init__(self, url: str, answer: Answer, max_bytes: int, sink: Sink | None = None) -> None:
        self._url, self._answer, self._max_bytes, self._sink = url, answer, max_bytes, sink
        self._body: decode.Body | None = None
        self._whole = False
        self.size = 0

    async def take(self, most_announced: int) -> None:
        """Take what comes, up to the caps, and inflate all of it but the last piece.

        :param most_announced: a Content-Length above it is not even begun.
        :raises FetchFailed: body_too_large, unsupported_encoding, corrupt_encoding, or what the wire says.
        """
        answer = self._answer
        if answer.status in BODILESS:
            self._whole = True
            return
        declared = _declared_length(answer.headers)
        if declared is not None and declared > max(most_announced, self._max_bytes):
            raise FetchFailed(self._url, f"the answer announces {declared} bytes", code="body_too_large")
        try:
            coding = decode.coding_of(v for k, v in answer.headers if k == "content-encoding")
            body = self._body = decode.Body(coding, self._max_bytes, self._sink)
            while not body.full and self.size <= self._max_bytes + WIRE_SLACK:
                data = await answer.read()
                self.size += len(data)
                if data and self._sink is not None and not self._sink.came(len(data)):
                    return
                if data:
                    body.feed(data)
                if not data or answer.whole:
                    self._whole = answer.whole and self.size <= self._max_bytes + WIRE_SLACK and self._is_all()
                    return
                await self._inflate(body)
        except decode.UnsupportedEncoding:
            raise FetchFailed(
                self._url, "the answer has a content coding that was not offered", code="unsupported_encoding"
            ) from None
        except WireError as error:
            raise FetchFailed(self._url, str(error), code=error.code) from None

    async def response(self, hops: tuple[str, ...]) -> Response:
        """What came, once its connection was given back.

        First the answers that came together with this one are taken, then the requests that waited for their
        connections go out: a connection that is idle while a body is inflated, or read by whoever asked for it, is
        time lost.

        :raises FetchFailed: corrupt_encoding.
        """
        for _ in range(2):
            await asyncio.sleep(0)
        answer, body = self._answer, self._body
        if body is None:
            return Response(self._url, answer.status, answer.headers, b"", self._whole, hops)
        await self._inflate(body)
        complete = self._whole and body.ended and not body.full
        return Response(self._url, answer.status, answer.headers, body.value(), complete, hops)

    async def _inflate(self, body: decode.Body) -> None:
        try:
            while body.drain():  # noqa: ASYNC110 - lets the other sites run between two pieces
                await asyncio.sleep(0)
        except decode.CorruptEncoding:
            raise FetchFailed(
                self._url, "the body is not what its content coding says", code="corrupt_encoding"
            ) from None

    def _is_all(self) -> bool:
        """Whether a 206 is the whole resource after all (RFC 9110 14.4)."""
        if self._answer.status != 206:
            return True
        value = next((v for k, v in self._answer.headers if k == "content-range"), "")
        return value.startswith("bytes 0-") and value.endswith(f"/{self.size}")


def _declared_length(headers: Headers) -> int | None:
    value = next((v for k, v in headers if k == "content-length"), "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None
