"""The patterns owners write to include or exclude pages.

    docs/**        /docs, /docs/, /docs/a, /docs/a/b            a directory, itself and everything below it
    docs/          the same: a pattern that ends in "/" means the directory
    docs/*         /docs/a and /docs/a/, not /docs and not /docs/a/b
    /feed          /feed and /feed/, not /feedback and not /feed/atom
    blog/**/*.md   /blog/x.md, /blog/a/x.md, /blog/a/b/x.md     "**" also matches no level at all
    **/draft-*     /draft-1, /a/b/draft-1
    **             everything; "/" is the home page alone

A pattern covers the whole path from the root of the host; the leading "/" may be left out. `**` as a whole segment is
any number of segments, `*` any number of characters within one, `?` exactly one; every other character is itself.
Case counts, as it does in paths. A trailing "/" of the page does not. Escapes are compared decoded, so a pattern may be
written as a person reads it: `docs/über/**`. Matching takes at most length of pattern times length of path steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar
from urllib.parse import unquote

T = TypeVar("T")


def matches(pattern: str, path: str) -> bool:
    """Whether `pattern` covers the page at `path` (a URL path, escaped or not)."""
    return _wild(_compiled(pattern), _segments(path), "**", _segment_matches)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> tuple[str, ...]:
    if "://" in pattern:  # a whole URL, pasted: its path is meant
        pattern = pattern.partition("://")[2].partition("/")[2]
    segments = _segments(pattern)
    return (*segments, "**") if segments and pattern.endswith("/") else segments


def _segments(path: str) -> tuple[str, ...]:
    return tuple(
        unquote(segment, errors="surrogateescape") if "%" in segment else segment
        for segment in path.strip("/").split("/")
        if segment
    )


def _segment_matches(pattern: str, segment: str) -> bool:
    if "*" not in pattern and "?" not in pattern:
        return pattern == segment
    return _wild(pattern, segment, "*", lambda wanted, character: wanted in ("?", character))


def _wild(pattern: Sequence[T], text: Sequence[T], star: T, fits: Callable[[T, T], bool]) -> bool:
    """Match a sequence against one with stars, going back only to the last star: no exponential patterns."""
    at = position = 0
    last_star = resume = -1
    while position < len(text):
        if at < len(pattern) and pattern[at] == star:
            last_star, resume = at, position
            at += 1
        elif at < len(pattern) and fits(pattern[at], text[position]):
            at += 1
            position += 1
        elif last_star >= 0:
            resume += 1
            at, position = last_star + 1, resume
        else:
            return False
    return all(rest == star for rest in pattern[at:])
