"""Ops of robots.txt: match, crawl_delay, fetch, robots_url, robots_sitemaps."""

from __future__ import annotations

import asyncio
import json

from runtime.crawl.access import read_access, robots_url
from runtime.crawl.robots import Robots
from runtime.settings import CrawlLimits
from tests.cases.corpus import Answer, Case, Op
from tests.cases.serve import Transport, web


def match(case: Case) -> Answer:
    robots = Robots.parse(case.read(case.input["file"]), case.input["robots_url"])
    wanted = [(row["agent"], row["url"]) for row in case.expect.get("checks", ())]
    checks = {(agent, url): robots.allowed(url, agent) for agent, url in wanted}
    return {"checks": checks, "sitemaps": list(robots.sitemaps)}


def crawl_delay(case: Case) -> Answer:
    robots = Robots.parse(case.read(case.input["file"]), case.input["robots_url"])
    agents = [row["agent"] for row in case.expect["delays"]]
    return {"delays": [{"agent": agent, "seconds": robots.crawl_delay(agent)} for agent in agents]}


def fetch(case: Case) -> Answer:
    transport = Transport(case)
    access = asyncio.run(read_access(web(transport), case.input["url"], CrawlLimits()))
    allowed = access.robots.allowed(case.input["url"], case.input["agent"])
    return {"allowed": allowed, "requests": len(transport.requests), "fetched": transport.fetched}


def robots_urls(case: Case) -> Answer:
    return {"robots_urls": [robots_url(url) for url in json.loads(case.read(case.input["file"]))]}


def robots_sitemaps(case: Case) -> Answer:
    return {"sitemaps": list(Robots.parse(case.read(case.input["file"]), case.input["url"]).sitemaps)}


OPS: dict[str, Op] = {
    "match": match,
    "crawl_delay": crawl_delay,
    "fetch": fetch,
    "robots_url": robots_urls,
    "robots_sitemaps": robots_sitemaps,
}
