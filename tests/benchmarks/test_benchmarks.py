"""The benchmarks measure the right thing: the same site every time, answers that are checked, promises that are counted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from benchmarks.site import DocSite, fingerprint
from benchmarks.table import Line, Table
from runtime.crawl.crawler import Crawler
from runtime.crawl.rules import Rules
from runtime.models import SiteOptions
from tests.stand_ins.site import HTML, LIMITS, Site

ORIGIN = "https://docs.example.com"


def replies(site: DocSite) -> Site:
    return Site({f"{ORIGIN}{path}": (200, HTML, site.page(number)) for path, number in site.paths.items()})


async def test_a_crawl_finds_the_answers_that_every_crawler_has_to_find() -> None:
    """The fingerprint covers every page's path, title and description."""
    site = DocSite(ORIGIN, pages=60)
    web = replies(site).client()
    crawl = await Crawler(
        web=web,
        base_url=ORIGIN,
        options=SiteOptions(max_pages=100),
        rules=Rules(web, ORIGIN, LIMITS),
        limits=LIMITS,
        now=datetime(2026, 12, 2, tzinfo=UTC),
    ).run()
    found = [(page.url.removeprefix(ORIGIN), page.title, page.description) for page in crawl.pages]
    assert len(found) == 60
    assert fingerprint(found) == site.answers()
    assert fingerprint(found[1:]) != site.answers()


def test_the_site_is_the_same_for_the_same_arguments_and_an_edit_shows() -> None:
    """Runs can be compared because nothing about the site depends on the moment."""
    one, two = DocSite(ORIGIN, pages=60), DocSite(ORIGIN, pages=60)
    assert [one.page(n) for n in range(60)] == [two.page(n) for n in range(60)]
    assert one.sitemaps() == two.sitemaps()
    two.edits[7] = 1
    assert one.page(7) != two.page(7)
    assert one.lastmod(7) < two.lastmod(7)
    assert one.page(8).partition(b"<main>")[0] == two.page(8).partition(b"<main>")[0]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (Line("x", "at least", 10, 10.0), True),
        (Line("x", "at least", 10, 9.99), False),
        (Line("x", "at most", 3, 3.0), True),
        (Line("x", "at most", 3, 3.01), False),
        (Line("x", "at most", 3, None), None),
    ],
)
def test_a_promise_is_kept_only_by_a_figure(line: Line, kept: bool | None) -> None:
    """What was not measured is neither kept nor missed."""
    assert line.kept is kept


def test_the_table_shows_target_and_measured_side_by_side() -> None:
    table = Table()
    table.at_most("memory", 96, 49.7, "MB")
    table.at_least("rate", 0.4, None, "×")
    assert "| memory | ≤ 96 MB | 49.7 MB | yes |  |" in table.markdown()
    assert "| rate | ≥ 0.4 × |  | not measured |  |" in table.markdown()
