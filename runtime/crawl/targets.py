"""The links of a page, resolved: each distinct href once, and once a site where a cache is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from runtime.url_syntax import resolve

MAX_CACHED: Final = 20_000
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~-]+(?:/|$)")


def resolve_links(
    base: str, hrefs: Iterable[str], *, encoding: str, limit: int, cache: dict[str, str | None] | None = None
) -> tuple[str, ...]:
    """The crawlable targets in document order, each once, `limit` at most.

    :param base: the document's base URL.
    :param encoding: Python codec of the page; links with a query outside ASCII depend on it.
    :param cache: shared by the pages of a site and filled here; emptied when it has grown to 20,000 entries.
    """
    origin, directory = _prefixes(base)
    found: dict[str, None] = {}
    tries = 5 * limit
    for href in dict.fromkeys([href.partition("#")[0] if "#" in href else href for href in hrefs]):
        if len(found) >= limit or tries <= 0:
            break
        key = _key(href, origin, directory) if cache is not None else None
        if key is None or cache is None:
            url = resolve(base, href, encoding=encoding)
            tries -= url is None
        else:
            url = cache.get(key, "")
            if url == "":
                if len(cache) >= MAX_CACHED:
                    cache.clear()
                url = resolve(base, href)
                cache[key] = url = key if url == key else url  # one text for both: a site has thousands of them
                tries -= url is None
        if url is not None:
            found[url] = None
    return tuple(found)


def _key(href: str, origin: str, directory: str) -> str | None:
    """The absolute URL an href is short for, by string work alone; None where that takes the whole algorithm."""
    if not origin or not href.isascii():
        return None
    if href[:1] == "/":
        return origin + href if href[1:2] not in ("/", "\\", "\t", "\n", "\r") else None
    if href[:8] == "https://" or href[:7] == "http://":
        return href
    return directory + href if _PLAIN.match(href) else None


def _prefixes(base: str) -> tuple[str, str]:
    """Scheme and authority, and everything up to the last "/" of the path."""
    found = re.match(r"(https?://[^/?#]+)(/[^?#]*)?", base)
    if found is None:
        return "", ""
    return found[1], found[1] + (found[2] or "/").rpartition("/")[0] + "/"
