"""May this page be listed, and its links followed? `<meta name="robots">` and `X-Robots-Tag`.

The vocabulary is the one Google documents ("Robots meta tag, data-nosnippet, and X-Robots-Tag specifications"):
`noindex`, `nofollow`, `none`, `unavailable_after: date`. A rule counts if it is for everybody or names our agent; of
several, the most restrictive holds. What another bot is told (`googlebot: noindex`) says nothing to us.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

MAX_CHARS: Final = 4_000
"""More of one list is not read."""

_AGENT: Final = re.compile(r"\s*([A-Za-z0-9_*][A-Za-z0-9_.*/-]*)\s*:(?!//)\s*")
_VALUED: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_EXPIRY: Final = re.compile(r"unavailable_after\s*:\s*([^,]*(?:,\s*\d[^,]*)?)", re.IGNORECASE)
_SEPARATORS: Final = re.compile(r"[,;\s]+")


class Directives(NamedTuple):
    """The defaults of a page that says nothing."""

    indexable: bool = True
    follow: bool = True

    def also(self, other: Directives) -> Directives:
        return Directives(self.indexable and other.indexable, self.follow and other.follow)


def read_directives(text: str, now: datetime | None) -> Directives:
    """The directives of one list, such as `noindex, max-snippet:-1`; separators may be missing commas.

    :param now: without it `unavailable_after` is not judged.
    """
    expired, text = False, text[:MAX_CHARS]
    for found in _EXPIRY.finditer(text):
        until = parse_date(found[1])
        expired |= now is not None and until is not None and until <= now
    words = frozenset(_SEPARATORS.split(_EXPIRY.sub("", text).lower()))
    return Directives(
        indexable=not expired and words.isdisjoint(("noindex", "none")),
        follow=words.isdisjoint(("nofollow", "none")),
    )


def read_robots_header(values: Iterable[str], agent: str, now: datetime | None) -> Directives:
    """All `X-Robots-Tag` lines together. A `name:` limits what follows it in its own line to that bot."""
    result = Directives()
    for line in values:
        for name, directives in _by_agent(line):
            if name is None or name == "*" or name.partition("/")[0].lower() == agent.lower():
                result = result.also(read_directives(directives, now))
    return result


def parse_date(text: str) -> datetime | None:
    """An RFC 822, RFC 850, asctime or ISO 8601 date as an aware instant (UTC where no zone is given), or None."""
    text = text.strip()
    for read, written in (
        (datetime.fromisoformat, text),
        (parsedate_to_datetime, text),
        (parsedate_to_datetime, f"{text} 00:00:00 GMT"),  # a date alone
    ):
        try:
            parsed = read(written)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return None


def _by_agent(line: str) -> list[tuple[str | None, str]]:
    """A header line cut into (bot or None, directives)."""
    parts: list[tuple[str | None, str]] = []
    name: str | None = None
    for piece in _pieces(line):
        found = _AGENT.match(piece)
        if found and found[1].lower() not in _VALUED:
            name, piece = found[1], piece[found.end() :]  # noqa: PLW2901 - the rest of the piece is its directive
        parts.append((name, piece))
    return parts


def _pieces(line: str) -> list[str]:
    """The line cut at commas, but not at the comma of a date ("Wed, 25 Jun 2031")."""
    pieces: list[str] = []
    for piece in line[:MAX_CHARS].split(","):
        if pieces and re.search(r"unavailable_after\s*:\s*[A-Za-z]+$", pieces[-1].rstrip(), re.IGNORECASE):
            pieces[-1] += f",{piece}"
        else:
            pieces.append(piece)
    return pieces
