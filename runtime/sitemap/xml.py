"""The exact reader of XML sitemaps and feeds: expat, streaming.

A DOCTYPE is refused, so there are no entities but the predefined ones and nothing is ever fetched.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from xml.parsers import expat

from runtime.settings import CrawlLimits
from runtime.sitemap.elements import PIECES, Collected, Refused, Roles, feed_handlers, sitemap_handlers
from runtime.sitemap.location import read_location

_KINDS: Final = {"urlset": "urlset", "sitemapindex": "index", "rss": "rss", "feed": "atom", "rdf": "rdf"}
_FEED_PREFIXES: Final = frozenset({"", "dc", "dcterms", "rss"})
_CUT: Final = frozenset(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
)
"""Errors of a document that ends too early; nothing in it needs repair."""

BLOCK: Final = 1 << 16
MAX_TOKEN: Final = 1 << 20
"""Bytes of a tag or comment. expat holds all of one, and before 2.6 looks through it anew for every block."""

_LOCATION: Final = b"<loc"


@dataclass(slots=True)
class XmlReading:
    """What was read. `kind` is empty when the root element is not one we know.

    `complete`: every entry of the document is there. `damaged`: it is not well-formed, and not just cut.
    """

    kind: str
    collected: Collected
    complete: bool
    damaged: bool = False
    refused: bool = False
    problem: str = ""


def read_xml(pieces: Iterable[bytes | str], url: str, limits: CrawlLimits) -> XmlReading:
    """Read a document given as UTF-8 bytes or as text. Never raises, whatever the content.

    :param url: the document's own URL, the base of relative locations.
    """
    return _Reader(Collected(url, limits.sitemap_urls, limits.sitemap_index_children)).read(pieces)


class _Reader:
    def __init__(self, collected: Collected) -> None:
        self._collected, self._kind = collected, ""
        self._text: deque[str] = deque(maxlen=PIECES)
        self._parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._root
        parser.StartDoctypeDeclHandler = self._doctype
        parser.CharacterDataHandler = self._text.append

    def read(self, pieces: Iterable[bytes | str]) -> XmlReading:
        rest = _from_first_tag(_blocks(pieces))
        piece = b""
        seen = 0
        try:
            for piece in rest:
                self._parser.Parse(piece, False)
                seen += len(piece)
                self._judge_token(seen)
            self._parser.Parse(b"", True)
        except Refused as reason:
            refused = not self._collected.full
            return XmlReading(self._kind, self._collected, complete=False, refused=refused, problem=str(reason))
        except expat.ExpatError as error:
            problem = f"not well-formed: {expat.errors.messages[error.code]} in line {error.lineno}"
            if not self._collected.closed:
                damaged = error.code not in _CUT
                return XmlReading(self._kind, self._collected, complete=False, damaged=damaged, problem=problem)
            tail = piece[self._parser.ErrorByteIndex - seen :]
            return XmlReading(self._kind, self._collected, complete=not _name_a_location(tail, rest), problem=problem)
        return XmlReading(self._kind, self._collected, complete=True)

    def _judge_token(self, seen: int) -> None:
        if seen - self._parser.CurrentByteIndex > MAX_TOKEN:
            self._collected.full = True
            raise Refused(f"a tag or comment of more than {MAX_TOKEN} bytes")

    def _root(self, name: str, attributes: dict[str, str]) -> None:
        prefix, _, local = name.rpartition(":")
        self._kind = _KINDS.get(local.lower(), "")
        if not self._kind:
            raise Refused(f"the root element is {local[:40]!r}")
        if self._kind in ("urlset", "index"):
            roles = Roles(frozenset({"", prefix}), attributes.get("xmlns", ""))
            roles.bind(name, attributes)
            start, end = sitemap_handlers(self._collected, roles, self._text)
        else:
            base = self._collected.base
            self._collected.base = read_location(attributes.get("xml:base", ""), base) or base  # RFC 4287 2
            start, end = feed_handlers(self._collected, Roles(_FEED_PREFIXES | {prefix}), self._text)
        self._parser.StartElementHandler = start
        self._parser.EndElementHandler = end

    def _doctype(self, *_: object) -> None:
        raise Refused("a DOCTYPE is not allowed in a sitemap")


def _blocks(pieces: Iterable[bytes | str]) -> Iterator[bytes]:
    """The document in UTF-8, in blocks: expat ends a text where its input ends, so small pieces are put together."""
    held = b""
    for piece in pieces:
        held += piece.encode() if isinstance(piece, str) else piece
        whole = len(held) // BLOCK * BLOCK
        for at in range(0, whole, BLOCK):
            yield held[at : at + BLOCK]
        held = held[whole:]
    if held:
        yield held


def _from_first_tag(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Without white space and byte order marks before the document, which an XML declaration does not allow."""
    for block in blocks:
        if first := _lstrip(block):
            yield first
            break
    yield from blocks


def _lstrip(piece: bytes) -> bytes:
    while piece[:1] in (b" ", b"\t", b"\r", b"\n") or piece[:3] == b"\xef\xbb\xbf":
        piece = piece.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    return piece


def _name_a_location(tail: bytes, rest: Iterable[bytes]) -> bool:
    """Whether there is an entry in what follows the document, also where it lies across two blocks."""
    for block in (b"", *rest):
        tail = tail[-len(_LOCATION) :] + block if block else tail
        if _LOCATION in tail:
            return True
    return False
