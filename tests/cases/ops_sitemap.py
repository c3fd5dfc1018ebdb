"""Ops of sitemaps: parse, tree, discover, changed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from runtime import urls
from runtime.crawl.access import read_access
from runtime.errors import FetchFailed
from runtime.reading import Inventory
from runtime.settings import CrawlLimits
from runtime.sitemap.compare import compare, compare_with_check_time
from runtime.sitemap.discover import discover_sentinel
from runtime.sitemap.lastmod import LastmodTrust, newest, newest_of
from runtime.sitemap.parse import parse_sitemap
from runtime.sitemap.tree import InventoryReading, read_inventory
from runtime.verdicts import Unchanged, Verdict
from tests.cases.corpus import Answer, Case, Op
from tests.cases.serve import Transport, web
from tests.cases.spelling import instant

LIMITS = CrawlLimits()
TODAY = datetime(2026, 6, 1, 12, tzinfo=UTC)


def now_of(case: Case) -> datetime:
    return instant(case.input.get("now")) or TODAY


async def _get_and_parse(case: Case) -> Answer:
    try:
        response = await web(Transport(case)).get(case.input["url"], max_bytes=LIMITS.sitemap_bytes)
    except FetchFailed:
        return {"type": "invalid", "complete": False}
    content_type = response.header("content-type") or ""
    found = parse_sitemap(response.body, response.url, content_type, limits=LIMITS, complete=response.complete)
    date = newest_of((lastmod for _, lastmod in found.entries), now_of(case))
    return {
        "type": found.kind,
        "urls": [url for url, _ in found.entries],
        "sitemaps": [url for url, _ in found.children],
        "newest_lastmod": date and date.start,
        "granularity": date and str(date.granularity),
        "complete": found.complete,
    }


def parse(case: Case) -> Answer:
    return asyncio.run(_get_and_parse(case))


async def _read_tree(case: Case) -> Answer:
    transport = Transport(case)
    client, site = web(transport), case.input.get("site") or f"{urls.origin(case.input['start'])}/"
    named: tuple[str, ...] = ()
    if "site" in case.input:
        named = (await read_access(client, site, LIMITS)).robots.sitemaps
    reading = await read_inventory(
        client,
        site,
        robots_sitemaps=named,
        sentinel_url=case.input.get("start"),
        previous=None,
        limits=LIMITS,
        now=now_of(case),
    )
    return {
        "urls": list(reading.inventory.entries),
        "newest_lastmod": newest(reading.inventory, now_of(case)),
        "complete": reading.inventory.complete,
        "fetched": transport.fetched,
    }


def tree(case: Case) -> Answer:
    return asyncio.run(_read_tree(case))


async def _discover(case: Case) -> Answer:
    transport = Transport(case)
    client, site = web(transport), case.input["site"]
    named = (await read_access(client, site, LIMITS)).robots.sitemaps
    found = await discover_sentinel(client, site, robots_sitemaps=named, limits=LIMITS, now=now_of(case))
    return {"sitemap_url": found, "fetched": transport.fetched}


def discover(case: Case) -> Answer:
    return asyncio.run(_discover(case))


async def read(case: Case, transport: Transport, previous: Inventory | None, now: datetime) -> InventoryReading:
    """A reading of the one sitemap of a case."""
    url = case.input["url"]
    return await read_inventory(
        web(transport),
        f"{urls.origin(url)}/",
        robots_sitemaps=(),
        sentinel_url=url,
        previous=previous,
        limits=LIMITS,
        now=now,
    )


async def read_earlier(case: Case, at: datetime) -> Inventory | None:
    """What the last run stored, had it read the case's previous file at that time."""
    name = case.input.get("previous_file")
    if name is None:
        return None
    served = {"headers": {"content-type": "application/xml"}, "file": name}
    earlier = replace(case, input={"url": case.input["url"], "current": served})
    return (await read(earlier, Transport(earlier), None, at)).inventory


def is_changed(verdict: Verdict, reading: InventoryReading) -> Any:
    """What the pipeline does: anything but unchanged is crawled, unless the server asked for a pause."""
    if isinstance(verdict, Unchanged):
        return False
    return "unknown" if reading.not_before else True


async def _compare(case: Case) -> Answer:
    state, now = case.input["state"], now_of(case)
    checked = instant(state.get("last_checked_at"))
    previous = await read_earlier(case, checked or now)
    reading = await read(case, Transport(case), previous, now)
    if previous is not None:
        verdict = compare(previous, reading.inventory, LastmodTrust(), now)
    else:
        known = instant(state.get("newest_lastmod"))
        verdict = compare_with_check_time(
            reading.inventory, LastmodTrust(), now, last_checked_at=checked, newest_lastmod=known
        )
    return {"changed": is_changed(verdict, reading)}


def changed(case: Case) -> Answer:
    return asyncio.run(_compare(case))


OPS: dict[str, Op] = {"parse": parse, "tree": tree, "discover": discover, "changed": changed}
