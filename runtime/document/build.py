"""From pages to a document: a pure function of the set of pages, whatever their order and the process's hash seed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runtime.document.descriptions import described, repeated, says_something, shortened
from runtime.document.escape import escape_url, without_brackets
from runtime.document.headings import names_of, slugs_of
from runtime.document.masthead import DETAILS, site_summary, site_title
from runtime.document.model import OPTIONAL, Document, Link, Section
from runtime.document.paths import below, directories, natural
from runtime.document.secondary import is_secondary
from runtime.document.sections import looked_through, order_of, sections_of
from runtime.document.text import folded, heading
from runtime.document.titles import Affixes, page_title, told_apart
from runtime.models import MIN_DESC, SiteOptions
from runtime.reading import Page

__all__ = ["Document", "Link", "Section", "build"]

MAX_DESCRIPTION_BYTES = 3_000_000
"""All descriptions together. Beyond it every one is cut shorter, so that a file of 10,000 pages stays usable."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A page on its way into the document; `path` is what sections are made from."""

    page: Page
    path: tuple[str, ...]
    title: str
    description: str


def build(pages: Sequence[Page], base_url: str, options: SiteOptions, *, home: str | None) -> Document:
    """The document of a site.

    :param pages: what is listed, each URL once; of two pages with one URL the alphabetically first counts.
    :param base_url: the site as enrolled; sections come from the paths below it.
    :param home: the URL of the entry page among `pages`, which gives the title and the summary; None if it was not
        read, and then no other page takes its place.
    """
    listed = _each_once(pages)
    front = next((page for page in listed if page.url == home), None)
    affixes = Affixes(heading(page.title) for page in listed if page is not front)
    title = site_title(front, listed, affixes, base_url)
    summary = site_summary(front, title, base_url, options.desc_length)
    entries = _entries(listed, front, affixes, base_url)
    links = _links(entries, options.desc_length)
    return Document(title=title, summary=summary, details=DETAILS, sections=tuple(_sections(entries, links)))


def _each_once(pages: Iterable[Page]) -> list[Page]:
    """One page a URL, in an order that depends on the pages alone: paths in natural order, directories first."""
    unique: dict[str, Page] = {}
    for page in sorted(pages, key=_alphabetical):
        if re.match(r"https?://[^/?#]", page.url):
            unique.setdefault(escape_url(page.url), page)
    return sorted(unique.values(), key=lambda page: ([natural(part) for part in directories(page.url)], page.url))


def _alphabetical(page: Page) -> tuple[object, ...]:
    return page.url, page.title, page.description, page.twin or "", page.alternates, page.site_name, page.language


def _entries(pages: Sequence[Page], front: Page | None, affixes: Affixes, base_url: str) -> list[_Entry]:
    base = directories(base_url)
    texts = {page.url: described(page.description) for page in pages}
    default = repeated(texts.values())
    summary = texts[front.url] if front else ""
    entries = []
    paths = looked_through([below(base, directories(page.url)) for page in pages])
    for page, path in zip(pages, paths, strict=True):
        title = without_brackets(page_title(page.title, page.url, affixes))
        text = texts[page.url]
        others = (heading(page.title), summary) if page is not front else (heading(page.title),)
        if text and (not says_something(text, title, *others) or (folded(text) in default and page is not front)):
            text = ""
        entries.append(_Entry(page, path, title, text))
    return entries


def _links(entries: Sequence[_Entry], desc_length: int) -> dict[str, Link]:
    """The link of each page by page URL: to its Markdown twin where it has one of its own, else to the page."""
    limit = max(desc_length, 0)
    while limit > MIN_DESC and _size(entry.description[:limit] for entry in entries) > MAX_DESCRIPTION_BYTES:
        limit = max(MIN_DESC, limit // 2)
    claims = Counter(escape_url(entry.page.twin) for entry in entries if entry.page.twin)
    own = {escape_url(entry.page.url) for entry in entries}
    links = {}
    for entry in entries:
        target = escape_url(entry.page.url)
        twin = escape_url(entry.page.twin) if entry.page.twin else target
        if claims[twin] == 1 and twin not in own:
            target = twin
        links[entry.page.url] = Link(entry.title, target, shortened(entry.description, limit))
    return links


def _size(texts: Iterable[str]) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in texts)


def _sections(entries: Sequence[_Entry], links: Mapping[str, Link]) -> list[Section]:
    """The sections in reading order, `Optional` last and never alone."""
    primary: list[_Entry] = []
    secondary: list[_Entry] = []
    for entry in entries:
        (secondary if is_secondary(entry.path) else primary).append(entry)
    if not primary:
        primary, secondary = secondary, []
    grouped: dict[str, list[_Entry]] = defaultdict(list)
    for key, entry in zip(sections_of([entry.path for entry in primary]), primary, strict=True):
        grouped[key].append(entry)
    names, slugs = names_of(grouped), slugs_of(grouped)
    sections = [
        Section(names[key], slugs[key], _told_apart(grouped[key], links)) for key in sorted(grouped, key=order_of)
    ]
    if secondary:
        taken = set(slugs.values())
        slug = OPTIONAL.lower() if OPTIONAL.lower() not in taken else "optional-links"
        sections.append(Section(OPTIONAL, slug, _told_apart(secondary, links)))
    return sections


def _told_apart(entries: Sequence[_Entry], links: Mapping[str, Link]) -> tuple[Link, ...]:
    titles = told_apart({entry.page.url: links[entry.page.url].title for entry in entries})
    return tuple(
        Link(without_brackets(titles[entry.page.url]), link.url, link.description)
        for entry in entries
        for link in (links[entry.page.url],)
    )
