"""Markdown twins: what is probed, and how little of a site that has none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from runtime.crawl.rules import Rules
from runtime.crawl.twins import SAMPLE, with_twins
from runtime.reading import Page
from tests.stand_ins.site import LIMITS, Replies, Site, text

BASE = "https://docs.example.com"
MARKDOWN = text("# A guide\n\nIn Markdown.\n", "text/markdown")


def probed(
    site: Site,
    pages: list[Page],
    *,
    previous: Mapping[str, str] | None = None,
    settled: frozenset[str] = frozenset(),
) -> tuple[dict[str, str | None], int]:
    """The twin of each page by path, and the number of probes; requests for robots.txt do not count."""

    async def run() -> tuple[list[Page], int]:
        web = site.client()
        return await with_twins(web, pages, Rules(web, BASE, LIMITS), previous=previous or {}, settled=settled)

    found, sent = asyncio.run(run())
    assert [page.url for page in found] == [page.url for page in pages]
    return {page.url.removeprefix(BASE): page.twin and page.twin.removeprefix(BASE) for page in found}, sent


def pages(count: int) -> list[Page]:
    return [Page(url=f"{BASE}/guide-{n:03}", title=f"Guide {n}") for n in range(count)]


def test_a_site_without_twins_is_asked_for_a_sample_only() -> None:
    """Of 200 pages 16 are probed, spread over the site, once each."""
    site = Site({})
    found, sent = probed(site, pages(200))
    asked = [url for url in site.log if url.endswith(".md")]
    assert set(found.values()) == {None}
    assert sent == len(asked) == SAMPLE
    assert asked[0].endswith("guide-000.md")
    assert asked[-1].endswith("guide-180.md")


def test_where_the_sample_has_twins_every_page_is_asked_in_that_form() -> None:
    """Twins that are there are found on every page, those that are missing or no Markdown are not listed."""
    replies: Replies = {f"{BASE}/guide-{n:03}.md": MARKDOWN for n in range(60) if n % 5}
    replies[f"{BASE}/guide-001.md"] = text("<!doctype html><title>Log in</title>", "text/plain")
    found, sent = probed(Site(replies), pages(60))
    assert sent == 60
    assert {path for path, twin in found.items() if twin} == {f"/guide-{n:03}" for n in range(60) if n % 5 and n != 1}
    assert found["/guide-002"] == "/guide-002.md"


def test_a_twin_that_a_page_names_is_asked_for_first_and_is_no_form_for_others() -> None:
    """`rel=alternate` counts for its page; a name of its own says nothing about the pages that name none."""
    named = Page(url=f"{BASE}/api", title="API", alternates=(f"{BASE}/raw/api-reference.md",))
    site = Site({f"{BASE}/raw/api-reference.md": MARKDOWN})
    found, sent = probed(site, [named, *pages(40)])
    assert found["/api"] == "/raw/api-reference.md"
    assert sent == 1 + SAMPLE
    assert sum(twin is not None for twin in found.values()) == 1


def test_what_did_not_change_is_not_probed_again() -> None:
    """A page that was recalled keeps its twin, or none, without a request."""
    every = pages(40)
    previous = {page.url: f"{page.url}.md" for page in every[:10]}
    site = Site({})
    found, sent = probed(site, every, previous=previous, settled=frozenset(page.url for page in every))
    assert sent == 0
    assert not site.log
    assert sum(twin is not None for twin in found.values()) == 10


def test_a_probe_without_an_answer_leaves_the_twin_as_it_was() -> None:
    """A server in trouble changes nothing in the file."""
    every = pages(3)
    site = Site({f"{page.url}.md": (503, {}, b"") for page in every})
    found, _ = probed(site, every, previous={every[1].url: f"{every[1].url}.md"})
    assert found == {"/guide-000": None, "/guide-001": "/guide-001.md", "/guide-002": None}
