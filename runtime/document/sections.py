"""Sections from paths: `/guides/install` goes under "Guides".

A directory is a section when at least two pages are in it; everything else goes into the main section, so that a flat
site gets one list. Segments that only choose a language or a version are looked through, and a directory that holds
most of a site is split by its own directories.
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

_LANGUAGE = re.compile(r"[a-z]{2}(?:[-_](?:[a-z]{2}|[a-z]{4}|\d{3}))?$", re.IGNORECASE)
_VERSION = re.compile(r"(?:v?\d+(?:\.(?:\d+|x))*|latest|stable|current|main|master|next|dev)$", re.IGNORECASE)
_FIRST = (
    "getting-started", "get-started", "start", "quickstart", "quick-start", "introduction", "intro", "overview",
    "install", "installation", "setup", "tutorial", "tutorials", "learn", "guide", "guides", "user-guide", "howto",
    "how-to", "concepts", "docs", "doc", "documentation", "reference", "api", "api-reference", "cli", "sdk", "sdks",
    "examples", "faq", "help", "support",
)  # fmt: skip
_LAST = ("blog", "news", "events", "about", "about-us")


def sections_of(paths: Sequence[Path]) -> list[str]:
    """The key of each page's section, aligned with `paths` (segments below the base URL). Depends on the set alone."""
    common = _looked_through(paths)
    bare = [path[1:] if len(path) > 1 and path[0] in common else path for path in paths]
    second = _looked_through(bare)
    bare = [path[1:] if len(path) > 1 and path[0] in second else path for path in bare]
    keys = _by_segment(bare, 0)
    biggest, size = max(Counter(keys).items(), key=lambda item: (item[1], item[0]), default=("", 0))
    if biggest != MAIN_KEY and size >= SPLIT_PAGES and size * 2 > len(paths):
        inside = [at for at, key in enumerate(keys) if key == biggest]
        children = _by_segment([bare[at][1:] for at in inside], 0, least=SPLIT_CHILD_PAGES)
        if len(set(children) - {MAIN_KEY}) >= 2:
            taken = set(keys)
            for at, child in zip(inside, children, strict=True):
                if child != MAIN_KEY:
                    keys[at] = f"{biggest}/{child}" if child in taken else child
    return _few(keys)


def _looked_through(paths: Iterable[Path]) -> frozenset[str]:
    """The leading segment that only chooses a language or a version: the commonest one, if most paths have it."""
    paths = [path for path in paths if path]
    leading = Counter(path[0] for path in paths if _LANGUAGE.match(path[0]) or _VERSION.match(path[0]))
    segment, times = max(leading.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    return frozenset({segment}) if times * 2 > len(paths) else frozenset()


def _by_segment(paths: Sequence[Path], at: int, *, least: int = MIN_PAGES) -> list[str]:
    """Each path's directory key, `MAIN_KEY` where that directory has fewer than `least` pages."""
    inside = Counter(key_of(path[at]) for path in paths if len(path) > at + 1)
    keys = [key_of(path[at]) if len(path) > at and inside[key_of(path[at])] else MAIN_KEY for path in paths]
    size = Counter(keys)
    return [key if key and size[key] >= least else MAIN_KEY for key in keys]


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
