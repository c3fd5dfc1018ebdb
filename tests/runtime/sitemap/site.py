"""A web site in memory, asked through the product's own fetch client: what the tests of the tree change and count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx

from runtime.reading import Inventory
from runtime.settings import CrawlLimits, FetchPolicy
from runtime.sitemap.lastmod import LastmodTrust
from runtime.sitemap.tree import InventoryReading, read_inventory
from runtime.web.fetch import FetchClient
from tests.cases.serve import Resolver

SITE = "https://example.com"
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
LIMITS = CrawlLimits(requests_per_second=10_000.0)

Entries = Mapping[str, str | None] | Iterable[str]


def urlset(entries: Entries) -> bytes:
    """A sitemap of paths on the site, with the lastmods given."""
    pairs = entries.items() if isinstance(entries, Mapping) else [(path, None) for path in entries]
    rows = (
        f"<url><loc>{SITE}{path}</loc>{f'<lastmod>{lastmod}</lastmod>' if lastmod else ''}</url>"
        for path, lastmod in pairs
    )
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{"".join(rows)}</urlset>'.encode()


def index(children: Entries) -> bytes:
    """A sitemap index of paths, or of absolute URLs."""
    pairs = children.items() if isinstance(children, Mapping) else [(path, None) for path in children]
    rows = (
        f"<sitemap><loc>{path if '://' in path else SITE + path}</loc>"
        f"{f'<lastmod>{lastmod}</lastmod>' if lastmod else ''}</sitemap>"
        for path, lastmod in pairs
    )
    return f"<sitemapindex>{''.join(rows)}</sitemapindex>".encode()


@dataclass
class Answer:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    etag: str | None = None
    """When it is set, a request with this If-None-Match is answered 304."""


class Site(httpx.AsyncBaseTransport):
    """Answers by URL (a path stands for one on `SITE`); what is not there is 404. `asked` lists the paths in order."""

    def __init__(self, answers: Mapping[str, Answer | bytes] | None = None) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[httpx.Request] = []
        for path, answer in (answers or {}).items():
            self[path] = answer

    def __setitem__(self, path: str, answer: Answer | bytes) -> None:
        url = path if "://" in path else SITE + path
        self.answers[url] = Answer(answer) if isinstance(answer, bytes) else answer

    def __delitem__(self, path: str) -> None:
        del self.answers[SITE + path]

    @property
    def asked(self) -> list[str]:
        return [str(request.url).removeprefix(SITE) for request in self.requests]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.get(str(request.url), Answer(b"<h1>Not found</h1>", 404))
        if answer.etag is not None and request.headers.get("if-none-match") == answer.etag:
            return httpx.Response(304, headers={"etag": answer.etag}, stream=httpx.ByteStream(b""))
        headers = dict(answer.headers) | ({"etag": answer.etag} if answer.etag else {})
        return httpx.Response(answer.status, headers=headers, stream=httpx.ByteStream(answer.body))

    def client(self, limits: CrawlLimits = LIMITS) -> FetchClient:
        return FetchClient(FetchPolicy(), limits, resolver=Resolver(), transport=self)

    async def read(
        self,
        previous: Inventory | None = None,
        *,
        robots: Iterable[str] = (),
        sentinel: str | None = None,
        now: datetime = NOW,
        base: str = SITE,
        limits: CrawlLimits = LIMITS,
        trust: LastmodTrust | None = None,
    ) -> InventoryReading:
        """One reading; `robots` are the paths or URLs that robots.txt names."""
        self.requests.clear()
        return await read_inventory(
            self.client(limits),
            base,
            robots_sitemaps=tuple(path if "://" in path else SITE + path for path in robots),
            sentinel_url=sentinel,
            previous=previous,
            limits=limits,
            now=now,
            trust=trust,
        )


def paths(inventory: Inventory) -> set[str]:
    return {url.removeprefix(SITE) for url in inventory.entries}
