"""The short way through a plain sitemap: a scan for entries written as nearly every generator writes them.

It answers only for a document that is such entries and nothing else from its first byte to its last, in ASCII; then its
answer is the one of `runtime.sitemap.xml`, several times sooner. For anything else it gives None, and the exact reader
reads the document. A differential test over generated hostile documents, whole and in pieces, holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from runtime.sitemap.elements import Entry
from runtime.sitemap.location import MAX_PLAIN, read_location

MAX_ENTRY: Final = 65_536
"""No entry of the plain form is longer; one that does not match by then will not."""

_S: Final = rb"[ \t\r\n]*"
_COMMENTS: Final = rb"(?:<!--[ -,.-~\t\r\n]*-->" + _S + rb")*"
_ATTRIBUTE: Final = rb"""[ \t\r\n]+([A-Za-z_][A-Za-z0-9_.:-]*)="[ !#-%'-;=?-~]*\""""
_SEGMENT: Final = rb"[A-Za-z0-9_~-][A-Za-z0-9_~.-]*"

_HEAD: Final = re.compile(
    _S
    + rb"""(?:<\?xml[ ]version="1\.0"(?:[ ]encoding="[Uu][Tt][Ff]-8")?(?:[ ]standalone="(?:yes|no)")?[ ]?\?>)?"""
    + _S
    + rb"(?:<\?xml-stylesheet[ ][ -%'-;=@-~]*\?>"
    + _S
    + rb")?"
    + _COMMENTS
    + rb"<urlset((?:"
    + _ATTRIBUTE.replace(b"(", b"(?:", 1)
    + rb")*)"
    + _S
    + rb">"
)
# Possessive, so that two of them in a row have one way to match.
_OTHERS: Final = (
    rb"(?:<changefreq>[ A-Za-z\t\r\n]*</changefreq>" + _S + rb"|<priority>[ 0-9.\t\r\n]*</priority>" + _S + rb")*+"
)
_ENTRY: Final = re.compile(
    _S
    + rb"<url>"
    + _S
    + rb"<loc>"
    + _S
    + rb"(?:((https?://[a-z0-9.-]+)/(?:"
    + _SEGMENT
    + rb"(?:/"
    + _SEGMENT
    + rb")*/?)?)|((?:[!-%'-;=?-~]|&amp;)+))"
    + _S
    + rb"</loc>"
    + _S
    + _OTHERS
    + rb"(?:<lastmod>([ -%'-;=?-~\t\r\n]*)</lastmod>"
    + _S
    + rb")?"
    + _OTHERS
    + rb"</url>"
)
_TAIL: Final = re.compile(_S + rb"</urlset>" + _S + _COMMENTS)
_NAME: Final = re.compile(_ATTRIBUTE)


def scan(pieces: Iterable[bytes], url: str, most: int) -> list[Entry] | None:
    """The entries of a plain `urlset`, or None when it is not plain, or has more than `most`.

    :param pieces: the document in UTF-8 without a byte order mark.
    :param url: the document's own URL.
    """
    entries: list[Entry] = []
    origins: dict[bytes, bool] = {}
    lastmods: dict[bytes | None, str | None] = {None: None}
    document = _Document()
    for plain, origin, other, written in document.entries(pieces):
        if plain is not None and len(plain) <= MAX_PLAIN and _is_normal(origin, origins):
            location: str | None = plain.decode("ascii")
        else:
            location = read_location((plain or other).decode("ascii").replace("&amp;", "&"), url)
        if location is None:
            continue
        if len(entries) >= most:
            return None
        if written in lastmods:
            lastmod = lastmods[written]
        else:
            lastmod = lastmods[written] = _lastmod(written)
        entries.append((location, lastmod))
    return entries if document.is_plain else None


class _Document:
    """A walk through head, entries and tail; `is_plain` once there was nothing else."""

    is_plain = False

    def entries(self, pieces: Iterable[bytes]) -> Iterator[tuple[bytes | Any, ...]]:
        """The groups of each entry: plain location, its origin, other location, lastmod; absent ones are None."""
        buffer, at, begun = b"", 0, False
        for piece in pieces:
            buffer, at = (buffer[at:] + piece, 0) if at < len(buffer) else (piece, 0)
            if not begun:
                at = _end_of_head(buffer)
                begun = at > 0
            while begun and (found := _ENTRY.match(buffer, at)):
                at = found.end()
                yield found.groups()
            if len(buffer) - at > MAX_ENTRY:
                return
        self.is_plain = begun and _TAIL.fullmatch(buffer, at) is not None


def _end_of_head(buffer: bytes) -> int:
    """Where the root's start tag ends, or 0: it is not plain, or not all there yet."""
    head = _HEAD.match(buffer)
    if head is None:
        return 0
    names = _NAME.findall(head[1])
    return head.end() if len(set(names)) == len(names) else 0


def _is_normal(origin: bytes, known: dict[bytes, bool]) -> bool:
    normal = known.get(origin)
    if normal is None:
        text = origin.decode("ascii")
        normal = known[origin] = read_location(f"{text}/", text) == f"{text}/"
    return normal


def _lastmod(written: bytes) -> str | None:
    return written.decode("ascii").replace("\r\n", "\n").replace("\r", "\n").strip() or None
