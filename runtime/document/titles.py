"""What pages and sites are called: the site's name taken off its pages' titles, and told apart where they are equal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from runtime.document.excerpt import excerpt
from runtime.document.paths import directories, host_of, query_of, stem
from runtime.document.text import folded, heading, plain

MAX_TITLE = 150
"""Characters of a link title or an H1; longer ones are whole sentences that a CMS put into <title>."""

_SEPARATOR = re.compile(r"\s+(?:[|–—―‒·•»«›‹>/~:-]|::|--)\s+|(?<=\S):\s+|\s*[｜：]\s*")
_SEPARATORS = " \t|–—―‒·•»«›‹>/~:-｜："
_GENERIC = frozenset(
    folded(word)
    for word in (
        "home", "homepage", "home page", "welcome", "index", "main", "main page", "start", "start page", "untitled",
        "untitled document", "document", "default", "title", "site title", "startseite", "accueil", "inicio",
        "página principal", "página inicial", "início", "pagina iniziale", "strona główna", "главная",
        "главная страница", "首页", "ホーム", "トップページ", "홈", "undefined", "null", "none", "nan",
    )
)  # fmt: skip
"""Titles that name the place of a page, not the page."""


def is_generic(title: str) -> bool:
    return folded(title) in _GENERIC or not folded(title)


class Affixes:
    """The text that a site puts before or after the titles of its pages, such as ` | Acme`.

    An affix counts when at least half of the titles have it, and at least two; with fewer it is part of a title.
    `names` are the affixes without their separators, the outermost first.
    """

    def __init__(self, titles: Iterable[str]) -> None:
        left = sorted(titles)
        self.names: list[str] = []
        self._found: list[tuple[str, bool]] = []
        for _ in range(3):  # "Install | Docs | Acme" has two
            affix, is_suffix = _repeated(left, _suffixes), True
            if affix is None:
                affix, is_suffix = _repeated(left, _prefixes), False
            if affix is None:
                break
            self._found.append((affix, is_suffix))
            spelled = next(title for title in left if _has(title, affix, is_suffix))
            size = len(affix)
            name = spelled[-size:] if is_suffix else spelled[:size]
            self.names.append(plain(name.strip(_SEPARATORS)).strip(_SEPARATORS))
            left = sorted(self.strip(title) for title in left)

    def strip(self, title: str) -> str:
        """The title without the affixes; one that is nothing else stays whole."""
        bare = title
        for affix, is_suffix in self._found:
            if _has(bare, affix, is_suffix):
                bare = bare[: -len(affix)] if is_suffix else bare[len(affix) :]
        bare = plain(bare)  # what an affix leaves may begin with a joiner that joined it
        return bare if folded(bare) else title


def _has(title: str, affix: str, is_suffix: bool) -> bool:
    key = _key(title)
    return len(key) > len(affix) and (key.endswith(affix) if is_suffix else key.startswith(affix))


def _key(title: str) -> str:
    """Lower case, character for character, so that lengths agree (lower() may lengthen)."""
    if title.isascii():
        return title.lower()
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in title)


def _suffixes(title: str) -> list[str]:
    return [title[found.start() :] for found in _SEPARATOR.finditer(title) if found.start() > 0]


def _prefixes(title: str) -> list[str]:
    return [title[: found.end()] for found in _SEPARATOR.finditer(title) if found.end() < len(title)]


def _repeated(titles: Sequence[str], affixes_of: Callable[[str], list[str]]) -> str | None:
    """The longest affix that at least half of the titles, and two, share."""
    count: Counter[str] = Counter()
    for title in titles:
        count.update(set(affixes_of(_key(title))))
    enough = max(2, (len(titles) + 1) // 2)
    shared = [affix for affix, times in count.items() if times >= enough]
    return max(shared, key=lambda affix: (len(affix), affix), default=None)


def page_title(title: str, url: str, affixes: Affixes) -> str:
    """The title of a link: cleaned, without the site's name; the last words of the URL where there is none."""
    cleaned = affixes.strip(heading(title))
    if not folded(cleaned) or folded(cleaned) in {"untitled", "untitleddocument", "undefined", "null", "nan"}:
        cleaned = words_of(url)
    return excerpt(cleaned, MAX_TITLE)


def words_of(url: str) -> str:
    """A title made of a URL: the last segment of its path, else its host."""
    segments = directories(url)
    name = re.sub(r"[\s_-]+", " ", stem(segments[-1])).strip() if segments else ""
    name = name if folded(name) else host_of(url)
    return (name[:1].upper() + name[1:] if segments else name) or "Page"


def told_apart(titles: Mapping[str, str]) -> dict[str, str]:
    """The titles of one list by URL, those that are equal followed by where in the site they differ.

    `{"/a/intro": "Intro", "/b/intro": "Intro"}` becomes `Intro (a)` and `Intro (b)`. Titles stay equal where the URLs
    give no short difference.
    """
    groups: dict[str, list[str]] = {}
    for url in sorted(titles):
        groups.setdefault(titles[url].casefold(), []).append(url)
    result = dict(titles)
    for urls in groups.values():
        if len(urls) > 1:
            for url, label in _labels(urls).items():
                result[url] = f"{excerpt(titles[url], MAX_TITLE - len(label) - 3)} ({label})"
    return result


def _labels(urls: Sequence[str]) -> dict[str, str]:
    """For each URL the part of its path, else of its query, that the others do not have. A URL that is nothing but the
    common part (the directory of the others) needs no label.
    """
    paths = {url: tuple(stem(segment) for segment in directories(url)) for url in urls}
    if len(set(paths.values())) < len(urls):
        paths = {url: (*directories(url), query_of(url)) for url in urls}
    head = _common(list(paths.values()))
    tails = [path[head:][::-1] for path in paths.values()]
    tail = _common(tails)
    labels = {
        url: "/".join(part for part in path[head : len(path) - tail or None] if part) for url, path in paths.items()
    }
    named = {url: label for url, label in labels.items() if label}
    usable = len(set(named.values())) == len(named) >= len(urls) - 1 and all(
        len(label) <= 60 for label in named.values()
    )
    return named if usable else {}


def _common(paths: Sequence[tuple[str, ...]]) -> int:
    """How many leading segments all paths share."""
    count = 0
    for column in zip(*paths, strict=False):
        if len(set(column)) > 1:
            break
        count += 1
    return count
