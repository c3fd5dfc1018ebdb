"""The HTTP contract over ASGI, and the published files beside it: what `serve` puts on a port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from runtime.api import Api
from runtime.cli.live import FORM, LiveDoor
from runtime.errors import InputError
from runtime.http import MAX_BODY_BYTES, Request
from runtime.publish.keys import checked_key

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

CACHE = b"public, max-age=300"
FORM_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self' ws: wss:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
"""The page speaks to this server alone, and nobody may frame it: a person types an API key there."""


class App:
    """An ASGI application: the API's routes, GET of any published file, the live crawl and its page."""

    def __init__(self, api: Api, live: LiveDoor | None = None) -> None:
        self._api, self._live = api, live

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket" and self._live is not None:
            await self._live.serve(scope, receive, send)

    async def _http(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        path: str = scope["path"]
        if scope["method"] in ("GET", "HEAD") and path == "/" and self._live is not None:
            await _send(send, 200, b"" if scope["method"] == "HEAD" else FORM.read_bytes(), FORM_HEADERS)
            return
        if scope["method"] in ("GET", "HEAD") and path.endswith((".txt", ".txt/")):
            await self._file(unquote(path).lstrip("/"), headers, send, head=scope["method"] == "HEAD")
            return
        request = Request(
            method=scope["method"],
            path=path,
            headers=headers,
            body=await _body(receive),
            query=scope["query_string"].decode("latin-1"),
            id=str(uuid4()),
        )
        answer = await self._api.handle(request)
        await _send(send, answer.status, answer.encoded(), {"content-type": "application/json", **answer.headers})

    async def _file(self, key: str, headers: dict[str, str], send: Send, *, head: bool) -> None:
        """A published file with the headers that the cloud gives it: ETag, five minutes, charset, `describedby`."""
        try:
            stored = await self._api.world.publisher.read(checked_key(key))
        except InputError:
            stored = None
        if stored is None:
            await _send(send, 404, b"not found\n", {"content-type": "text/plain; charset=utf-8"})
            return
        fields = {
            "content-type": "text/plain; charset=utf-8",
            "etag": stored.etag,
            "cache-control": CACHE.decode(),
            "link": f'<{self._api.world.publisher.url(key)}>; rel="describedby"',
        }
        if headers.get("if-none-match") == stored.etag:
            await _send(send, 304, b"", fields)
        else:
            await _send(send, 200, b"" if head else stored.body, fields)


async def _body(receive: Receive) -> bytes:
    """The body, read no further than it takes to refuse one that is too large."""
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if not message.get("more_body") or len(body) > MAX_BODY_BYTES:
            return body


async def _send(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    if status != 304:
        fields.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
