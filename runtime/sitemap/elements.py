"""The elements of sitemaps and feeds, recognised by local name: two pairs of expat handlers that collect entries.

Only direct children of an entry count: the `loc` of an image, video or news extension is not a page. The handlers are
closures over plain lists, because they are what a large file spends its time in.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from runtime.sitemap.dates import MAX_LENGTH
from runtime.sitemap.location import read_location

MAX_DEPTH: Final = 64
PIECES: Final = 8
"""Pieces of character data that are kept of one text. expat joins short ones, so a text of more is no address."""

MAX_TEXT: Final = 12_000_000
"""Characters of all addresses of a document; 50,000 of 240, which is thrice what they usually have."""

Entry = tuple[str, str | None]
_PROTOCOL: Final = re.compile(r"https?://\S*/schemas/sitemap/", re.IGNORECASE)
_ROOTS: Final = frozenset({"urlset", "sitemapindex"})

Start = Callable[[str, dict[str, str]], None]
End = Callable[[str], None]

_FEED_DATES: Final = ("pubdate", "updated", "modified", "date", "published")
"""In order of preference: RSS has the first, Atom 1.0 and 0.3 the next two, RSS 1.0 the fourth (RFC 4287 4.2.15)."""


class Refused(Exception):
    """The document is not read on; the message is the reason."""


@dataclass(slots=True)
class Collected:
    """Where entries go: absolute URLs with the lastmod as written, at most `most` of a sort."""

    base: str
    most_entries: int
    most_children: int
    entries: list[Entry] = field(default_factory=list)
    children: list[Entry] = field(default_factory=list)
    closed: bool = False
    full: bool = False
    _text: int = 0
    _lastmods: dict[str, str] = field(default_factory=dict)

    def entry(self, locations: list[str], lastmod: str | None) -> None:
        self._add(self.entries, self.most_entries, locations, lastmod)

    def child(self, locations: list[str], lastmod: str | None) -> None:
        self._add(self.children, self.most_children, locations, lastmod)

    def _add(self, into: list[Entry], most: int, locations: list[str], lastmod: str | None) -> None:
        if lastmod is not None:  # a longer one is no date
            lastmod = self._lastmods.setdefault(lastmod, lastmod) if 0 < len(lastmod) <= MAX_LENGTH else None
        for location in locations:
            url = read_location(location, self.base)
            if url is None:
                continue
            if len(into) >= most:
                self.full = True
                raise Refused(f"more than {most} entries")
            self._text += len(url)
            if self._text > MAX_TEXT:
                self.full = True
                raise Refused(f"addresses of more than {MAX_TEXT} characters in all")
            into.append((url, lastmod))


class Roles(dict[str, str]):
    """Element name to local name in lower case; empty for a name of another vocabulary.

    :param default: the namespace of the root's names without a prefix, if it says so.
    """

    def __init__(self, prefixes: frozenset[str], default: str = "") -> None:
        self._prefixes, self._default = set(prefixes), default

    def bind(self, name: str, attributes: Mapping[str, str]) -> bool:
        """Learn the prefixes that an element binds to the sitemap protocol, in any spelling of its namespace.

        False when the element's own name is of another vocabulary, because it is bound to one here.
        """
        for attribute, value in attributes.items():
            prefix = attribute.removeprefix("xmlns:")
            if prefix != attribute and prefix not in self._prefixes and _PROTOCOL.match(value):
                self._prefixes.add(prefix)
                self.pop(name, None)
        namespace = attributes.get("xmlns", "") if ":" not in name else ""
        return namespace in ("", self._default) or _PROTOCOL.match(namespace) is not None

    def __missing__(self, name: str) -> str:
        prefix, colon, local = name.rpartition(":")
        role = local.lower() if prefix in self._prefixes or not colon else ""
        if len(self) < 1_000:
            self[name] = role
        return role


def joined(text: deque[str]) -> str:
    return "".join(text) if len(text) < PIECES else ""


def sitemap_handlers(  # noqa: C901 - one state machine; a call an element would cost as much as its work
    collected: Collected, roles: Roles, text: deque[str]
) -> tuple[Start, End]:
    """Handlers for what is inside a `urlset` or `sitemapindex`; `text` receives the character data.

    An entry may hold several locations, which share its lastmod, or its location as bare text.
    """
    depth, wrapped, bare, ours = 1, 0, False, True
    emit: Callable[[list[str], str | None], None] | None = None
    locations: list[str] = []
    lastmod: str | None = None

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, wrapped, bare, ours, emit, lastmod
        depth += 1
        if depth == 3:
            bare = False
            ours = not attributes or roles.bind(name, attributes)
            text.clear()
        elif depth == 2:
            ours = not attributes or roles.bind(name, attributes)
            role = roles[name] if ours else ""
            emit = collected.entry if role == "url" else collected.child if role == "sitemap" else None
            if role in _ROOTS:  # a root within the root: its entries are the document's
                depth, wrapped = 1, wrapped + 1
            bare, lastmod = True, None
            locations.clear()
            text.clear()
        if depth + wrapped > MAX_DEPTH:
            raise Refused(f"elements nested more than {MAX_DEPTH} deep")

    def end(name: str) -> None:
        nonlocal depth, wrapped, lastmod
        if depth == 3:
            role = roles[name] if ours else ""
            if role == "loc":
                locations.append(joined(text))
            elif role == "lastmod":
                lastmod = joined(text).strip()
        elif depth == 2:
            if bare:
                locations.append(joined(text))
            if emit is not None and locations:
                emit(locations, lastmod)
        elif depth == 1:
            if wrapped:
                wrapped -= 1
                return
            collected.closed = True
        depth -= 1

    return start, end


def feed_handlers(  # noqa: C901 - one state machine, as above
    collected: Collected, roles: Roles, text: deque[str]
) -> tuple[Start, End]:
    """Handlers for what is inside an RSS, Atom or RDF feed.

    The page of an item is its `link`, for Atom the one without a relation or `alternate` (RFC 4287 4.2.7.2), else a
    `guid` that says it is a permalink. Dates of the channel are not dates of a page.
    """
    depth, item_depth = 1, 0
    fields: dict[str, str] = {}
    permalink = True
    base = collected.base

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, item_depth, permalink
        depth += 1
        role = roles[name]
        if not item_depth:
            if role in ("item", "entry") and depth <= 3:
                item_depth, permalink = depth, True
                fields.clear()
                collected.base = read_location(attributes.get("xml:base", ""), base) or base
        elif depth == item_depth + 1:
            text.clear()
            if role == "link" and "href" in attributes:
                if attributes.get("rel", "alternate") == "alternate":
                    page = attributes.get("type", "text/html") in ("text/html", "application/xhtml+xml")
                    fields.setdefault("link" if page else "other", attributes["href"])
            elif role == "guid":
                permalink = attributes.get("isPermaLink", "true").strip().lower() != "false"
        if depth > MAX_DEPTH:
            raise Refused(f"elements nested more than {MAX_DEPTH} deep")

    def end(name: str) -> None:
        nonlocal depth, item_depth
        if item_depth and depth == item_depth + 1:
            value = joined(text).strip()
            if value and (role := roles[name]):
                fields.setdefault(role, value)
        elif item_depth and depth == item_depth:
            item_depth = 0
            guid = fields.get("guid", "") if permalink else ""
            link = fields.get("link") or fields.get("other") or (guid if "://" in guid else "")
            if link:
                date = next((fields[name] for name in _FEED_DATES if name in fields), None)
                collected.entry([link], date)
        elif depth == 1:
            collected.closed = True
        depth -= 1

    return start, end
