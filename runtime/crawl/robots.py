"""robots.txt: what it allows, to whom, how fast, and which sitemaps it names (RFC 9309).

Rules and URLs are compared octet by octet in one form: unreserved characters decoded, everything outside printable
ASCII as UTF-8 escapes, escapes in upper case, reserved characters as they were written (2.2.2). The longest matching
rule wins, and allow wins a tie. Matching is a look-up for plain prefixes and a scan without backtracking for `*`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final, TypeVar

from runtime.crawl.patterns import Rules, path_of
from runtime.models import ROBOTS_TOKEN
from runtime.sitemap.location import read_location

MAX_BYTES: Final = 524_288
"""RFC 9309 2.5 asks for at least 500 KiB."""

MAX_SITEMAPS: Final = 500
ANYONE: Final = "*"

_AGENT: Final = frozenset({"user-agent", "useragent", "user agent"})
_DISALLOW: Final = frozenset({"disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"})
_SITEMAP: Final = frozenset({"sitemap", "sitemaps", "site-map"})
_DELAY: Final = frozenset({"crawl-delay", "crawl delay", "crawldelay"})
_KNOWN: Final = _AGENT | _DISALLOW | _SITEMAP | _DELAY | {"allow"}

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_STAR: Final = re.compile(r"\*(?![A-Za-z0-9_*-])")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+")
_SECONDS: Final = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)


Rule = tuple[bytes, bool]


@dataclass(slots=True)
class _Group:
    """The records of one product token, all its groups combined (RFC 9309 2.2.1).

    Runs of user-agent lines share one list, so that a file of many agents and many rules stays as small as it is.
    """

    rules: list[list[Rule]] = field(default_factory=list)
    delays: list[list[float]] = field(default_factory=list)


class Robots:
    """A parsed robots.txt. Build one with `parse`, or take `ALLOW_ALL` or `DISALLOW_ALL`."""

    ALLOW_ALL: ClassVar[Robots]
    DISALLOW_ALL: ClassVar[Robots]

    def __init__(self, groups: dict[str, _Group], sitemaps: tuple[str, ...] = ()) -> None:
        self.sitemaps = sitemaps
        self._groups = groups
        self._compiled: dict[str, Rules] = {}

    @classmethod
    def parse(cls, body: bytes, robots_url: str) -> Robots:
        """Read a file; what cannot be read is skipped line by line (2.3.1.5). Never raises.

        Only rules end a run of user-agent lines (2.2.4); a Crawl-delay is for the agents named since the last one.
        Relative Sitemap values are resolved against `robots_url`.
        """
        groups: dict[str, _Group] = {}
        sitemaps: dict[str, None] = {}
        rules: list[Rule] | None = None
        delays: list[float] = []
        ruled = delayed = False
        for name, value in _records(body):
            if name in _AGENT:
                rules, delays = [] if ruled or rules is None else rules, [] if ruled or delayed else delays
                ruled = delayed = False
                if token := _token(value):
                    group = groups.setdefault(token, _Group())
                    group.rules.append(rules)
                    group.delays.append(delays)
            elif name in _SITEMAP:
                _add_sitemap(sitemaps, value, robots_url)
            elif name in _DELAY:
                delayed = True
                delays += _seconds(value)
            elif rules is not None:
                ruled = True
                rules += [(value, name == "allow")] if value else []
        return cls(groups, tuple(sitemaps))

    def allowed(self, url: str, agent: str = ROBOTS_TOKEN) -> bool:
        """Whether the agent may fetch an absolute URL; without a rule that matches it may."""
        path = path_of(url)
        if path == b"/robots.txt":
            return True
        token = self._group_of(agent)
        rules = self._compiled.get(token)
        if rules is None:
            group = self._groups.get(token, _NOBODY)
            rules = self._compiled[token] = Rules(rule for run in _distinct(group.rules) for rule in run)
        return rules.allow(path)

    def crawl_delay(self, agent: str = ROBOTS_TOKEN) -> float | None:
        """Seconds between two requests that the agent's group asks for; not part of RFC 9309, but widely kept.

        Of several the longest counts.
        """
        group = self._groups.get(self._group_of(agent), _NOBODY)
        return max((seconds for run in _distinct(group.delays) for seconds in run), default=None)

    def _group_of(self, agent: str) -> str:
        token = _agent_token(agent)
        return token if token in self._groups else ANYONE


_NOBODY: Final = _Group()
T = TypeVar("T")


def _distinct(runs: Iterable[list[T]]) -> Iterable[list[T]]:
    """Each list once: an agent may be named twice in one run."""
    return {id(run): run for run in runs}.values()


def _records(body: bytes) -> Iterable[tuple[str, bytes]]:
    """The records we know, as (name in lower case, value) in file order.

    Only CR and LF end a line; `#` starts a comment anywhere. A colon that is missing is forgiven, as large crawlers do.
    """
    cut = len(body) > MAX_BYTES
    lines = _LINE_END.split(_utf8(body[:MAX_BYTES]))
    for line in lines[:-1] if cut else lines:
        text = line.partition(b"#")[0].strip(b" \t\x0b\x0c\x00")
        name, colon, value = text.partition(b":")
        key = name.strip().lower().decode("latin-1")
        if not colon or key not in _KNOWN:
            name, _, value = text.partition(b" ")
            key = name.lower().decode("latin-1")
        if key in _KNOWN:
            yield key, value.strip(b" \t")


def _utf8(body: bytes) -> bytes:
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16", "replace").encode()
    return body.removeprefix(b"\xef\xbb\xbf")


def _token(value: bytes) -> str:
    """The product token of a user-agent line in lower case, `*`, or nothing (RFC 9309 2.2.1)."""
    text = value.decode("latin-1")
    return ANYONE if _STAR.match(text) else _agent_token(text)


@lru_cache(maxsize=64)
def _agent_token(agent: str) -> str:
    found = _TOKEN.match(agent)
    return found[0].lower() if found else ""


def _seconds(value: bytes) -> list[float]:
    """The delay, or nothing for what is not a number of seconds."""
    text = value.decode("latin-1")
    seconds = float(text) if _SECONDS.fullmatch(text) else math.inf
    return [seconds] if math.isfinite(seconds) else []


def _add_sitemap(sitemaps: dict[str, None], value: bytes, robots_url: str) -> None:
    try:
        location = read_location(value.decode("utf-8"), robots_url)
    except UnicodeDecodeError:
        return
    if location is not None and len(sitemaps) < MAX_SITEMAPS:
        sitemaps[location] = None


Robots.ALLOW_ALL = Robots({})
Robots.DISALLOW_ALL = Robots({ANYONE: _Group([[(b"/", False)]])})
