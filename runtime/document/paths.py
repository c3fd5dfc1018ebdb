"""The path of a page's URL as words: what sections, order and distinctions are made from. Total: never raises."""

from __future__ import annotations

import re
from urllib.parse import unquote

from runtime.document.text import plain

_PARTS = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?://([^/?#]*))?([^?#]*)(\?[^#]*)?")
_INDEX = re.compile(r"(?:index|default|readme)(?:\.[a-z0-9]{2,5}){1,2}$", re.IGNORECASE)
_PAGE_SUFFIX = re.compile(r"(?:\.(?:html?|xhtml|php|aspx?|jsp|md|txt))+$", re.IGNORECASE)
_NUMBER = re.compile(r"(\d{1,18})")


def host_of(url: str) -> str:
    """The host of a URL as it names a site: without user, port and `www.`."""
    found = _PARTS.match(url)
    host = (found[1] or "" if found else "").rpartition("@")[2]
    host = re.sub(r":\d*$", "", host).lower()
    return host.removeprefix("www.")


def directories(url: str) -> tuple[str, ...]:
    """The decoded segments of the path; a final `index.html` is dropped. `/docs/` and `/docs` are alike."""
    found = _PARTS.match(url)
    path = found[2] if found else ""
    segments = [plain(unquote(segment, errors="replace")) for segment in path.split("/") if segment]
    if segments and _INDEX.match(segments[-1]):
        segments.pop()
    return tuple(segment for segment in segments if segment)


def query_of(url: str) -> str:
    found = _PARTS.match(url)
    return plain(unquote((found[3] or "")[1:], errors="replace")) if found else ""


def below(base: tuple[str, ...], segments: tuple[str, ...]) -> tuple[str, ...]:
    """The segments after the base URL's own; a page outside the base path keeps all of its segments."""
    return segments[len(base) :] if segments[: len(base)] == base else segments


def stem(segment: str) -> str:
    """A segment without what only says how the page is made: `intro.html` is `intro`."""
    return _PAGE_SUFFIX.sub("", segment) or segment


def key_of(segment: str) -> str:
    """Equal for segments that name the same thing: `Getting_Started.html` and `getting-started`."""
    return re.sub(r"[\s_-]+", "-", stem(segment).lower()).strip("-")


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key in which `chapter-2` comes before `chapter-10`; equal only for equal texts up to leading zeros."""
    pieces = _NUMBER.split(text.casefold())
    return tuple((0, int(piece), "") if odd else (1, 0, piece) for piece, odd in _alternating(pieces) if piece)


def _alternating(pieces: list[str]) -> list[tuple[str, bool]]:
    return [(piece, at % 2 == 1) for at, piece in enumerate(pieces)]
