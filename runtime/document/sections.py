"""Sections from paths: `/guides/install` goes under "Guides".

A directory is a section when at least two pages are in it; everything else goes into the main section, so that a flat
site gets one list. Segments that only choose a language or a version are looked through, and a directory that holds
most of a site is split by its own directories. A large flat site is divided by what its file names begin with
(`sql-select.html`, `sql-insert.html`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from runtime.document.paths import key_of

Path = tuple[str, ...]

MAIN_KEY = "main"
MIN_PAGES = 2
MAX_SECTIONS = 30
SPLIT_PAGES, SPLIT_CHILD_PAGES = 12, 3
FLAT_PAGES, FLAT_PREFIX_PAGES = 60, 8

_LANGUAGE = re.compile(r"[a-z]{2}(?:[-_](?:[a-z]{2}|[a-z]{4}|\d{3}))?$", re.IGNORECASE)
_VERSION = re.compile(r"(?:v?\d+(?:\.(?:\d+|x))*|latest|stable|current|main|master|next|dev)$", re.IGNORECASE)
_IDLE_WORDS = frozenset(
    ("a", "all", "an", "best", "get", "how", "new", "my", "the", "to", "top", "what", "when", "where", "why")
)
_FIRST = (
    "getting-started", "get-started", "start", "quickstart", "quick-start", "introduction", "intro", "overview",
    "install", "installation", "setup", "tutorial", "tutorials", "learn", "guide", "guides", "user-guide", "howto",
    "how-to", "concepts", "docs", "doc", "documentation", "reference", "api", "api-reference", "cli", "sdk", "sdks",
    "examples", "faq", "help", "support",
)  # fmt: skip
_LAST = ("blog", "news", "events", "about", "about-us")


def sections_of(paths: Sequence[Path]) -> list[str]:
    """The key of each page's section, aligned with `paths` (see `looked_through`). Depends on the set alone."""
    keys = _by_segment(paths)
    biggest, size = max(Counter(keys).items(), key=lambda item: (item[1], item[0]), default=("", 0))
    if biggest != MAIN_KEY and size >= SPLIT_PAGES and size * 2 > len(paths):
        inside = [at for at, key in enumerate(keys) if key == biggest]
        children = _by_segment([paths[at][1:] for at in inside], least=SPLIT_CHILD_PAGES)
        if len(set(children) - {MAIN_KEY}) >= 2:
            taken = set(keys)
            for at, child in zip(inside, children, strict=True):
                if child != MAIN_KEY:
                    keys[at] = f"{biggest}/{child}" if child in taken else child
    return _few(_prefixed(paths, keys))


def looked_through(paths: Sequence[Path]) -> list[Path]:
    """The paths without leading segments that only choose the language or the version that most of the site is in."""
    for _ in range(2):  # /en/latest/
        choice = _choice(paths)
        paths = [path[1:] if len(path) > 1 and path[0] == choice else path for path in paths]
    return list(paths)


def _choice(paths: Iterable[Path]) -> str | None:
    paths = [path for path in paths if path]
    leading = Counter(path[0] for path in paths if _LANGUAGE.match(path[0]) or _VERSION.match(path[0]))
    segment, times = max(leading.items(), key=lambda item: (item[1], item[0]), default=(None, 0))
    return segment if times * 2 > len(paths) else None


def _by_segment(paths: Sequence[Path], *, least: int = MIN_PAGES) -> list[str]:
    """The key of each path's first directory, `MAIN_KEY` where that has fewer than `least` pages."""
    directories = {key_of(path[0]) for path in paths if len(path) > 1}
    keys = [key_of(path[0]) if path else MAIN_KEY for path in paths]
    size = Counter(key for key in keys if key in directories)
    return [key if key and size[key] >= least else MAIN_KEY for key in keys]


def _prefixed(paths: Sequence[Path], keys: list[str]) -> list[str]:
    """The keys, with the page names of a large main section grouped by their first word where enough share it."""
    main = [at for at, key in enumerate(keys) if key == MAIN_KEY and len(paths[at]) == 1]
    if len(main) <= FLAT_PAGES:
        return keys
    words = {at: key_of(paths[at][0]).partition("-") for at in main}
    size = Counter(word for word, dash, _ in words.values() if dash and word.isalpha() and word not in _IDLE_WORDS)
    for at, (word, _, _) in words.items():
        if size[word] >= FLAT_PREFIX_PAGES:
            keys[at] = word
    return keys


def _few(keys: list[str]) -> list[str]:
    """At most `MAX_SECTIONS`: the smallest go into the main section."""
    ranked = sorted(Counter(keys).items(), key=lambda item: (-item[1], item[0]))
    kept = {key for key, _ in ranked[:MAX_SECTIONS]}
    return [key if key in kept else MAIN_KEY for key in keys]


def order_of(key: str) -> tuple[int, int, str]:
    """The main section first, then what a newcomer reads first, then by name, the news last."""
    if key == MAIN_KEY:
        return (0, 0, key)
    last = key.rpartition("/")[2]
    if last in _FIRST:
        return (1, _FIRST.index(last), key)
    return (3 if last in _LAST else 2, 0, key)
