"""Which URL is asked for next: a deterministic queue, with a reason for every URL it does not take.

Pure. The order is breadth first from the entry page, so that the pages a site puts forward come before a trap's
hundredth calendar month; sitemap URLs follow the entry page's own links, shallow paths first. The same site gives the
same order whatever the timing and whatever the hash seed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from runtime import urls
from runtime.models import SiteOptions
from runtime.reading import Left, LeftOut, Page
from runtime.settings import CrawlLimits

# fmt: off
NOT_PAGES = frozenset({
    "7z", "atom", "avi", "bmp", "bz2", "css", "csv", "dmg", "doc", "docx", "eot", "epub", "exe", "gif", "gz",
    "ico", "iso", "jar", "jpeg", "jpg", "js", "json", "map", "mjs", "mov", "mp3", "mp4", "mpeg", "ogg", "otf",
    "pdf", "png", "ppt", "pptx", "rar", "rss", "svg", "tar", "tgz", "tif", "tiff", "ttf", "wasm", "wav", "webm",
    "webp", "whl", "woff", "woff2", "xls", "xlsx", "xml", "xz", "zip",
})
# fmt: on
"""Last path extensions that never name a page; the extension of the last segment, not a substring of the URL."""


MOST_MET = 100_000
"""URLs that one crawl remembers: ten for each page of the largest file that an owner may ask for."""


@dataclass(slots=True)
class Frontier:
    """The queue of one crawl. `home` is the landed entry URL; everything in scope is put on its origin."""

    home: str
    options: SiteOptions
    limits: CrawlLimits
    queue: deque[str] = field(default_factory=deque)
    seen: set[str] = field(default_factory=set)
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    matched: set[str] = field(default_factory=set)
    _variants: dict[str, int] = field(default_factory=dict)
    _spelled: dict[str, str | None] = field(default_factory=dict)
    _met: set[str] = field(default_factory=set)
    """What was met under a text that is not in `seen`."""

    def add(self, found: Iterable[str], *, front: bool = False) -> None:
        """Queue what may be a page and was not met before, in the order given; nothing more once it is `full`."""
        if self.full:
            return
        seen, met = self.seen, self._met  # nearly all links of a page were on one before
        fresh = [
            url
            for raw in found
            if raw not in seen and raw not in met and (url := self._admit(raw, self.identity(raw))) is not None
        ]
        if front:
            self.queue.extendleft(reversed(fresh))
        else:
            self.queue.extend(fresh)

    def add_inventory(self, found: Mapping[str, str | None]) -> None:
        """Queue a sitemap's URLs, with their identities, behind the entry page's links and before deeper ones: shallow
        first, then by URL.
        """
        inside = [raw for raw, url in found.items() if url is not None]
        for raw in sorted(inside, key=lambda url: (url.partition("?")[0].rstrip("/").count("/"), url)):
            if (url := self._admit(raw, found[raw])) is not None:
                self.queue.append(url)

    @property
    def full(self) -> bool:
        """Whether a flood of links was met: each costs memory, and no crawl will ever come to them."""
        return len(self.seen) + len(self._met) >= MOST_MET

    def pop(self) -> str | None:
        return self.queue.popleft() if self.queue else None

    def arrive(self, url: str) -> bool:
        """A redirect led here: whether the page may be listed. It is not asked for again, queued or not."""
        if url in self.seen:
            if url in self.queue:
                self.queue.remove(url)
            return True
        self.seen.add(url)
        refusal = self._refusal(url)
        if refusal is not None:
            self.leave(url, *refusal)
        return refusal is None

    def leave(self, url: str, reason: Left, detail: str = "") -> None:
        """Record why a URL is not listed; the first reason stands."""
        self.left_out.setdefault(url, LeftOut(url, reason, detail))

    def identity(self, url: str) -> str | None:
        """The URL on the entry page's origin (http/https and apex/www are one site), or None outside the site."""
        if url in self.seen:
            return url
        if url in self._spelled:
            return self._spelled[url]
        result = urls.on_origin(self.home, url) if urls.in_scope(self.home, url) else None
        if result == url:
            return url  # neither kept twice nor looked up: a site has thousands of them
        self._spelled[url] = result
        return result

    def _admit(self, raw: str, url: str | None) -> str | None:
        """What to queue for a link and its identity, if anything."""
        if url != raw:
            self._met.add(raw)
        if url is None:
            self.leave(raw, Left.OFF_SITE)
            return None
        if url in self.seen:
            return None
        self.seen.add(url)
        refusal = self._refusal(url)
        if refusal is not None:
            self.leave(url, *refusal)
            return None
        return url

    def _refusal(self, url: str) -> tuple[Left, str] | None:
        path, _, query = url[url.index("/", len("https://")) :].partition("?")
        segments = [segment for segment in path.split("/") if segment]
        if len(url) > self.limits.url_length or len(segments) > self.limits.path_segments:
            return Left.TRAP, "the URL is too long"
        if _repeats(segments, self.limits.repeat_segment + 1):
            return Left.TRAP, "a path segment repeats"
        extension = segments[-1].rpartition(".")[2].lower() if segments and "." in segments[-1] else ""
        if extension in NOT_PAGES:
            return Left.NOT_A_PAGE, f".{extension}"
        reason = chosen(url, self.home, self.options, self.matched)
        if reason is not None:
            return reason
        if query:
            variants = self._variants[path] = self._variants.get(path, 0) + 1
            if variants > self.limits.query_variants_per_path:
                return Left.TRAP, "too many query variants of one path"
        return None


def chosen(url: str, home: str, options: SiteOptions, matched: set[str] | None = None) -> tuple[Left, str] | None:
    """Whether the owner's globs want a URL. The entry page is always read, since everything starts there."""
    for pattern in options.exclude:
        if urls.matches(pattern, url):
            if matched is not None:
                matched.add(pattern)
            return Left.EXCLUDED, pattern
    if not options.include or url == home:
        return None
    for pattern in options.include:
        if urls.matches(pattern, url):
            if matched is not None:
                matched.add(pattern)
            return None
    return Left.NOT_INCLUDED, ""


def still_chosen(options: SiteOptions, pages: Iterable[Page], home: str | None) -> int:
    """How many pages of an earlier crawl are wanted under these options."""
    wanted = sum(chosen(page.url, home or "", options) is None for page in pages)
    return min(wanted, options.max_pages)


def _repeats(segments: list[str], times: int) -> bool:
    """One segment, or one pair of segments, over and over: the mark of a relative-link trap (Heritrix)."""
    step: Callable[[int, int], bool] = lambda i, width: all(  # noqa: E731 - two uses, one line apart
        segments[i + k] == segments[i + k + width] for k in range(width * (times - 1))
    )
    return any(step(i, width) for width in (1, 2) for i in range(len(segments) - width * times + 1))
