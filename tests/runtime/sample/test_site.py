"""The sample site: everything that makes a site hard is on it, and every edit shows where a crawler looks."""

from __future__ import annotations

import gzip
import re
import time
from datetime import UTC, datetime

import pytest
from lxml import etree, html

from runtime.sample.content import sample_pages
from runtime.sample.site import SampleSite

BASE = "http://127.0.0.1:8000"
NS = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9"}


def sitemap(site: SampleSite, path: str) -> dict[str, str]:
    """The entries of one sitemap: path -> lastmod, empty when undated."""
    body = site.answers(BASE)[path].body
    root = etree.fromstring(gzip.decompress(body) if path.endswith(".gz") else body)
    return {
        entry.findtext("s:loc", "", namespaces=NS).removeprefix(BASE): entry.findtext("s:lastmod", "", namespaces=NS)
        for entry in root
    }


def everything(site: SampleSite) -> dict[str, str]:
    return {path: date for child in sitemap(site, "/sitemap.xml") for path, date in sitemap(site, child).items()}


def title(site: SampleSite, path: str) -> str:
    return html.fromstring(site.answers(BASE)[path].body).findtext(".//title") or ""


def test_there_are_enough_pages_with_something_to_say() -> None:
    """Forty or more pages of prose, each with a title of its own and a text of its own."""
    pages = [page for page in sample_pages() if not page.location and page.listed]

    assert len(pages) >= 40
    assert len({page.title for page in pages}) == len(pages)
    assert len({page.text for page in pages}) >= len(pages) - 1
    assert all(len(page.text.split()) >= 5 for page in pages)


def test_the_hard_cases_are_all_there() -> None:
    """A demo that leaves out what breaks crawlers would prove nothing."""
    site = SampleSite()
    answers = site.answers(BASE)
    titles = [page.title for page in site.pages.values()]

    assert any("\n" in each for each in titles)
    assert any("](" in each for each in titles)
    assert any("<" in each for each in titles)
    assert sum(not each.isascii() for each in titles) >= 4
    assert b'content="noindex"' in answers["/releases/checklist/"].body
    assert answers["/releases/roadmap-draft/"].headers["X-Robots-Tag"] == "noindex, nofollow"
    assert f'href="{BASE}/guide/workers/"'.encode() in answers["/guide/workers-print/"].body
    assert f'href="{BASE}/guide/workers/"'.encode() in answers["/guide/workers/"].body
    assert (answers["/start"].status, answers["/start"].headers["Location"]) == (301, "/guide/first-job/")
    assert answers["/account/invoices/"].status == 302
    assert b'type="password"' in answers["/account/login/"].body
    assert sum(path.startswith("/legal/") for path in answers) == 4
    assert b"Disallow: /admin/" in answers["/robots.txt"].body
    assert "/admin/queues/" in answers
    assert "/guide/moved-away/" not in answers
    assert b'href="/guide/moved-away/"' in answers["/"].body
    assert {b'href="/assets/tidewater.css"', b'src="/assets/app.js"'} <= set(
        re.findall(rb'(?:href|src)="/assets[^"]*"', answers["/"].body)
    )


def test_sitemaps_are_an_index_with_dated_and_undated_children() -> None:
    """One child is compressed, one has no dates; together they list every page that may be listed, and some more."""
    site = SampleSite()
    index = sitemap(site, "/sitemap.xml")
    dates = everything(site)

    assert list(index) == ["/sitemaps/docs.xml", "/sitemaps/blog.xml.gz", "/sitemaps/more.xml"]
    assert [bool(date) for date in index.values()] == [True, True, False]
    assert not any(sitemap(site, "/sitemaps/more.xml").values())
    assert {"", "2026-09-14", "2026-10-02T09:30:00+02:00", "2026-10-01T07:00:00Z"} <= set(dates.values())
    assert set(dates) == {page.path for page in sample_pages() if page.listed}


def test_twins_are_markdown_where_they_are_promised() -> None:
    """Some pages name their twin, some have one to be found, one has a trap at that place, the rest have none."""
    site = SampleSite()
    answers = site.answers(BASE)
    twins = {path: answer for path, answer in answers.items() if path.endswith(".md")}
    real = {path for path, answer in twins.items() if answer.headers["Content-Type"].startswith("text/markdown")}

    assert {"/guide/retries/index.md", "/guide/workers/index.md", "/api/job.html.md"} <= real
    assert set(twins) - real == {"/guide/scheduling/index.md"}
    assert b'rel="alternate" type="text/markdown" href="/guide/retries/index.md"' in answers["/guide/retries/"].body
    assert twins["/guide/retries/index.md"].body.startswith(b"# Retries [and] backoff"[:9])
    assert "\n" not in twins["/guide/retries/index.md"].body.decode().split("\n\n")[0]


def test_two_sites_are_the_same_bytes() -> None:
    """The site depends on nothing but its content and its address."""
    assert SampleSite().answers(BASE) == SampleSite().answers(BASE)


def test_building_takes_a_moment() -> None:
    """All answers are built in 20 ms at most, so that a server may rebuild them after every edit."""
    SampleSite().answers(BASE)
    best = min(_build_seconds() for _ in range(5))

    assert best < 0.020


def _build_seconds() -> float:
    started = time.perf_counter()
    SampleSite().answers(BASE)
    return time.perf_counter() - started


def test_a_new_title_shows_on_the_page_in_the_index_and_in_the_sitemap() -> None:
    """Retitling moves the page's date, the date of its sitemap, and nothing else's."""
    site, before = SampleSite(), SampleSite()
    site.retitle("/guide/retries/", "Retrying")

    assert title(site, "/guide/retries/") == "Retrying | Tidewater"
    assert b">Retrying</a>" in site.answers(BASE)["/guide/"].body
    old, new = everything(before), everything(site)
    assert {path for path in new if new[path] != old[path]} == {"/guide/retries/"}
    assert new["/guide/retries/"] > max(old.values())
    assert sitemap(site, "/sitemap.xml")["/sitemaps/docs.xml"] == new["/guide/retries/"]
    assert site.answers(BASE)["/sitemap.xml"].headers["ETag"] != before.answers(BASE)["/sitemap.xml"].headers["ETag"]


def test_a_rewritten_page_keeps_its_title() -> None:
    """A new text is another body under the same title, with a new date."""
    site = SampleSite()
    site.rewrite("/guide/retries/", "Nothing is tried again any more.", at=datetime(2026, 12, 1, tzinfo=UTC))

    assert b"Nothing is tried again" in site.answers(BASE)["/guide/retries/"].body
    assert title(site, "/guide/retries/") == title(SampleSite(), "/guide/retries/")
    assert everything(site)["/guide/retries/"] == "2026-12-01T00:00:00Z"


def test_an_added_page_can_be_found_in_both_ways() -> None:
    """A new page is in the sitemap and linked from its section."""
    site = SampleSite()
    site.add("/guide/batches/", "Batches", description="Many jobs as one.", text="A batch is a row of rows.")
    answers = site.answers(BASE)

    assert answers["/guide/batches/"].status == 200
    assert b'<a href="/guide/batches/">Batches</a>' in answers["/guide/"].body
    assert everything(site)["/guide/batches/"] == "2026-11-20T01:00:00Z"


@pytest.mark.parametrize("status", [410, 404])
def test_a_removed_page_is_gone_everywhere(status: int) -> None:
    """A removed page answers with its status and is neither in the sitemap nor in the index, until it is added again."""
    site = SampleSite()
    site.remove("/guide/results/", status=status)
    answers = site.answers(BASE)

    assert answers["/guide/results/"].status == status
    assert b'href="/guide/results/"' not in answers["/guide/"].body
    assert "/guide/results/" not in everything(site)
    site.add("/guide/results/", "Results", text="They are back, as small as they were.")
    assert site.answers(BASE)["/guide/results/"].status == 200


def test_edits_of_pages_that_are_not_there_are_errors() -> None:
    """A typo in a demo or a test must not pass as an edit."""
    site = SampleSite()
    with pytest.raises(KeyError):
        site.retitle("/nope/", "x")
    with pytest.raises(KeyError):
        site.rewrite("/nope/", "x")
    with pytest.raises(KeyError):
        site.remove("/nope/")

    assert site.revision == 0


def test_text_is_escaped() -> None:
    """Titles are text: markup in them is shown and not obeyed."""
    site = SampleSite()
    site.retitle("/guide/retries/", '</title><script>alert("x")</script>')
    page = html.fromstring(site.answers(BASE)["/guide/retries/"].body)

    assert page.findtext(".//title") == '</title><script>alert("x")</script> | Tidewater'
    assert [each.get("src") for each in page.iter("script")] == ["/assets/app.js"]
