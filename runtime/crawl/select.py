"""Which of the pages that were read are listed: duplicates by canonical, old versions, other languages. Pure.

Each rule looks at the whole set, so the result does not depend on the order of reading.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from runtime.reading import Left, LeftOut, PageReading

MOVING = ("latest", "current", "stable", "main")
"""Path segments that name the newest version of a documentation, best first."""

_VERSION = re.compile(r"v?(\d+(?:\.(?:\d+|x))*)(?:[-.]?(?:lts|rc\d*|beta\d*|alpha\d*))?$", re.IGNORECASE)

BROKEN_TEMPLATE = 3
"""So many pages of different titles cannot all be copies of one page: their canonical is a template's mistake."""


def aliases_to_keep(
    aliases: Mapping[str, tuple[str, str]], titles: Mapping[str, str], dead: Iterable[str]
) -> list[str]:
    """Pages whose canonical does not remove them (RFC 6596 3: the target must exist and be a duplicate).

    :param aliases: page URL -> (canonical URL, page title).
    :param titles: URL -> title of the listed pages.
    :param dead: canonical targets that were asked for and cannot be listed.
    """
    dead = set(dead)
    by_target: dict[str, set[str]] = defaultdict(set)
    for target, title in aliases.values():
        by_target[target].add(title)
    broken = {
        target
        for target, names in by_target.items()
        if target in titles and len(names - {titles[target], ""}) >= BROKEN_TEMPLATE
    }
    return [
        url for url, (target, _) in aliases.items() if target in broken or (target in dead and target not in titles)
    ]


def old_versions(urls: Iterable[str]) -> list[LeftOut]:
    """Copies of one page in older versions: `/v1/a` and `/v2/a` beside `/latest/a` or `/v3/a`."""
    groups: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for url in urls:
        split = _split_version(url)
        if split is not None:
            before, version, after = split
            groups[before, after.strip("/")][version] = url
    # `/releases/v1` beside `/releases/v2` are two release notes; they are versions only where pages below them repeat.
    versioned = {before for (before, after), copies in groups.items() if after and len(copies) > 1}
    out = []
    for (before, _), copies in groups.items():
        if before in versioned and len(copies) > 1:
            best = max(copies, key=_newness)
            out += [LeftOut(url, Left.OLD_VERSION, copies[best]) for version, url in copies.items() if version != best]
    return out


def other_languages(readings: Mapping[str, PageReading], home: str) -> list[LeftOut]:
    """Translations of a listed page: the x-default stays, else the entry page's language (hreflang, U51)."""
    language = readings[home].language.lower() if home in readings else ""
    out = []
    for url, reading in readings.items():
        if url == home:
            continue
        by_language = {code.lower(): target for code, target in reading.hreflangs}
        preferred = by_language.get("x-default") or by_language.get(language) or by_language.get(language.split("-")[0])
        if preferred and preferred != url and preferred in readings and url in by_language.values():
            out.append(LeftOut(url, Left.OTHER_LANGUAGE, preferred))
    return out


def _split_version(url: str) -> tuple[str, str, str] | None:
    """(before, version, after) around the first path segment that names a version; None when there is none."""
    segments = urlsplit(url).path.split("/")
    for index, segment in enumerate(segments):
        if segment.lower() in MOVING or (_VERSION.match(segment) and ("." in segment or segment[:1] in "vV")):
            return "/".join(segments[:index]), segment.lower(), "/".join(segments[index + 1 :])
    return None


def _newness(version: str) -> tuple[int, tuple[int, ...], str]:
    if version in MOVING:
        return 1, (-MOVING.index(version),), version
    match = _VERSION.match(version)
    numbers = tuple(int(part) if part.isdigit() else 10**6 for part in match[1].split(".")) if match else ()
    return 0, numbers, version
