"""Whole crawls of the corpus, answered by `runtime.crawl.crawler`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from runtime import urls
from runtime.crawl.crawler import Crawler
from runtime.crawl.rules import Rules
from runtime.models import SiteOptions
from runtime.settings import CrawlLimits
from tests.cases.corpus import Answer, Case, Op
from tests.cases.serve import Transport
from tests.cases.serve import web as web_of

LIMITS = CrawlLimits(requests_per_second=0)


def crawl(case: Case) -> Answer:
    transport = Transport(case)

    async def run() -> Answer:
        web = web_of(transport, LIMITS)
        site = urls.canonical_base_url(case.input["start"])
        crawler = Crawler(
            web=web,
            base_url=site,
            options=SiteOptions(max_pages=case.input["max_pages"]),
            rules=Rules(web, site, LIMITS),
            limits=LIMITS,
            now=datetime(2026, 6, 1, tzinfo=UTC),
        )
        result = await crawler.run()
        fetched = [url for url in transport.fetched if not url.endswith("/robots.txt")]
        return {
            "pages": [page.url for page in result.pages],
            "titles": {page.url: page.title for page in result.pages},
            "fetched": fetched,
            "fetches": len(fetched),
            "count": len(result.pages),
            "bytes_read": transport.bytes_read,
        }

    return asyncio.run(run())


OPS: dict[str, Op] = {"crawl": crawl}
