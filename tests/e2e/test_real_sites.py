"""Three real documentation sites, through the product's own command line: what is published is right, and stays so.

The sites are what the Debian packages python3.11-doc, postgresql-doc-15 and sqlite3-doc install; without one of them its
tests are skipped and say so.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import pytest
from llms_txt.core import parse_llms_file  # type: ignore[import-untyped]
from llms_txt.miniparse import parse_llms_txt  # type: ignore[import-untyped]
from lxml import html

from tests.e2e.doc_sites import PACKAGES, DocPackage, DocSite, Ran, command_line, serving

pytestmark = pytest.mark.e2e

MAX_PAGES = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """A link of a published file."""

    section: str
    title: str
    url: str
    description: str


@dataclass(frozen=True, slots=True)
class Crawled:
    """A site as its package ships it, without a sitemap, and what a one-off crawl of it wrote."""

    package: DocPackage
    site: DocSite
    ran: Ran
    output: Path

    def files(self) -> dict[str, str]:
        """The file, and the section files when the document is too long for one: path -> text."""
        paths = [self.output, *sorted(self.output.parent.glob("sections/*/llms.txt"))]
        return {str(path.relative_to(self.output.parent)): path.read_bytes().decode() for path in paths}


@pytest.fixture(scope="module", params=PACKAGES, ids=lambda package: package.name)
def package(request: pytest.FixtureRequest) -> DocPackage:
    found: DocPackage = request.param
    if not found.installed:
        pytest.skip(found.why_missing)
    return found


@pytest.fixture(scope="module")
def crawled(package: DocPackage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("crawl")
    with serving(package.root) as site:
        yield Crawled(package, site, crawl(site, folder, hash_seed=1), folder / "llms.txt")


@dataclass(slots=True)
class Enrolled:
    """A copy of a site with a sitemap, enrolled; the copy may be edited."""

    site: DocSite
    home: Path
    view: Mapping[str, Any]

    def due_now(self) -> None:
        """Make the site due, as an operator would."""
        for command in ("pause", "resume"):
            assert command_line(self.home, command, self.site.url).code == 0

    def published(self) -> list[Entry]:
        entries: list[Entry] = []
        for path in sorted((self.home / "published").rglob("llms.txt")):
            entries += entries_of(path.read_bytes().decode())
        return [entry for entry in entries if entry.url.startswith(self.site.url)]


@pytest.fixture(scope="module")
def enrolled(package: DocPackage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Enrolled]:
    folder = tmp_path_factory.mktemp("enrolled")
    copy = shutil.copytree(package.root, folder / "site", ignore_dangling_symlinks=True)
    with serving(copy, sitemap=True) as site:
        home = folder / "home"
        yield Enrolled(site, home, command_line(home, "enroll", site.url, "--max-pages", str(MAX_PAGES)).value)


def crawl(site: DocSite, folder: Path, *, hash_seed: int) -> Ran:
    ran = command_line(
        folder / "home", "crawl", site.url, "--max-pages", str(MAX_PAGES), "-o", str(folder / "llms.txt"),
        hash_seed=hash_seed,
    )  # fmt: skip
    assert ran.code == 0, ran.stderr
    return ran


def entries_of(text: str) -> list[Entry]:
    """What the first reference parser reads."""
    sections = parse_llms_file(text)["sections"]
    return [
        Entry(name, link["title"], link["url"], link["desc"] or "")
        for name, links in sections.items()
        for link in links
    ]


def pages_of(crawled: Crawled) -> list[Entry]:
    """The entries that are pages of the site, whichever file they are in; links to section files are left out."""
    entries = [entry for text in crawled.files().values() for entry in entries_of(text)]
    return [entry for entry in entries if entry.url.startswith(crawled.site.url)]


def source_titles(root: Path, url: str) -> tuple[str, str]:
    """What the page itself offers as a title: its <title> and its first <h1>, white space collapsed."""
    path = unquote(urlsplit(url).path).lstrip("/")
    tree = html.parse(str(root / (path if path and not path.endswith("/") else f"{path}index.html")))
    h1 = next((" ".join(str(each.text_content()).split()) for each in tree.iter("h1")), "")
    return " ".join((tree.findtext(".//title") or "").split()), h1


def test_both_reference_parsers_read_the_same(crawled: Crawled) -> None:
    """Every file we write is accepted by both parsers of the `llms-txt` package, which agree on all of it."""
    for text in crawled.files().values():
        core, mini = parse_llms_file(text), parse_llms_txt(text)
        assert core["title"] == mini["title"]
        assert core["title"].strip()
        assert core["summary"] == mini["summary"]
        assert core["summary"].strip()
        sections = {name: [dict(link) for link in links] for name, links in core["sections"].items()}
        assert sections == mini["sections"]
        assert all(sections.values())
        assert len(text) < 50_000


def test_the_file_is_full(crawled: Crawled) -> None:
    """As many pages as were asked for are listed, each once, when the site has them; the JSON says the same number."""
    entries = pages_of(crawled)
    html_files = sum(1 for _ in crawled.package.root.rglob("*.html"))

    assert len(entries) == crawled.ran.value["counts"]["pages"]
    assert len({entry.url for entry in entries}) == len(entries)
    assert len(entries) >= min(MAX_PAGES, html_files) * 0.6


def test_every_listed_url_answers(crawled: Crawled) -> None:
    """Each listed page is there, at once and without a redirect; each section file that is linked was written."""
    links = [entry.url for text in crawled.files().values() for entry in entries_of(text)]
    pages = [url for url in links if url.startswith(crawled.site.url)]
    with httpx.Client(trust_env=False) as client, ThreadPoolExecutor(8) as threads:
        statuses = dict(zip(pages, threads.map(lambda url: client.get(url).status_code, pages), strict=True))

    assert {url: status for url, status in statuses.items() if status != 200} == {}
    section_files = [re.search(r"sections/[^/]+/llms\.txt$", url) for url in links if url not in statuses]
    assert all(found and found.group() in crawled.files() for found in section_files)


def test_titles_tell_pages_apart(crawled: Crawled) -> None:
    """No title is empty, and two entries of a section share one only when their pages share <title> and <h1> too."""
    entries = pages_of(crawled)
    shared = [key for key, count in Counter((entry.section, entry.title) for entry in entries).items() if count > 1]
    avoidable = {}
    for key in shared:
        urls = [entry.url for entry in entries if (entry.section, entry.title) == key]
        titles = {url: source_titles(crawled.package.root, url) for url in urls}
        if len(set(titles.values())) > 1:
            avoidable[key] = titles

    assert [entry for entry in entries if not entry.title.strip()] == []
    assert avoidable == {}


def test_another_process_writes_the_same_bytes(crawled: Crawled, tmp_path: Path) -> None:
    """A second crawl, in its own process and with another hash seed, gives the very same files."""
    ran = crawl(crawled.site, tmp_path, hash_seed=2)
    again = Crawled(crawled.package, crawled.site, ran, tmp_path / "llms.txt")

    assert again.files() == crawled.files()


def test_a_tick_without_changes_crawls_nothing(enrolled: Enrolled) -> None:
    """A due site whose sitemap did not change costs a few conditional requests and not one page."""
    before = enrolled.published()
    enrolled.due_now()
    enrolled.site.requests.clear()
    summary = command_line(enrolled.home, "tick").value
    asked = list(enrolled.site.requests)

    assert {name: count for name, count in summary.items() if count} == {"total": 1, "unchanged": 1}
    assert {path for path, _ in asked} <= {"/robots.txt", "/sitemap.xml"}
    assert ("/sitemap.xml", 304) in asked
    assert enrolled.published() == before
    assert len(before) > 100


def test_editing_one_page_changes_one_entry(enrolled: Enrolled) -> None:
    """A page gets another title: the next tick publishes that, and every other entry is as it was."""
    before = enrolled.published()
    edited = before[len(before) // 2]
    edit(enrolled.site.root / unquote(urlsplit(edited.url).path).lstrip("/"))
    enrolled.due_now()
    summary = command_line(enrolled.home, "tick").value
    after = enrolled.published()
    removed, added = set(before) - set(after), set(after) - set(before)

    assert {name: count for name, count in summary.items() if count} == {"total": 1, "processed": 1, "updated": 1}
    assert {entry.url for entry in removed} == {entry.url for entry in added} == {edited.url}
    assert [entry.title.startswith("Revised") for entry in added] == [True]
    assert len(after) == len(before)


def edit(file: Path) -> None:
    """Put a word before the title and the first heading of a page, a day after its last change."""
    file = file / "index.html" if file.is_dir() else file
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    text = re.sub(r"(<title[^>]*>)", r"\1Revised ", text, count=1, flags=re.IGNORECASE)
    text = re.sub(r"(<h1[^>]*>)", r"\1Revised ", text, count=1, flags=re.IGNORECASE)
    modified = file.stat().st_mtime + 86_400
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    os.utime(file, (modified, modified))
