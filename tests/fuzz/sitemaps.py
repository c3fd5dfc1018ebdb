"""The sitemap reader: whole and in pieces, plain and gzipped, cut and complete, beside lxml. And its dates.

An input is a Content-Type value, a line end, and the body.
"""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from lxml import etree

from runtime.settings import CrawlLimits
from runtime.sitemap.dates import format_lastmod, parse_lastmod
from runtime.sitemap.lastmod import differs
from runtime.sitemap.location import read_location
from runtime.sitemap.parse import SitemapDocument, parse_sitemap
from runtime.sitemap.scan import CHUNK, scan
from runtime.sitemap.source import Source
from runtime.sitemap.xml import read_xml
from runtime.urls import normalize
from tests.fuzz.target import Target, claim

DATA: Final = Path(__file__).parents[1] / "data"
URL: Final = "https://example.com/docs/sitemap.xml"
LIMITS: Final = CrawlLimits(sitemap_urls=20, sitemap_index_children=10, sitemap_bytes=6_000)
XML: Final = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False)

TOKENS: Final = tuple(
    text.encode()
    for text in (
        "<url>", "</url>", "<loc>", "</loc>", "<lastmod>", "</lastmod>", "<sitemap>", "</sitemap>", "<urlset>", "</urlset>",
        "<sitemapindex>", "</sitemapindex>", "<url/>", "<loc/>", "<LOC>", "<s:loc>", "</s:loc>", "<image:loc>x</image:loc>",
        "<![CDATA[", "]]>", "<!--", "-->", '<?xml version="1.0" encoding="', "?>", '<!DOCTYPE x [<!ENTITY a "b">]>', "&a;",
        "&amp;", "&amp;amp;", "&#x2F;", "&#0;", "&#xD800;", "&nbsp;", "&", "<", ">", '"', "'", ' xmlns="', ' xmlns:s="',
        "http://www.sitemaps.org/schemas/sitemap/0.9", "https://example.com/", "https://example.com/a?b=1&amp;c=2", "//", "www.",
        "example.com/x", "/relative", "HTTP://EXAMPLE.COM:80/%7e", "https://u:p@example.com/", "#f", "ftp://x/", "\r", "\r\n",
        "<rss><channel>", "<item>", "</item>", "<link>", "</link>", '<guid isPermaLink="false">', "<feed>", "<entry>", "</entry>",
        '<link href="', "<updated>", "<pubDate>", "<rdf:RDF>", "; charset=utf-16", "; charset=windows-1251", "text/plain\n",
        "<url><loc>https://example.com/p</loc><lastmod>2024-05-01</lastmod></url>", "2024-05-01T10:00:00+05:00", ' xml:base="',
    )
)  # fmt: skip
DATES: Final = tuple(
    text.encode()
    for text in (
        "2024", "2024-05", "2024-05-01", "T", " ", "10:00", "10:00:00", ".123456789", "Z", "+05:30", "-0800", "+14:00", "GMT", "EST",
        "Wed, ", "01 May 2024", "May 1, 2024", "Wed May  1 10:00:00 UTC 2024", "24:00:00", "23:59:60", "0001-01-01", "9999-12-31",
        "20240501T100000Z", "May", "Sept", "th", ",", "-", "/", ".", "(CEST)", "2024-02-30", "2024-13-01", "00", "-00:00", "Z Z",
    )
)  # fmt: skip


def cases(*ops: str) -> Iterator[dict[str, Any]]:
    """The inputs of the corpora; each has its folder as `root`."""
    for root in (DATA / "web", DATA / "web-more"):
        for line in (root / "cases.jsonl").read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            if case["op"] in ops:
                yield case["input"] | {"root": root}


def body_of(given: dict[str, Any]) -> bytes:
    """The file of a case, unless it is too large to begin with."""
    body = (given["root"] / given["file"]).read_bytes()
    return body if len(body) <= 20_000 else b""


def seeds() -> list[bytes]:
    found = []
    for given in cases("parse"):
        kind = (given.get("headers") or {}).get("content-type", "")
        found.append((kind if isinstance(kind, str) else kind[0]).encode("latin-1") + b"\n" + body_of(given))
    return found


def read(data: bytes) -> object:
    header, _, body = data.partition(b"\n")
    kind = header.decode("latin-1")
    whole = parse_sitemap(body, URL, kind, limits=LIMITS)
    _judge_values(whole)
    source = Source(body, kind, LIMITS.sitemap_bytes)
    if source.is_markup:
        _judge_pieces(source, zlib.crc32(data))
        _judge_peer(body, source, whole)
    if body and not body.startswith(b"\x1f\x8b"):
        packed = parse_sitemap(gzip.compress(body, mtime=0), URL, kind, limits=LIMITS)
        claim(_content(packed) == _content(whole), f"gzipped reads otherwise: {packed} {whole}")
    _judge_cut(body, kind, whole, zlib.crc32(data))
    return whole


def _content(document: SitemapDocument) -> tuple[object, ...]:
    return document.kind, document.entries, document.children, document.complete


def _judge_values(document: SitemapDocument) -> None:
    claim(len(document.entries) <= LIMITS.sitemap_urls, "more entries than the cap")
    claim(len(document.children) <= LIMITS.sitemap_index_children, "more children than the cap")
    if document.kind == "invalid":
        claim(not document.entries and not document.children and not document.complete, "invalid with content")
        claim(document.problems, "invalid without a reason")
    claim(document.complete or document.problems or document.kind == "text", "incomplete without a reason")
    for url, lastmod in (*document.entries, *document.children):
        claim(normalize(url) == url and len(url) <= 2_048, f"a location is not normal: {url!r}")
        claim(lastmod is None or (lastmod and lastmod == lastmod.strip()), f"a lastmod is not trimmed: {lastmod!r}")
        _judge_date(lastmod)


def _judge_pieces(source: Source, seed: int) -> None:
    """The exact reader and the short way give the same answer whole and in small pieces, and the same one."""
    wide = source.encoding != "utf-8"
    given: Sequence[bytes | str] = ["".join(source.text())] if wide else [b"".join(source.pieces())]
    whole = read_xml(given, URL, LIMITS)
    pieces = read_xml(split(given[0], seed), URL, LIMITS)
    for reading in (whole, pieces):
        reading.problem = ""
    same = (whole.kind, whole.complete, whole.damaged, whole.refused) == (
        (pieces.kind, pieces.complete, pieces.damaged, pieces.refused)
    )
    claim(same, f"pieces end otherwise: {whole} {pieces}")
    claim(whole.collected.entries == pieces.collected.entries, "pieces have other entries: ")
    claim(whole.collected.children == pieces.collected.children, "pieces have other children: ")
    if not wide:
        body = b"".join(source.pieces())
        short = scan([body], URL, LIMITS.sitemap_urls)
        for chunk in (1 + seed % 97, CHUNK):
            again = scan(map(bytes, split(body, seed)), URL, LIMITS.sitemap_urls, chunk=chunk)
            claim(short == again, f"the scan of pieces, {chunk} at a time, is another: ")
        if short is not None:
            claim(whole.kind == "urlset" and whole.complete, "the scan reads what the exact reader does not: ")
            claim(short == whole.collected.entries, f"the scan differs: {short} {whole.collected.entries}")


def split(given: Any, seed: int) -> Iterator[Any]:
    chance = random.Random(seed)
    at, longest = 0, chance.choice((1, 3, 40, 1_000))
    while at < len(given):
        end = at + chance.randrange(1, longest + 1)
        yield given[at:end]
        at = end


def _judge_peer(body: bytes, source: Source, whole: SitemapDocument) -> None:
    """What lxml finds in a well-formed `urlset` of one vocabulary."""
    text = b"".join(source.pieces()) if source.encoding == "utf-8" else b""
    if whole.problems or whole.kind != "urlset" or b"<!DOCTYPE" in body or not text:
        return
    try:
        root = etree.fromstring(text, XML)
    except (etree.XMLSyntaxError, ValueError):
        return
    elements = list(root.iter(etree.Element))
    if len({(element.prefix, etree.QName(element).namespace) for element in elements}) > 1 or root.prefix:
        return  # other vocabularies
    found = [url for text in _locations(root) if (url := read_location(text, URL)) is not None]
    claim(found == [url for url, _ in whole.entries], f"lxml finds other locations: {found} {whole.entries}")


def _locations(root: etree._Element) -> Iterator[str]:
    """The texts of the locations of all entries, or of entries that are nothing but text."""
    for entry in root.iterchildren(etree.Element):
        if _name(entry) in ("urlset", "sitemapindex"):
            yield from _locations(entry)
        elif _name(entry) == "url":
            children = list(entry.iterchildren(etree.Element))
            places = [child for child in children if _name(child) == "loc"] if children else [entry]
            yield from ("".join(map(str, place.itertext(etree.Element))) for place in places)


def _name(element: etree._Element) -> str:
    return etree.QName(element).localname.lower()


def _judge_cut(body: bytes, kind: str, whole: SitemapDocument, seed: int) -> None:
    """A document that breaks off has the whole entries before that place, and says so."""
    if whole.problems or whole.kind not in ("urlset", "index") or not body:
        return
    part = parse_sitemap(body[: seed % len(body)], URL, kind, limits=LIMITS, complete=False)
    claim(not part.complete, "a cut document is called complete: ")
    claim(part.entries == whole.entries[: len(part.entries)], f"a cut document has other entries: {part} {whole}")
    claim(part.children == whole.children[: len(part.children)], f"a cut document has other children: {part} {whole}")


def _judge_date(text: str | None) -> object:
    date = parse_lastmod(text)
    if date is None:
        return None
    claim(date.start <= date.end <= date.over, f"a date ends before it begins: {date}")
    again = parse_lastmod(format_lastmod(date))
    claim(
        again is not None and (again.start, again.end) == (date.start, date.end), f"a date is lost when written: {date}"
    )
    claim(not differs(text, format_lastmod(date)), f"a date differs from itself: {date}")
    return date.start, date.end, str(date.granularity)


def read_date(data: bytes) -> object:
    return _judge_date(data.decode("utf-8", "replace"))


def _features(answer: object) -> list[str]:
    assert isinstance(answer, SitemapDocument)
    problems = [problem[:12] for problem in answer.problems]
    sizes = len(answer.entries).bit_length(), len(answer.children).bit_length()
    return [f"{answer.kind} {answer.complete} {problem} {sizes}" for problem in problems or [""]]


TARGETS: Final = (
    Target("sitemap", seeds, TOKENS, read, _features),
    Target("lastmod", lambda: DATES, DATES, read_date, lambda answer: [str(answer is None)]),
)
