"""The crawler: bounds, reasons, and one result whatever the timing."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from functools import partial
from typing import Any

import httpx

from runtime.crawl.crawler import Crawler
from runtime.crawl.rules import Rules
from runtime.models import SiteOptions
from runtime.reading import CrawlResult, Left
from runtime.settings import CrawlLimits
from tests.stand_ins.site import HTML, LIMITS, Replies, Site, page, redirect, text

NOW = datetime(2026, 6, 1, tzinfo=UTC)
HOME = "https://docs.example.com/"


def crawl(site: Site, *, options: SiteOptions | None = None, limits: CrawlLimits = LIMITS, **more: Any) -> CrawlResult:
    async def run() -> CrawlResult:
        web, base = site.client(limits), HOME[:-1]
        crawler = Crawler(
            web=web,
            base_url=base,
            options=options or SiteOptions(),
            rules=Rules(web, base, limits),
            limits=limits,
            now=NOW,
            **more,
        )
        return await crawler.run()

    return asyncio.run(run())


def paths(result: CrawlResult) -> list[str]:
    return [page.url.removeprefix(HOME[:-1]) for page in result.pages]


def reason(result: CrawlResult, path: str) -> Left | None:
    return next((item.reason for item in result.left_out if item.url == HOME[:-1] + path), None)


def test_the_result_does_not_depend_on_timing() -> None:
    """Answers that arrive in any order give the same pages, the same reasons and the same choice under a limit."""

    class Jittery(Site):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            for _ in range(random.randrange(6)):
                await asyncio.sleep(0)
            return await super().handle_async_request(request)

    replies: Replies = {HOME: page("Home", *(f"/a{n}" for n in range(12)))}
    for n in range(12):
        replies[f"{HOME}a{n}"] = page(f"A{n}", *(f"/a{n}/b{m}" for m in range(4)), "/a0")
        for m in range(4):
            replies[f"{HOME}a{n}/b{m}"] = page(f"A{n} B{m}")

    results = [crawl(Jittery(dict(replies)), options=SiteOptions(max_pages=30)) for _ in range(8)]

    first = results[0]
    assert len(first.pages) == 30
    assert all((r.pages, r.left_out, r.home) == (first.pages, first.left_out, first.home) for r in results)


def test_the_result_does_not_depend_on_when_the_sitemaps_come() -> None:
    """Sitemaps that were read before the crawl, or come at any time during it, lead to the same pages."""
    replies: Replies = {HOME: page("Home", *(f"/a{n}" for n in range(40)))}
    for n in range(40):
        replies[f"{HOME}a{n}"] = page(f"A{n}", f"/a{n}/b", f"/a{n}/c")
        replies |= {f"{HOME}a{n}/{name}": page(f"A{n} {name}") for name in "bcd"}
    known: dict[str, str | None] = {f"{HOME}a{n}/d": "2026-05-01" for n in range(40)}

    async def after(turns: int) -> dict[str, str | None]:
        for _ in range(turns):
            await asyncio.sleep(0)
        return known

    def found(inventory: Any) -> tuple[Any, ...]:
        result = crawl(Site(dict(replies)), options=SiteOptions(max_pages=90), inventory=inventory)
        memory = {url: (seen.lastmod, seen.sha256) for url, seen in result.memory.items()}
        return result.pages, result.left_out, memory

    first = found(known)
    assert len(first[0]) == 90
    assert all(found(partial(after, turns)) == first for turns in (0, 3, 30, 300, 3000))


def test_every_url_that_is_not_listed_has_a_reason() -> None:
    """Robots, noindex, canonical, redirect, off site, wrong type, errors, refusals, walls and exclusion are told apart."""
    robots = "User-agent: *\nDisallow: /\n\nUser-agent: LlmsTxtBot\nDisallow: /private/\n"
    expected = {
        "/private/x": Left.ROBOTS,
        "/noindex": Left.NOINDEX,
        "/copy": Left.CANONICAL,
        "/old": Left.REDIRECT,
        "/data.json": Left.NOT_A_PAGE,
        "/gone": Left.GONE,
        "/missing": Left.NOT_FOUND,
        "/broken": Left.HTTP_ERROR,
        "/secret": Left.LOGIN,
        "/refused": Left.FORBIDDEN,
        "/often": Left.RATE_LIMITED,
        "/later": Left.UNAVAILABLE,
        "/wall": Left.BLOCKED,
        "/blog/1": Left.EXCLUDED,
        "/api": Left.NOT_A_PAGE,
        "/empty": Left.EMPTY,
    }
    site = Site(
        {
            f"{HOME}robots.txt": text(robots),
            HOME: page("Home", "/ok", *expected, "https://other.example.net/"),
            f"{HOME}ok": page("Ok"),
            f"{HOME}noindex": page("Hidden", head='<meta name="robots" content="noindex">'),
            f"{HOME}copy": page("Copy", head='<link rel="canonical" href="/ok">'),
            f"{HOME}old": redirect("/ok"),
            f"{HOME}api": (200, {"content-type": "application/json"}, b"{}"),
            f"{HOME}gone": (410, HTML, b"gone"),
            f"{HOME}broken": (500, HTML, b"oops"),
            f"{HOME}secret": (401, HTML, b"who"),
            f"{HOME}refused": (403, HTML, b"no"),
            f"{HOME}often": (429, HTML, b"slowly"),
            f"{HOME}later": (503, HTML, b"later"),
            f"{HOME}wall": (403, HTML | {"cf-mitigated": "challenge"}, b"<title>Just a moment...</title>"),
            f"{HOME}empty": (200, HTML, b""),
        }
    )

    result = crawl(site, options=SiteOptions(exclude=("blog/**",)))

    assert paths(result) == ["/", "/ok"]
    assert {path: reason(result, path) for path in expected} == expected
    assert any(item.reason is Left.OFF_SITE for item in result.left_out)
    assert not any("/private/" in url or "blog" in url or "other.example" in url for url in site.log)


def test_a_menu_on_every_page_costs_nothing() -> None:
    """De-duplication happens when a URL is queued; every page is asked for once (D-50)."""
    menu = [f"/p{n}" for n in range(20)]
    replies: Replies = {HOME: page("Home", *menu)}
    replies |= {f"{HOME}p{n}": page(f"P{n}", *menu, "/") for n in range(20)}
    site = Site(replies)

    result = crawl(site)

    assert len(result.pages) == 21
    assert len(site.log) == len(set(site.log))


def test_an_address_is_kept_as_one_text() -> None:
    """A link, the page it leads to, where that landed and what it calls itself: one text in memory, not four."""
    own = f'<link rel="canonical" href="{HOME}a">'
    memory = crawl(Site({HOME: page("Home", "/a"), f"{HOME}a": page("A", head=own)})).memory
    (link,) = memory[HOME].reading.links
    (key,) = (url for url in memory if url != HOME)
    known = memory[key]
    assert link == f"{HOME}a"
    assert link is key is known.final_url is known.reading.canonical


def test_the_entry_page_says_why_a_site_cannot_be_entered() -> None:
    """A site that answers 503 has no pages, is not complete and says what happened."""
    result = crawl(Site({HOME: (503, HTML, b"down")}))

    assert (result.pages, result.complete, result.home) == ((), False, None)
    assert "503" in result.problem


def test_old_versions_and_translations_are_left_out() -> None:
    """Of `/v1/a`, `/v2/a` and `/latest/a` the last is listed; of a page and its translation the x-default (U23, U51)."""
    alternates = (
        '<link rel="alternate" hreflang="en" href="/en/a"><link rel="alternate" hreflang="de" href="/de/a">'
        '<link rel="alternate" hreflang="x-default" href="/en/a">'
    )
    plain = ("v1/a", "v2/a", "latest/a", "releases/v1", "releases/v2")
    site = Site(
        {
            HOME: page("Home", *(f"/{path}" for path in plain), "/en/a", "/de/a"),
            **{f"{HOME}{path}": page(path) for path in plain},
            f"{HOME}en/a": page("A", head=alternates),
            f"{HOME}de/a": page("A auf Deutsch", head=alternates),
        }
    )

    result = crawl(site)

    assert paths(result) == ["/", "/en/a", "/latest/a", "/releases/v1", "/releases/v2"]
    assert reason(result, "/v1/a") is Left.OLD_VERSION
    assert reason(result, "/de/a") is Left.OTHER_LANGUAGE


def test_a_crawl_that_runs_out_of_its_budget_is_not_complete() -> None:
    """The byte budget of a site ends the crawl, and the result says so."""
    many: Replies = {f"{HOME}p{n}": page("P" * 2_000) for n in range(40)}
    many[HOME] = page("Home", *(f"/p{n}" for n in range(40)))
    site = Site(many)
    limits = CrawlLimits(requests_per_second=0, bytes_per_site=20_000, connections_per_host=1)

    result = crawl(site, limits=limits)

    assert not result.complete
    assert "byte budget" in result.problem
    assert any(item.reason is Left.LIMIT for item in result.left_out)


def test_a_redirect_may_not_lead_where_a_link_may_not() -> None:
    """robots.txt and the site's bounds are asked before every hop (RFC 9309 2.2.2, D-37)."""
    site = Site(
        {
            f"{HOME}robots.txt": text("User-agent: *\nDisallow: /private/"),
            HOME: page("Home", "/go", "/out"),
            f"{HOME}go": redirect("/private/page"),
            f"{HOME}out": redirect("https://other.example.net/x"),
            f"{HOME}private/page": page("Secret"),
            "https://other.example.net/x": page("Other"),
        }
    )

    result = crawl(site)

    assert paths(result) == ["/"]
    assert (reason(result, "/go"), reason(result, "/out")) == (Left.ROBOTS, Left.OFF_SITE)
    assert not any("/private/" in url or "other.example" in url for url in site.log)


def test_a_doubly_escaped_title_is_read_as_it_was_meant() -> None:
    """`&amp;amp;` in a title is a template's mistake; it is decoded once more where that is plain (F7)."""
    site = Site({HOME: page("Tom &amp;amp; Jerry &amp;#8211; Home")})

    assert [listed.title for listed in crawl(site).pages] == ["Tom & Jerry – Home"]
