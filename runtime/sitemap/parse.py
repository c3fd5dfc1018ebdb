"""The sitemap reader: any bytes in, a value out that says what was read and how complete it is.

XML sitemaps and indexes with and without namespaces, plain text, RSS, Atom and RDF, plain or gzipped, in the encodings
that XML and HTTP can name. The content decides what a document is, never its name or media type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from runtime.settings import CrawlLimits
from runtime.sitemap.body import Body
from runtime.sitemap.elements import MAX_TEXT
from runtime.sitemap.location import read_location, trim
from runtime.sitemap.scan import scan
from runtime.sitemap.source import Source
from runtime.sitemap.xml import XmlReading, read_xml

Kind = Literal["urlset", "index", "text", "rss", "atom", "rdf", "invalid"]
Entry = tuple[str, str | None]

FEEDS: Final = frozenset({"rss", "atom", "rdf"})
"""Kinds that list the newest pages only: a page that is gone from one may well be there."""

MAX_REPAIR: Final = 10_000_000
"""Characters; a larger document that is not well-formed is kept up to the damage."""

_LINE: Final = re.compile(r"\r\n|\r|\n")
_ADDRESS: Final = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_SLACK: Final = 20


@dataclass(frozen=True, slots=True)
class SitemapDocument:
    """What one document says: `(absolute URL, lastmod as written or None)` for each page and each child sitemap.

    `complete` is false when it was cut, is larger than a cap, or could not be read to its end; the entries are then
    the whole ones before that point. A document that is no sitemap is `invalid` and has none.
    """

    kind: Kind
    entries: tuple[Entry, ...] = ()
    children: tuple[Entry, ...] = ()
    complete: bool = True
    problems: tuple[str, ...] = ()


def parse_sitemap(
    body: bytes | Body, url: str, content_type: str = "", *, limits: CrawlLimits, complete: bool = True
) -> SitemapDocument:
    """Read a sitemap document. Never raises, whatever the bytes.

    :param body: as the HTTP client gives it; gzip inside is undone here.
    :param url: the document's final URL, the base of relative locations.
    :param content_type: the whole Content-Type value; only its charset counts.
    :param complete: false when the body is known to be cut.
    """
    source = Source(body, content_type, limits.sitemap_bytes)
    if not source.is_markup:
        return _text_document(source, url, limits, complete)
    if complete and source.encoding == "utf-8":
        plain = scan(source.pieces(), url, limits.sitemap_urls)
        if plain is not None and source.complete:
            return SitemapDocument("urlset", tuple(plain), problems=tuple(source.remarks))
    reading = _read_markup(source, url, limits)
    problems = (*([reading.problem] if reading.problem else ()), *source.remarks)
    found = reading.collected
    whole = complete and reading.complete and source.complete
    if reading.refused or not reading.kind or not (whole or found.entries or found.children):
        return _invalid(*problems or ("the document is empty",))
    kind = reading.kind
    if kind == "urlset" and found.children and not found.entries:
        kind = "index"
    return SitemapDocument(_kind(kind), tuple(found.entries), tuple(found.children), whole, problems)


def _read_markup(source: Source, url: str, limits: CrawlLimits) -> XmlReading:
    """The exact reader; a damaged document is repaired and read once more."""
    wide = source.encoding != "utf-8"
    reading = read_xml(source.text() if wide else source.pieces(), url, limits)
    if not reading.damaged:
        return reading
    text = ""
    for piece in source.text():
        text += piece
        if len(text) > MAX_REPAIR:
            return reading
    from runtime.sitemap.repair import repair  # few processes meet damage; making the expressions takes 4 ms

    again = read_xml((repair(text),), url, limits)
    if again.complete or len(again.collected.entries) > len(reading.collected.entries):
        again.problem = "; ".join(filter(None, (f"repaired: {reading.problem}", again.problem)))
        return again
    return reading


def _text_document(source: Source, url: str, limits: CrawlLimits, complete: bool) -> SitemapDocument:
    """One URL a line (sitemaps.org, "Text file"). A document that is mostly something else is no sitemap."""
    entries: list[Entry] = []
    good = bad = text = 0
    full = False
    for line in map(trim, _lines(source)):
        if not line or line.startswith("#"):
            continue
        location = read_location(line, url) if _ADDRESS.fullmatch(line) else None
        if location is None:
            bad += 1
            if bad > good + _SLACK:
                break
            continue
        good += 1
        text += len(location)
        if len(entries) >= limits.sitemap_urls or text > MAX_TEXT:
            full = True
            break
        entries.append((location, None))
    if bad > good or not good:
        return _invalid("neither markup nor a list of URLs", *source.remarks)
    problems = (
        *([f"more than {limits.sitemap_urls} entries, or {MAX_TEXT} characters of them"] if full else ()),
        *([f"{bad} lines are no URL"] if bad else ()),
        *source.remarks,
    )
    whole = complete and source.complete and not full
    if not whole and not full:
        entries = entries[:-1]  # the last line may be half a URL
    return SitemapDocument("text", tuple(entries), complete=whole, problems=problems)


def _lines(source: Source) -> Iterator[str]:
    """The lines of the text; only CR and LF end one, and one of absurd length is cut into several."""
    rest = ""
    for piece in source.text():
        *whole, rest = _LINE.split(rest + piece)
        yield from whole
        if len(rest) > 1 << 16:
            yield rest
            rest = ""
    yield rest


def _kind(name: str) -> Kind:
    kinds: dict[str, Kind] = {"urlset": "urlset", "index": "index", "rss": "rss", "atom": "atom", "rdf": "rdf"}
    return kinds[name]


def _invalid(*problems: str) -> SitemapDocument:
    return SitemapDocument("invalid", complete=False, problems=problems)
