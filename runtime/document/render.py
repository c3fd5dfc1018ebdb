"""From a document to the files that are published: the shape that every known reader of llms.txt takes whole.

    # Title / > one line / one line of details / ## Section / - [Title](https://…): one line

LF, UTF-8 without BOM, one blank line between blocks, a final newline, under 50,000 characters a file. A document that
does not fit becomes a root file whose sections are files of their own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runtime.document.escape import escape, escape_heading, escape_line, escape_url, without_brackets
from runtime.document.excerpt import excerpt
from runtime.document.model import OPTIONAL, Document, Link, Section
from runtime.document.text import plain

MAX_OPTIONAL_CHARS = 5_000
MAX_CHARS = 50_000
"""Readers cut longer files, some without saying so (AFDocs warns from 50,000 characters)."""

PARTS_SECTION = "Sections"
PARTS_DETAILS = (
    "The site has too many pages for one file. Each link below is a file that lists the pages of one section."
)


@dataclass(frozen=True, slots=True)
class Rendered:
    """What is published: the root file, further files by slug, and a SHA-256 (hex) that covers all of them.

    Of a document in one file it is the hash of that file's bytes.
    """

    text: str
    sections: Mapping[str, str] = field(default_factory=dict)
    sha256: str = ""


def render(document: Document, *, section_url: Callable[[str], str]) -> Rendered:
    """Write a document.

    :param section_url: the public URL of the file of a slug; only asked when one file does not hold the document.
    """
    lines = _Lines()
    if sum(len(lines[link]) for link in document.links()) < MAX_CHARS:
        text = _written(document, lines)
        if len(text) < MAX_CHARS:
            return Rendered(text=text, sections={}, sha256=digest(text, {}))
    split = [section for section in document.sections if not _stays(section, lines)]
    parts = [part for section in split for part in _parts(document, section, lines)]
    files = {part.slug: _written(part.document, lines) for part in parts}
    root = _root(document, parts, section_url, lines, described=True)
    if len(root) >= MAX_CHARS:
        root = _root(document, parts, section_url, lines, described=False)
    return Rendered(text=root, sections=files, sha256=digest(root, files))


def write(document: Document) -> str:
    """A document as one file, however long. Texts are made one line; sections without links are left out."""
    return _written(document, _Lines())


class _Lines(dict[Link, str]):
    """The line of each link, written once."""

    def __missing__(self, link: Link) -> str:
        line = self[link] = item(link)
        return line


def _written(document: Document, lines: _Lines) -> str:
    title = plain(document.title) or "Site"
    summary = plain(document.summary) or title
    details = plain(document.details) or summary
    blocks = [f"# {escape_heading(title)}", f"> {escape_line(summary)}", escape_line(details)]
    for section in document.sections:
        if section.links:
            blocks.append(f"## {escape_heading(plain(section.name) or 'Pages')}")
            blocks.append("\n".join([lines[link] for link in section.links]))
    return "\n\n".join(blocks) + "\n"


def item(link: Link) -> str:
    """One line of a list: `- [title](url): description`, without the colon where there is no description."""
    url = escape_url(link.url)
    title = escape(without_brackets(plain(link.title))) or url.translate({91: "(", 93: ")"})
    description = escape(plain(link.description))
    return f"- [{title}]({url}): {description}" if description else f"- [{title}]({url})"


def digest(text: str, sections: Mapping[str, str]) -> str:
    """The SHA-256 of everything published."""
    root = hashlib.sha256(text.encode()).hexdigest()
    if not sections:
        return root
    parts = {slug: hashlib.sha256(part.encode()).hexdigest() for slug, part in sections.items()}
    return hashlib.sha256(json.dumps([root, parts], sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Part:
    """One file of a section."""

    slug: str
    label: str
    optional: bool
    document: Document

    def link(self, url: str, *, described: bool) -> Link:
        """The root's item for it: how many pages it has, and the first and the last of them."""
        links = self.document.sections[0].links
        if len(links) == 1:
            return Link(self.label, url, f"1 page: {excerpt(links[0].title, 40)}")
        span = f", from {excerpt(links[0].title, 40)} to {excerpt(links[-1].title, 40)}" if described else ""
        return Link(self.label, url, f"{len(links)} pages{span}")


def _stays(section: Section, lines: _Lines) -> bool:
    """Whether a section is kept in the root: `Optional` is, while it is short."""
    return section.name == OPTIONAL and sum(len(lines[link]) for link in section.links) <= MAX_OPTIONAL_CHARS


def _root(
    document: Document,
    parts: Sequence[_Part],
    section_url: Callable[[str], str],
    lines: _Lines,
    *,
    described: bool,
) -> str:
    primary = tuple(part.link(section_url(part.slug), described=described) for part in parts if not part.optional)
    secondary = tuple(part.link(section_url(part.slug), described=described) for part in parts if part.optional)
    secondary += tuple(link for section in document.sections if _stays(section, lines) for link in section.links)
    sections = (Section(PARTS_SECTION, "sections", primary), Section(OPTIONAL, OPTIONAL.lower(), secondary))
    return _written(Document(document.title, document.summary, PARTS_DETAILS, sections), lines)


def _parts(document: Document, section: Section, lines: _Lines) -> list[_Part]:
    """A section as files of its own. Slugs of later parts have a double hyphen, which no section's slug has."""
    frame = len(write(_part(document, section, (Link("x", "x"),), "x" * (len(section.name) + 30)).document))
    chunks = _chunks(section.links, MAX_CHARS - 1 - 2 * frame, lines)
    parts = []
    for number, links in enumerate(chunks, 1):
        name = _plain_name(section)
        label = f"{name}, part {number} of {len(chunks)}" if len(chunks) > 1 else name
        part = _part(document, section, tuple(links), label)
        parts.append(part if number == 1 else replace(part, slug=f"{section.slug}--{number}"))
    return parts


def _plain_name(section: Section) -> str:
    """`Optional` cannot be a file's only section, so there it has another name."""
    return "Further pages" if section.name == OPTIONAL else section.name


def _part(document: Document, section: Section, links: tuple[Link, ...], label: str) -> _Part:
    whole = Document(
        title=f"{document.title}: {label}",
        summary=document.summary,
        details=f"This file lists the section “{label}” of {document.title}.",
        sections=(Section(_plain_name(section), section.slug, links),),
    )
    return _Part(section.slug, label, section.name == OPTIONAL, whole)


def _chunks(links: Sequence[Link], room: int, lines: _Lines) -> list[list[Link]]:
    """Runs of links of about equal length whose lines fit into `room` characters.

    A line that alone is longer loses its description.
    """
    kept = [link if len(lines[link]) < room else Link(excerpt(link.title, 150), link.url) for link in links]
    sizes = [len(lines[link]) + 1 for link in kept]
    fewest = len(_filled(kept, sizes, room))
    return _filled(kept, sizes, min(room, sum(sizes) // fewest + max(sizes)))


def _filled(links: Sequence[Link], sizes: Sequence[int], room: int) -> list[list[Link]]:
    chunks: list[list[Link]] = []
    left = -1
    for link, size in zip(links, sizes, strict=True):
        if size > left:
            chunks.append([])
            left = room
        chunks[-1].append(link)
        left -= size
    return chunks
