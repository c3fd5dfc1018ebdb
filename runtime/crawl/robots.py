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
from typing import ClassVar, Final

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
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+")
_SECONDS: Final = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)


@dataclass(slots=True)
class _Group:
    """The records of one product token, all its groups combined (RFC 9309 2.2.1)."""

    rules: list[tuple[bytes, bool]] = field(default_factory=list)
    delay: float | None = None


class Robots:
    """A parsed robots.txt. Build one with `parse`, or take `ALLOW_ALL` or `DISALLOW_ALL`."""

    ALLOW_ALL: ClassVar[Robots]
    DISALLOW_ALL: ClassVar[Robots]

    def __init__(self, groups: dict[str, _Group], sitemaps: tuple[str, ...] = ()) -> None:
        self.sitemaps = sitemaps
        self._delays = {agent: group.delay for agent, group in groups.items()}
        self._rules = {agent: Rules(group.rules) for agent, group in groups.items()}

    @classmethod
    def parse(cls, body: bytes, robots_url: str) -> Robots:
        """Read a file; what cannot be read is skipped line by line (2.3.1.5). Never raises.

        Relative Sitemap values are resolved against `robots_url`.
        """
        groups: dict[str, _Group] = {}
        sitemaps: dict[str, None] = {}
        current: list[_Group] = []
        ruled = False
        for name, value in _records(body):
            if name in _AGENT:
                if ruled:
                    current, ruled = [], False
                if token := _token(value):
                    group = groups.setdefault(token, _Group())
                    if not any(group is one for one in current):
                        current.append(group)
            elif name in _SITEMAP:
                _add_sitemap(sitemaps, value, robots_url)
            elif name in _DELAY:
                seconds = _seconds(value)
                for group in current if seconds is not None else ():
                    group.delay = max(seconds or 0.0, group.delay or 0.0)
            else:
                ruled = True
                for group in current if value else ():
                    group.rules.append((value, name == "allow"))
        return cls(groups, tuple(sitemaps))

    def allowed(self, url: str, agent: str = ROBOTS_TOKEN) -> bool:
        """Whether the agent may fetch an absolute URL; without a rule that matches it may."""
        path = path_of(url)
        if path == b"/robots.txt":
            return True
        rules = self._rules.get(self._group_of(agent))
        return rules is None or rules.allow(path)

    def crawl_delay(self, agent: str = ROBOTS_TOKEN) -> float | None:
        """Seconds between two requests that the agent's group asks for; not part of RFC 9309, but widely kept."""
        return self._delays.get(self._group_of(agent))

    def _group_of(self, agent: str) -> str:
        token = _agent_token(agent)
        return token if token in self._rules else ANYONE


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
    if text.startswith(ANYONE):
        return ANYONE
    return _agent_token(text)


@lru_cache(maxsize=64)
def _agent_token(agent: str) -> str:
    found = _TOKEN.match(agent)
    return found[0].lower() if found else ""


def _seconds(value: bytes) -> float | None:
    text = value.decode("latin-1")
    if not _SECONDS.fullmatch(text):
        return None
    seconds = float(text)
    return seconds if math.isfinite(seconds) else None


def _add_sitemap(sitemaps: dict[str, None], value: bytes, robots_url: str) -> None:
    try:
        location = read_location(value.decode("utf-8"), robots_url)
    except UnicodeDecodeError:
        return
    if location is not None and len(sitemaps) < MAX_SITEMAPS:
        sitemaps[location] = None


Robots.ALLOW_ALL = Robots({})
Robots.DISALLOW_ALL = Robots({ANYONE: _Group([(b"/", False)])})
