"""The links of a page, resolved: each distinct href once, and once a site where a cache is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

from runtime.url_syntax import resolve

MAX_CACHED: Final = 20_000
MAX_CLIMBED: Final = 8
"""`../` in a row that are resolved by string work; more have a key of their own a folder."""

_WHOLE: Final = re.compile(r"https?://[^/?#\\\s]+(?:/(?![/\\\s])|[?#]|\Z)")
"""An address whose path does not begin with "//", so that path alone, as an href, means the same (URL Standard 4.4)."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~-]+(?:/|$)")
_CLIMB: Final = re.compile(r"(?:\.\./)+")
_BASE: Final = re.compile(r"(https?://[^/?#\\\s]+)(/(?!/)[^?#\\\s]*)?(?:[?#]|\Z)")
_FOLDERS: Final = re.compile(r"https?://[^/\\]+/(?:[\w~-][\w.~%-]*/)*", re.ASCII)
"""A folder without empty or dot segments, so that `..` takes the last name off."""


class Targets:
    """Resolves the hrefs of one document.

    :param base: the document's base URL, as the URL Standard writes it (without dot segments).
    :param encoding: Python codec of the page; links with a query outside ASCII depend on it.
    :param cache: shared by the pages of a site and filled here; emptied when it has grown to 20,000 entries.
    """

    __slots__ = ("_base", "_cache", "_directory", "_encoding", "_folders", "_origin")

    def __init__(self, base: str, *, encoding: str = "utf-8", cache: dict[str, str | None] | None = None) -> None:
        self._base, self._encoding, self._cache = base, encoding, cache
        found = _BASE.match(base)
        self._origin = found[1] if found else ""
        self._directory = found[1] + (found[2] or "/").rpartition("/")[0] + "/" if found else ""
        self._folders: list[str] | None = None

    def one(self, href: str) -> str | None:
        """The absolute URL of an href without a fragment, or None for what cannot be crawled."""
        cache = self._cache
        key = self._key(href) if cache is not None else None
        if key is None or cache is None:
            return resolve(self._base, href, encoding=self._encoding)
        url = cache.get(key, "")
        if url == "":
            if len(cache) >= MAX_CACHED:
                cache.clear()
            url = resolve(self._base, href)
            cache[key] = url = key if url == key else url  # one text for both: a site has thousands of them
        return url

    def all(self, hrefs: Iterable[str], limit: int) -> tuple[str, ...]:
        """The crawlable targets in document order, each once, `limit` at most."""
        origin = self._origin
        known = self._cache if self._cache is not None and origin else {}
        found: dict[str, None] = {}
        met: set[str] = set()
        tries = 5 * limit
        for written in hrefs:
            href = written.partition("#")[0] if "#" in written else written
            if href[:1] == "/" and (url := known.get(origin + href, "")) != "":  # most links of a site, met before
                if url is not None:
                    found[url] = None
                continue
            if href in met:
                continue
            if len(found) >= limit or tries <= 0:
                break
            met.add(href)
            target = self.one(href)
            if target is None:
                tries -= 1
            else:
                found[target] = None
        return tuple(islice(found, limit))

    def _key(self, href: str) -> str | None:
        """The absolute URL an href is short for, by string work alone; None where that takes the whole algorithm.

        It never has a path that begins with "//", which as an href would be a host.
        """
        if not self._origin or not href.isascii():
            return None
        if href[:1] == "/":
            href = self._origin + href
        if href[:8] == "https://" or href[:7] == "http://":
            return href if _WHOLE.match(href) else None
        if href == "":
            return self._base.partition("#")[0] if self._base.isascii() else None
        if href[:3] == "../":
            return self._climbed(href)
        return self._directory + href if _PLAIN.match(href) else None

    def _climbed(self, href: str) -> str:
        """The key of an href that begins with `../`: the pages of other folders write the same target otherwise."""
        if self._folders is None:
            self._folders = _above(self._directory) if _FOLDERS.fullmatch(self._directory) else []
        climb = _CLIMB.match(href)
        rest = href[climb.end() :] if climb else href
        steps = (len(href) - len(rest)) // 3
        if steps <= len(self._folders) and (not rest or _PLAIN.match(rest)):
            return self._folders[steps - 1] + rest
        return self._directory + href


def _above(directory: str) -> list[str]:
    """The folders that `../`, `../../` and so on lead to from a folder; at the top they stay (URL Standard 4.4)."""
    folders: list[str] = []
    for _ in range(MAX_CLIMBED):
        above = directory.removesuffix("/").rpartition("/")[0] + "/"
        directory = directory if above.endswith("//") else above
        folders.append(directory)
    return folders
