# mypy: ignore-errors
"""Scrapy: as its tutorial writes a spider, or tuned (`--tuned`): a seen-set of its own, no middleware it can spare."""

from __future__ import annotations

import sys
from urllib.parse import urldefrag, urljoin

from report import Watch
from scrapy import Spider
from scrapy.crawler import CrawlerProcess

ORIGIN, TUNED = sys.argv[1], "--tuned" in sys.argv
FOUND: list[tuple[str, str, str]] = []


class Docs(Spider):
    name = "docs"
    start_urls = (f"{ORIGIN}/",)
    allowed_domains = ("127.0.0.1",)

    def parse(self, response):
        FOUND.append(
            (
                response.url,
                response.css("title::text").get(),
                response.css('meta[name="description"]::attr(content)').get(""),
            )
        )
        for link in response.css("a::attr(href)").getall():
            if not link.startswith("mailto:"):
                yield response.follow(link, self.parse)


class Tuned(Docs):
    seen: set[str] = {f"{ORIGIN}/"}  # noqa: RUF012 - one spider a process

    def parse(self, response):
        FOUND.append(
            (
                response.url,
                response.xpath("string(//title)").get(),
                response.xpath("string(//meta[@name='description']/@content)").get(),
            )
        )
        for href in set(response.xpath("//a/@href").getall()):
            url = urldefrag(urljoin(response.url, href))[0]
            if url.startswith(ORIGIN) and url not in self.seen:
                self.seen.add(url)
                yield response.follow(url, self.parse, dont_filter=True)


settings = {
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True,
    "LOG_ENABLED": False,
}
if TUNED:
    settings |= {
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "REDIRECT_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "AJAXCRAWL_ENABLED": False,
        "REFERER_ENABLED": False,
        "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    }
watch = Watch()
process = CrawlerProcess(settings)
process.crawl(Tuned if TUNED else Docs)
process.start()
watch.report(FOUND)
