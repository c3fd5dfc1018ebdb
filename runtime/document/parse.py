"""Read a published llms.txt back, ours or anybody's. Never raises: what cannot be understood is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from runtime.document.escape import unescape
from runtime.document.headings import slugs_of
from runtime.document.model import OPTIONAL, Document, Link, Section
from runtime.document.text import plain

_H1 = re.compile(r"\s{0,3}#(?:\s+(.*))?$")
_HEADING = re.compile(r"\s{0,3}#{2,6}(?:\s+(.*))?$")
_QUOTE = re.compile(r"\s{0,3}>\s?(.*)$")
_BULLET = re.compile(r"\s*(?:[-*+](?=[\s\[])|\d{1,9}[.)])\s*(.*)$")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_CLOSING = re.compile(r"(?:^|\s)#+$")
_SEPARATOR = re.compile(r"\s*(?::|[-–—](?=\s))\s*")
_PART_URL = re.compile(r"/llms\.txt$")
_PART_COUNT = re.compile(r"(\d{1,6}) pages?\b")


def parse(text: str, parts: Mapping[str, str] | None = None) -> Document:
    """The document in a file. A BOM, CRLF, other bullets, unescaped brackets, H3 and text around lists are tolerated.

    :param parts: the texts of section files by URL; a link to one of them is replaced by the sections it holds.
    """
    document = _parse(text)
    return document if not parts else _joined(document, parts)


def entries(document: Document) -> int:
    """How many pages a parsed file lists, those in section files that it only links included."""
    count = 0
    for link in document.links():
        pages = _PART_COUNT.match(link.description) if _PART_URL.search(link.url) else None
        count += int(pages[1]) if pages else 1
    return count


def _parse(text: str) -> Document:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    title = ""
    quote: list[str] = []
    details: list[str] = []
    found: list[tuple[str, list[Link]]] = []
    fenced = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
            continue
        heading = None if fenced else _HEADING.match(line)
        first = None if fenced or title or found else _H1.match(line)
        if heading:
            found.append((_heading_text(heading[1]), []))
        elif first:
            title = _heading_text(first[1])
        elif found:
            found[-1][1].extend(_links(line))
        elif title and _BULLET.match(line) and (links := list(_links(line))):  # a list before any H2
            found.append(("Pages", links))
        elif title and (quoted := _QUOTE.match(line)) and not details:
            quote.append(quoted[1])
        elif title and line.strip():
            details.append(line)
    return Document(
        title=title,
        summary=_line(quote),
        details=_line(details),
        sections=_sections(found),
    )


def _line(lines: list[str]) -> str:
    return plain(unescape(" ".join(line.strip() for line in lines)))


def _heading_text(text: str | None) -> str:
    return plain(unescape(_CLOSING.sub("", (text or "").strip())))


def _sections(found: list[tuple[str, list[Link]]]) -> tuple[Section, ...]:
    """Sections of one name, without regard to case, are one section; empty ones are dropped."""
    merged: dict[str, tuple[str, list[Link]]] = {}
    for given, links in found:
        name = given or "Pages"
        merged.setdefault(name.casefold(), (name, []))[1].extend(links)
    kept = [(name, links) for name, links in merged.values() if links]
    slugs = slugs_of(name.casefold() for name, _ in kept)
    sections = [Section(name, slugs[name.casefold()], tuple(links)) for name, links in kept]
    return tuple(sorted(sections, key=lambda section: section.name == OPTIONAL))


def _links(line: str) -> Iterator[Link]:
    """The link of a list item: `- [title](url): description`, and what other writers make of it."""
    bullet = _BULLET.match(line)
    body = bullet[1] if bullet else line.strip()
    if not body.startswith("["):
        return
    close = _matching(body, 0, "[", "]")
    if body[close + 1 : close + 2] != "(" or close < 0:
        close = body.find("](")
    if close < 0:
        return
    end = _matching(body, close + 1, "(", ")")
    if end < 0:
        return
    target = body[close + 2 : end].strip()
    url = target[1:].partition(">")[0] if target.startswith("<") else target.split()[0] if target else ""
    if not url:
        return
    title = plain(unescape(body[1:close])) or url
    rest = body[end + 1 :]
    mark = _SEPARATOR.match(rest)
    yield Link(title, url, plain(unescape(rest[mark.end() if mark else 0 :])))


def _matching(text: str, at: int, opening: str, closing: str) -> int:
    """The index of the bracket that closes the one at `at`; -1 if there is none. Escaped ones do not count.

    Where brackets do not balance, the first that closes anything is taken, as the reference parsers do.
    """
    depth, first = 0, -1
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == opening:
            depth += 1
        elif char == closing:
            first = at if first < 0 else first
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return first


def _joined(document: Document, parts: Mapping[str, str]) -> Document:
    """The document with its section files in the place of the links to them."""
    found: list[tuple[str, list[Link]]] = []
    for section in document.sections:
        for link in section.links:
            inner = _parse(parts[link.url]) if link.url in parts else None
            if inner is None:
                found.append((section.name, [link]))
            elif section.name == OPTIONAL:
                found.append((OPTIONAL, list(inner.links())))
            else:
                found.extend((part.name, list(part.links)) for part in inner.sections)
    return replace(document, sections=_sections(found))
