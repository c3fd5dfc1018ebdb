"""Any httpx transport as the wire: recorded sites in tests, or a transport of the operator's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import cast

import httpx

from runtime.errors import Misconfigured
from runtime.web.gate import Target
from runtime.web.wire import Deadlines, Headers, WireError

_CODES: tuple[tuple[type[httpx.TransportError], str], ...] = (
    (httpx.TimeoutException, "timeout"),
    (httpx.ConnectError, "connect_failed"),
    (httpx.ProtocolError, "protocol_error"),
    (httpx.NetworkError, "connection_lost"),
)


class HttpxWire:
    """A `Wire` over an `httpx.AsyncBaseTransport`. The pinned addresses travel in the request's extensions."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        """:raises Misconfigured: httpx's own transport, which looks names up once more and follows no pin."""
        if isinstance(transport, httpx.AsyncHTTPTransport):
            raise Misconfigured(
                "httpx.AsyncHTTPTransport resolves names itself; leave `transport` out to use the pinned wire",
                code="unpinned_transport",
            )
        self._transport = transport

    async def send(
        self,
        target: Target,
        addresses: Sequence[str],
        headers: Sequence[tuple[str, str]],
        deadlines: Deadlines,
        body: bytes | None = None,
    ) -> _HttpxAnswer:
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        method, extensions = "GET" if body is None else "POST", {"addresses": tuple(addresses)}
        request = httpx.Request(method, target.url, headers=raw, content=body, extensions=extensions)
        try:
            async with asyncio.timeout_at(min(deadlines.first_byte, deadlines.end)):
                response = await self._transport.handle_async_request(request)
        except TimeoutError:
            raise WireError("timeout", "no answer came within the time for the first byte") from None
        except httpx.TransportError as error:
            raise _wire_error(error) from None
        return _HttpxAnswer(response, deadlines)

    async def aclose(self) -> None:
        await self._transport.aclose()


class _HttpxAnswer:
    def __init__(self, response: httpx.Response, deadlines: Deadlines) -> None:
        self.status: int = response.status_code
        self.headers: Headers = tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers.raw
        )
        self._response, self._end = response, deadlines.end
        self._chunks: AsyncIterator[bytes] = aiter(cast("httpx.AsyncByteStream", response.stream))
        self.whole = False

    async def read(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._end):
                async for data in self._chunks:
                    if data:
                        return data
        except TimeoutError:
            raise WireError("timeout", "the answer was not complete within the deadline of the request") from None
        except (httpx.ReadError, httpx.RemoteProtocolError):
            return b""  # ended early: `whole` stays false
        except httpx.TransportError as error:
            raise _wire_error(error) from None
        self.whole = True
        return b""

    async def close(self) -> None:
        await self._response.stream.aclose()  # type: ignore[union-attr]


def _wire_error(error: httpx.TransportError) -> WireError:
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "connect_failed")
    return WireError(code, "the transport gave no answer")
