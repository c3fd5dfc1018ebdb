# mypy: ignore-errors
"""Crawlee for Python with parsel: as its guide writes it, or tuned (`--tuned`) with a seen-set of its own."""

from __future__ import annotations

import asyncio
import logging
import sys
from datetime import timedelta
from urllib.parse import urldefrag, urljoin

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient
from report import Watch

ORIGIN, TUNED = sys.argv[1], "--tuned" in sys.argv
FOUND: list[tuple[str, str, str]] = []


async def main() -> None:
    crawler = ParselCrawler(
        concurrency_settings=ConcurrencySettings(min_concurrency=16, max_concurrency=16, desired_concurrency=16),
        storage_client=MemoryStorageClient(),
        respect_robots_txt_file=True,
        configure_logging=False,
        max_request_retries=0,
        request_handler_timeout=timedelta(minutes=5),
    )
    seen = {f"{ORIGIN}/"}

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        select = context.selector.css
        FOUND.append(
            (
                context.request.loaded_url or context.request.url,
                select("title::text").get() or "",
                select('meta[name="description"]::attr(content)').get("") or "",
            )
        )
        if not TUNED:
            await context.enqueue_links()
            return
        fresh = []
        for href in set(context.selector.xpath("//a/@href").getall()):
            url = urldefrag(urljoin(context.request.url, href))[0]
            if url.startswith(ORIGIN) and url not in seen:
                seen.add(url)
                fresh.append(url)
        if fresh:
            await context.add_requests(fresh)

    await crawler.run([f"{ORIGIN}/"])


logging.disable(logging.CRITICAL)
watch = Watch()
asyncio.run(main())
watch.report(FOUND)
