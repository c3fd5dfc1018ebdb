"""The short way through a plain sitemap: a scan for entries written as nearly every generator writes them.

It answers only for a document that is such entries and nothing else from its first byte to its last, in ASCII; then its
answer is the one of `runtime.sitemap.xml`, several times sooner. For anything else it gives None, and the exact reader
reads the document. A differential test over generated hostile documents, whole and in pieces, holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Final

from runtime.sitemap.dates import MAX_LENGTH
from runtime.sitemap.elements import MAX_TEXT, Entry
from runtime.sitemap.location import read_location

MAX_ENTRY: Final = 65_536
"""No entry of the plain form is longer; one that does not match by then will not."""

CHUNK: Final = 131_072
"""Bytes read at a time: few enough that what is made of them stays in the processor's cache."""

_SPACE: Final = " \t\r\n"
_S: Final = r"[ \t\r\n]*+"
_COMMENTS: Final = r"(?:<!--[ -,.-~\t\r\n]*-->" + _S + r")*"
_ATTRIBUTE: Final = r"""[ \t\r\n]+([A-Za-z_][A-Za-z0-9_.:-]*)="[ !#-%'-;=?-~]*\""""
_PATH: Final = r"[A-Za-z0-9_~/-]{0,1500}+(?:(?<!/)\.[A-Za-z0-9_~/-]{1,60}+){0,4}+"
"""No segment that begins with a dot, which may mean another path; with any host shorter than a URL may be."""


_HEAD: Final = re.compile(
    _S
    + r"""(?:<\?xml[ ]version="1\.0"(?:[ ]encoding="[Uu][Tt][Ff]-8")?(?:[ ]standalone="(?:yes|no)")?[ ]?\?>)?"""
    + _S
    + r"(?:<\?xml-stylesheet[ ][ -%'-;=@-~]*\?>"
    + _S
    + r")?"
    + _COMMENTS
    + r"<urlset((?:"
    + _ATTRIBUTE.replace("(", "(?:", 1)
    + r")*)"
    + _S
    + r">"
)
_OTHERS: Final = rf"(?:<changefreq>[ A-Za-z\t\r\n]*+</changefreq>{_S}|<priority>[ 0-9.\t\r\n]*+</priority>{_S})*+"
_ENTRY: Final = re.compile(
    rf"<url>{_S}<loc>{_S}(?:(https?://[a-z0-9.:-]++/{_PATH})|((?:[!-%'-;=?-~]|&amp;)++)){_S}</loc>{_S}"
    rf"{_OTHERS}(?:<lastmod>([^<]*+)</lastmod>{_S})?+{_OTHERS}</url>{_S}"
)
"""Groups: a location that is likely normal, any other, the lastmod. Possessive, so that there is one way to match."""

_GROUPS: Final = 3
_LASTMOD: Final = re.compile(r"[ -%'-;=?-~\t\r\n]*+")
_LONG: Final = 200
"""Characters of a lastmod; it is remembered as it is written."""

_TAIL: Final = re.compile(rf"</urlset>{_S}{_COMMENTS}")
_NAME: Final = re.compile(_ATTRIBUTE)


def scan(pieces: Iterable[bytes], url: str, most: int, *, chunk: int = CHUNK) -> list[Entry] | None:
    """The entries of a plain `urlset`, or None when it is not plain, or has more than `most`.

    :param pieces: the document in UTF-8 without a byte order mark.
    :param url: the document's own URL.
    """
    entries: list[Entry] = []
    values = _Values(url)
    rest, begun, read, held, counted = "", False, 0, 0, 0
    try:
        for text in _texts(pieces, chunk):
            read += len(text)
            rest += text
            if not begun:
                end = _end_of_head(rest)
                begun, rest = end > 0, rest[end:]
            if begun:
                # What is before a match, its groups, what is before the next: nothing, where they follow each other.
                parts = _ENTRY.split(rest.lstrip(_SPACE))
                rest = parts.pop()
                if any(parts[:: _GROUPS + 1]):
                    return None
                entries.extend(values.entries(parts))
            if len(rest) > MAX_ENTRY or len(entries) > most:
                return None
            if read > MAX_TEXT:
                held += sum(len(found) for found, _ in entries[counted:])
                counted = len(entries)
                if held > MAX_TEXT:
                    return None
    except (UnicodeDecodeError, _NotPlain):
        return None
    return entries if begun and _TAIL.fullmatch(rest.lstrip(_SPACE)) else None


class _Values:
    """Texts between tags, read; what was seen before is not read again."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._origins: dict[str, bool] = {}
        self._lastmods = _Lastmods()

    def entries(self, parts: Sequence[str]) -> Iterable[Entry]:
        step = _GROUPS + 1
        plain = parts[1::step]
        lastmods = map(self._lastmods.__getitem__, parts[3::step])
        if plain and all(plain) and self._are_normal(plain):
            return zip(plain, lastmods, strict=True)
        locations = map(self._location, plain, parts[2::step])
        return [(found, lastmod) for found, lastmod in zip(locations, lastmods, strict=True) if found is not None]

    def _are_normal(self, plain: Sequence[str]) -> bool:
        """Whether all are normal, as they nearly always are: of one origin that is."""
        origin = _origin(plain[0])
        return self._is_normal(origin) and all(map(str.startswith, plain, repeat(origin)))

    def _location(self, plain: str | None, other: str) -> str | None:
        if plain is None:
            return read_location(other.replace("&amp;", "&"), self._url)
        return plain if self._are_normal((plain,)) else read_location(plain, self._url)

    def _is_normal(self, origin: str) -> bool:
        normal = self._origins.get(origin)
        if normal is None:
            normal = self._origins[origin] = read_location(origin, origin) == origin
        return normal


class _NotPlain(Exception):
    pass


class _Lastmods(dict[str | None, str | None]):
    """Lastmod as in the document to the same as a parser hands it on: one text for all that are equal."""

    def __missing__(self, written: str | None) -> str | None:
        text = written or ""
        if len(text) > _LONG or _LASTMOD.fullmatch(text) is None:
            raise _NotPlain
        found = text.replace("\r\n", "\n").replace("\r", "\n").strip() or None
        found = self[written] = found if found is None or len(found) <= MAX_LENGTH else None
        return found


def _texts(pieces: Iterable[bytes], size: int) -> Iterator[str]:
    """The document in texts of about `size` characters, however it comes.

    :raises UnicodeDecodeError: it is not ASCII.
    """
    held = bytearray()
    for piece in pieces:
        for at in range(0, len(piece), size):
            held += memoryview(piece)[at : at + size]
            if len(held) >= size:
                yield held.decode("ascii")
                held.clear()
    yield held.decode("ascii")


def _origin(location: str) -> str:
    """Scheme and host with the "/" that follows."""
    return location[: location.index("/", len("https://")) + 1]


def _end_of_head(text: str) -> int:
    """Where the root's start tag ends, or 0: it is not plain, or not all there yet."""
    head = _HEAD.match(text)
    if head is None:
        return 0
    names = _NAME.findall(head[1])
    return head.end() if len(set(names)) == len(names) else 0
