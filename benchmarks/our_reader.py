"""Our readers in a process of their own: `sitemap FILE...`, `same FILE`, `pages FOLDER`. Prints one JSON object."""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from runtime.settings import CrawlLimits

LIMITS = CrawlLimits()
BASE = "http://127.0.0.1:8000/section-01/page-0001/"


def sitemap(files: list[str]) -> dict[str, object]:
    """Every file read as a changed sitemap document, one after another."""
    from runtime.sitemap.parse import parse_sitemap

    used, urls, newest = 0.0, 0, ""
    for name in files:
        began = time.process_time()
        document = parse_sitemap(Path(name).read_bytes(), "https://example.com/sitemap.xml", limits=LIMITS)
        used += time.process_time() - began
        assert document.complete
        urls += len(document.entries)
        newest = max(newest, *((lastmod or "")[:19] for _, lastmod in document.entries))
        del document
    return {"urls": urls, "newest": newest, "cpu": used}


def same(files: list[str]) -> dict[str, object]:
    """A document that came unchanged and without validators: what is done, beside inflating and hashing alone."""
    import asyncio
    from datetime import UTC, datetime

    from runtime.reading import Response
    from runtime.sitemap.body import Body
    from runtime.sitemap.fetch import Outcome, read_document

    packed = gzip.compress(Path(files[0]).read_bytes(), 6)

    class Again:
        async def get(self, url: str, *, sink: Body, **_: object) -> Response:
            sink.take(gzip.decompress(packed))
            return Response(url, 200, (("content-type", "application/xml"),), hops=(url,))

        async def set_pace(self, host: str, delay_seconds: float) -> None:
            raise AssertionError(host, delay_seconds)

    async def look() -> tuple[float, float]:
        now = datetime(2026, 12, 2, tzinfo=UTC)
        url = "https://example.com/sitemap.xml"
        first: Outcome = await read_document(Again(), url, None, limits=LIMITS, now=now)  # type: ignore[arg-type]
        times = []
        for _ in range(7):
            began = time.process_time()
            again = await read_document(Again(), url, first.state, limits=LIMITS, now=now)  # type: ignore[arg-type]
            times.append(time.process_time() - began)
            assert again.document is None
            assert again.state is not None
        return min(times), floor()

    def floor() -> float:
        return least(lambda: hashlib.sha256(gzip.decompress(packed)).hexdigest())

    ours, alone = asyncio.run(look())
    return {"cpu": ours, "floor": alone}


def pages(folder: list[str]) -> dict[str, object]:
    from runtime.crawl.page import read_page

    bodies = [path.read_bytes() for path in sorted(Path(folder[0]).glob("*.html"))]
    headers = (("content-type", "text/html; charset=utf-8"),)
    hrefs: dict[str, str | None] = {}

    def read() -> None:
        for body in bodies:
            read_page(body, BASE, headers, href_cache=hrefs)

    best = least(read)
    found = [read_page(body, BASE, headers) for body in bodies[:2]]
    links = [sorted(page.links) for page in found]
    return {"ms": best / len(bodies) * 1000, "titles": [page.title for page in found], "links": links}


def least(work: Callable[[], object], times: int = 7) -> float:
    """CPU seconds of the quickest of several times."""
    found = []
    for _ in range(times):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


if __name__ == "__main__":
    modes = {"sitemap": sitemap, "same": same, "pages": pages}
    print(json.dumps(modes[sys.argv[1]](sys.argv[2:])))
