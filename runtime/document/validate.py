"""Is a text a llms.txt that every reader takes whole? The proposal's rules, Lighthouse's three, and what parsers add.

Rule names: S1 to S8 are those of the proposal ("Format", v2 of August 2026: file name, title, order, summary, details,
lists, items, Optional); `parser` is what the reference parsers (PyPI `llms-txt` 0.0.7) cannot read although it is
allowed; `lighthouse`, `size`, `duplicate`, `relative` and `private` are what checkers and readers ask for.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from runtime.document.descriptions import described
from runtime.document.model import OPTIONAL
from runtime.document.render import MAX_CHARS

MIN_CHARS = 50

_ITEM = re.compile(r"- \[([^\]\n]+)\]\(([^()\s<>]+)\)(?:: (\S.*))?$")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_ANY_LINK = re.compile(r"\[[^\]]+\]\([^)]+\)")
_LOCAL_NAMES = (".localhost", ".local", ".internal", ".test", ".invalid", ".lan", ".home.arpa")


@dataclass(frozen=True, slots=True)
class Problem:
    """A broken rule; `line` counts from 1, 0 stands for the whole file."""

    rule: str
    line: int
    message: str


def validate(text: str, *, url: str | None = None, public_only: bool = False) -> list[Problem]:
    """What is wrong with a file; an empty list is a good one.

    :param url: where it is published, if its name is to be checked.
    :param public_only: whether a link to a loopback, private or single-label host is a problem.
    """
    problems = list(_whole(text, url))
    lines = text.removeprefix("\ufeff").split("\n")
    headings = [number for number, line in enumerate(lines) if re.match(r"#{1,6}(\s|$)", line)]
    sections = [number for number in headings if lines[number].startswith("## ")]
    start = sections[0] if sections else len(lines)
    problems += _head(lines[:start])
    problems += _sections(lines, sections)
    problems += _items(lines, start, public_only=public_only)
    return sorted(problems, key=lambda problem: (problem.line, problem.rule))


def _whole(text: str, url: str | None) -> Iterator[Problem]:
    if url is not None and not urlsplit(url).path.endswith("/llms.txt"):
        yield Problem("S1", 0, "the file is not called llms.txt")
    if text.startswith("\ufeff"):
        yield Problem("parser", 1, "the file starts with a byte order mark")
    if not text.endswith("\n"):
        yield Problem("parser", 0, "the last line has no line end")
    for number, line in enumerate(text.split("\n"), 1):
        if _CONTROL.search(line):
            yield Problem("parser", number, "the line holds a control character or a line end other than LF")
    if len(text) >= MAX_CHARS:
        yield Problem("size", 0, f"the file has {len(text):,} characters; readers take fewer than {MAX_CHARS:,}")
    if not re.search(r"^# .", text, re.MULTILINE):
        yield Problem("lighthouse", 0, "there is no title line")
    if not _ANY_LINK.search(text):
        yield Problem("lighthouse", 0, "there is no link")
    if len(text) < MIN_CHARS:
        yield Problem("lighthouse", 0, f"the file has fewer than {MIN_CHARS} characters")


def _head(lines: list[str]) -> Iterator[Problem]:
    """Title, summary, details, in this order and each on one line."""
    blocks = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not blocks or not re.match(r"# \S", blocks[0][1]) or blocks[0][0] != 1:
        yield Problem("S2", 1, "the first line is not “# ” and the name of the site")
        return
    for number, line in blocks[1:]:
        if re.match(r"# ", line):
            yield Problem("S2", number, "there is a second title")
        elif re.match(r"#{2,6}", line):
            yield Problem("S5", number, "the details hold a heading")
    quotes = [(number, line) for number, line in blocks if line.startswith(">")]
    if not quotes:
        yield Problem("S4", 1, "there is no summary (“> …”) after the title")
    elif quotes[0][0] != blocks[1][0]:
        yield Problem("S3", quotes[0][0], "the summary is not directly after the title")
    elif not described(quotes[0][1].lstrip("> ")):
        yield Problem("S4", quotes[0][0], "the summary is empty or a placeholder")
    for number, _ in quotes[1:]:
        yield Problem("S4", number, "the summary has more than one line")
    if len(blocks) < 2 + bool(quotes):
        yield Problem("parser", 1, "without a line of details the reference parsers lose the summary")


def _sections(lines: list[str], sections: list[int]) -> Iterator[Problem]:
    names: dict[str, int] = {}
    for at, number in enumerate(sections):
        name = lines[number][3:].strip()
        end = sections[at + 1] if at + 1 < len(sections) else len(lines)
        if not any(line.strip() for line in lines[number + 1 : end]):
            yield Problem("S6", number + 1, f"the section “{name}” is empty")
        if name.casefold() in names:
            yield Problem("parser", number + 1, f"the section “{name}” is there twice; parsers lose the first")
        names[name.casefold()] = number
        if name.casefold() == OPTIONAL.casefold():
            if name != OPTIONAL:
                yield Problem("S8", number + 1, f"the section is spelled “{name}”, not “{OPTIONAL}”")
            if at + 1 < len(sections):
                yield Problem("S8", number + 1, f"the section “{OPTIONAL}” is not the last")
            if len(sections) == 1:
                yield Problem("S8", number + 1, f"the section “{OPTIONAL}” is the only one")


def _items(lines: list[str], start: int, *, public_only: bool) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for number, line in enumerate(lines[start:], start + 1):
        if not line.strip() or line.startswith("## "):
            continue
        item = _ITEM.match(line)
        if item is None:
            rule = "S7" if line.lstrip().startswith(("- ", "* ", "+ ")) else "S6"
            yield Problem(rule, number, "the line is not “- [title](url)” or “- [title](url): description”")
            continue
        target = item[2]
        if not re.match(r"https?://[^/]", target):
            yield Problem("relative", number, "the link is not an absolute http(s) URL")
        elif public_only and is_private(target):
            yield Problem("private", number, "the link leads to a host that only its own network can reach")
        if target in seen:
            yield Problem("duplicate", number, f"the link is in line {seen[target]} too")
        seen.setdefault(target, number)
        if item[3] and not described(item[3]):
            yield Problem("S4", number, "the description is a placeholder")


def is_private(url: str) -> bool:
    """Whether a URL's host is a loopback, private or otherwise local address, or a name without a public suffix."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or f".{host}".endswith(_LOCAL_NAMES)
