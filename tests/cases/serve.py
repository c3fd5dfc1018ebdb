"""The web of one case: an httpx transport that answers from its files, and a resolver that knows every host.

Case files hold the bytes as they are on the wire, so the client undoes Content-Encoding itself. URLs are matched after
a light normalisation (case of the host, default port, "/" for an empty path); what is not listed is 404.
`{"error": "ReadTimeout"}` raises httpx.ReadTimeout. In op `conditional` the first listed response whose "url" and "when"
fit is used: "when" is absent (always), "conditional" (If-None-Match or If-Modified-Since was sent), "unconditional", or
a dict of exact request header values.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from runtime.ports import Web
from runtime.settings import CrawlLimits, FetchPolicy
from tests.cases.corpus import Case
from tests.cases.endless import generated

_NOT_FOUND = b"<!DOCTYPE html><title>404 Not Found</title>"


def key(url: httpx.URL | str) -> str:
    """A URL as the table of responses is asked for it."""
    plain = str(url).partition("#")[0]
    match = re.match(r"(https?)://([^/?]*)(.*)$", plain, re.IGNORECASE | re.DOTALL)
    if not match:
        return plain
    scheme, host, rest = match[1].lower(), match[2].lower(), match[3]
    host = re.sub(r":(80)?$" if scheme == "http" else r":(443)?$", "", host)
    if not rest.startswith("/"):
        rest = "/" + rest
    return f"{scheme}://{host}" + re.sub(r"%[0-9a-f]{2}", lambda escape: escape[0].upper(), rest, flags=re.IGNORECASE)


def _raw(headers: dict[str, Any] | None) -> list[tuple[bytes, bytes]]:
    pairs = [(name, value) for name, values in (headers or {}).items() for value in _listed(values)]
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]


def _listed(values: str | list[str]) -> list[str]:
    return values if isinstance(values, list) else [values]


class _Stream(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __init__(self, body: bytes | Iterator[bytes], transport: Transport) -> None:
        self._body, self._transport = body, transport

    def __iter__(self) -> Iterator[bytes]:
        body = self._body
        chunks = (body[i : i + 65536] for i in range(0, len(body), 65536)) if isinstance(body, bytes) else body
        for chunk in chunks:
            self._transport.bytes_read += len(chunk)
            yield chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in iter(self):
            yield chunk

    def close(self) -> None: ...

    async def aclose(self) -> None: ...


class Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers from a case, sync and async; `fetched` lists the URLs asked for, `requests` the whole requests."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.fetched: list[str] = []
        self.requests: list[httpx.Request] = []
        self.bytes_read = 0
        given = case.input
        responses = given.get("responses") or {}
        if not responses and "current" in given:
            responses = {given["url"]: given["current"]}
        if not responses and "file" in given:
            only = {"status": given.get("status", 200), "headers": given.get("headers"), "file": given["file"]}
            responses = {given.get("url") or given["robots_url"]: only}
        self._list: list[dict[str, Any]] | None = responses if isinstance(responses, list) else None
        self._map: dict[str, dict[str, Any]] = {}
        for name, answer in {} if self._list is not None else responses.items():
            method, _, url = name.rpartition(" ")
            self._map[f"{method} {key(url)}".lstrip()] = answer

    def _pick(self, request: httpx.Request) -> dict[str, Any] | None:
        url = key(request.url)
        if self._list is None:
            return (self._map.get(f"HEAD {url}") if request.method == "HEAD" else None) or self._map.get(url)
        conditional = "if-none-match" in request.headers or "if-modified-since" in request.headers
        sent = {name.decode().lower(): value.decode("latin-1") for name, value in request.headers.raw}
        for answer in self._list:
            when = answer.get("when")
            fits = (
                all(sent.get(name) == value for name, value in when.items())
                if isinstance(when, dict)
                else when is None or (when == "conditional") == conditional
            )
            if fits and key(answer.get("url") or self.case.input["url"]) == url:
                return answer
        return None

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.fetched.append(str(request.url))
        self.requests.append(request)
        answer = self._pick(request)
        body: bytes | Iterator[bytes]
        if answer is None:
            generator = self.case.input.get("generator")
            made = generated(generator, key(request.url), len(self.fetched)) if generator else None
            status, headers, body = made or (404, {"content-type": "text/html"}, _NOT_FOUND)
        elif answer.get("error"):
            raise getattr(httpx, answer["error"])("from the case", request=request)
        else:
            status, headers = answer.get("status", 200), answer.get("headers") or {}
            body = self.case.read(answer["file"]) if answer.get("file") else b""
        stream = _Stream(b"" if request.method == "HEAD" else body, self)
        return httpx.Response(status, headers=_raw(headers), stream=stream, request=request)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._answer(request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self._answer(request)


class Resolver:
    """Every host is at one public address; nothing is asked of the network."""

    async def resolve(self, host: str, port: int) -> list[str]:
        return ["93.184.215.14"]


def web(transport: Transport, limits: CrawlLimits | None = None) -> Web:
    """The product's own fetch client over the web of a case."""
    from runtime.web.fetch import FetchClient

    return FetchClient(FetchPolicy(), limits or CrawlLimits(), resolver=Resolver(), transport=transport)
