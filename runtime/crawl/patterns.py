"""Path patterns of robots.txt, compiled: which rule decides about a path (RFC 9309 2.2.2, 2.2.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

_SAME_DECODED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~()")
"""Unreserved characters, and the parentheses that `urls.normalize` decodes."""

_ODD: Final = re.compile(rb"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~/:?@!&'()+,;=*$]")
_SPECIAL: Final = re.compile(rb"[*$]")


class _Wildcard(NamedTuple):
    length: int
    allow: bool
    first: bytes
    middle: tuple[bytes, ...]
    last: bytes | None
    """What the path must end with (`$`), or None for a pattern that is open at the end."""

    def matches(self, path: bytes) -> bool:
        if not path.startswith(self.first):
            return False
        at = len(self.first)
        for part in self.middle:  # the first place that fits leaves most room for the rest: no need to come back
            found = path.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return self.last is None or (len(path) - len(self.last) >= at and path.endswith(self.last))


class Rules:
    """The rules of one agent: the longest that matches decides, allow wins a tie, no match allows."""

    __slots__ = ("_lengths", "_prefixes", "_whole", "_wildcards")

    def __init__(self, rules: Iterable[tuple[bytes, bool]]) -> None:
        self._prefixes: dict[bytes, bool] = {}
        self._whole: dict[bytes, bool] = {}
        wildcards: dict[bytes, bool] = {}
        for value, allow in rules:
            if value[:1] not in (b"/", b"*"):  # no pattern by the grammar; it could match no path
                continue
            pattern = canonical(value)
            end = b"$" if pattern.endswith(b"$") else b""
            pattern = pattern.removesuffix(b"$").replace(b"$", b"%24")  # a sign at the end, a character elsewhere
            if b"*" in pattern:
                table, key = wildcards, pattern + end
            else:
                table, key = self._whole if end else self._prefixes, pattern
            table[key] = table.get(key, False) or allow
        self._lengths = sorted({len(prefix) for prefix in self._prefixes}, reverse=True)
        compiled = [_compile(pattern, allow) for pattern, allow in wildcards.items()]
        self._wildcards = sorted(compiled, key=lambda rule: (rule.length, rule.allow), reverse=True)

    def allow(self, path: bytes) -> bool:
        """The verdict on a path in the form of `path_of`."""
        length, allow = self._plain(path)
        for rule in self._wildcards:
            if rule.length < length:
                break
            if (rule.length > length or rule.allow) and rule.matches(path):
                return rule.allow
        return allow

    def _plain(self, path: bytes) -> tuple[int, bool]:
        """The length and verdict of the longest rule without a wildcard."""
        whole = self._whole.get(path)
        if whole is not None:
            return len(path) + 1, whole
        for size in self._lengths:
            verdict = self._prefixes.get(path[:size]) if size <= len(path) else None
            if verdict is not None:
                return size, verdict
        return 0, True


def path_of(url: str) -> bytes:
    """The path and query of an absolute URL in the form that rules are compared in; never empty."""
    rest = url.partition("#")[0].partition("://")[2]
    start = next((i for i, char in enumerate(rest) if char in "/?"), len(rest))
    path = canonical(rest[start:].encode("utf-8", "surrogatepass"))
    if b"*" in path or b"$" in path:  # in a URL they are characters, not signs
        path = _SPECIAL.sub(lambda found: b"%%%02X" % found[0][0], path)
    return path if path.startswith(b"/") else b"/" + path


def canonical(text: bytes) -> bytes:
    """Percent-encoding made equal: unreserved characters decoded, other octets that need it encoded, in upper case."""
    return _ODD.sub(_octet, text)


def _octet(found: re.Match[bytes]) -> bytes:
    token = found[0]
    if len(token) == 1:
        return b"%%%02X" % token[0]
    value = int(token[1:], 16)
    return bytes((value,)) if value in _SAME_DECODED else token.upper()


def _compile(pattern: bytes, allow: bool) -> _Wildcard:
    anchored = pattern.endswith(b"$")
    first, *rest = pattern.removesuffix(b"$").split(b"*")
    last = rest.pop() if anchored else None
    return _Wildcard(len(pattern), allow, first, tuple(filter(None, rest)), last)
