"""A web site made of a dictionary, read through the product's own fetch client; only the wire is replaced."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

import httpx

from runtime.settings import CrawlLimits, FetchPolicy
from runtime.web.fetch import FetchClient

Reply = tuple[int, Mapping[str, str], bytes]
Replies = dict[str, Reply | Callable[[httpx.Request], Reply]]
HTML = {"content-type": "text/html; charset=utf-8"}
LIMITS = CrawlLimits(requests_per_second=0)


def page(title: str, *links: str, head: str = "", body: str = "") -> Reply:
    """An HTML page with enough text to be one."""
    anchors = "".join(f'<p><a href="{link}">{link}</a></p>' for link in links)
    text = f"<p>{title} explains what it does, when to use it and what to watch for when you run it in production.</p>"
    html = f"<!DOCTYPE html><html lang=en><head><title>{title}</title>{head}</head><body>{text}{body}{anchors}</body></html>"
    return 200, HTML, html.encode()


def redirect(location: str, status: int = 301) -> Reply:
    return status, {"location": location}, b""


def text(body: str, kind: str = "text/plain") -> Reply:
    return 200, {"content-type": kind}, body.encode()


def sitemap(entries: Mapping[str, str | None]) -> Reply:
    rows = "".join(
        f"<url><loc>{url}</loc>{f'<lastmod>{moved}</lastmod>' if moved else ''}</url>" for url, moved in entries.items()
    )
    body = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'
    return 200, {"content-type": "application/xml"}, body.encode()


class _Whole(httpx.AsyncByteStream):
    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


@dataclass
class Site(httpx.AsyncBaseTransport):
    """URL -> reply, or a function of the request; what is not there is 404. `log` is every URL asked for, in order."""

    replies: Replies = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = str(request.url)
        self.log.append(url)
        found = self.replies.get(url)
        reply = found(request) if callable(found) else found
        status, headers, body = reply or (404, HTML, b"<!DOCTYPE html><title>Not found</title><p>Nothing here</p>")
        return httpx.Response(status, headers=dict(headers), stream=_Whole(body), request=request)

    def client(self, limits: CrawlLimits = LIMITS) -> FetchClient:
        return FetchClient(FetchPolicy(), limits, resolver=_EveryName(), transport=self)


class _EveryName:
    async def resolve(self, host: str, port: int) -> list[str]:
        return ["93.184.215.14"]
