"""What a llms.txt says, as values: a title, a summary, one line of details, and sections of links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

OPTIONAL = "Optional"
"""The section of secondary links: spelled exactly so, and last (llms.txt proposal, "Format")."""


@dataclass(frozen=True, slots=True)
class Link:
    """One item: `[title](url): description`, unescaped. `url` is absolute."""

    title: str
    url: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """An H2 and its list. `slug` names the section in URLs: lower-case ASCII letters, digits and single hyphens."""

    name: str
    slug: str
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A whole file. Every text is one line; section names differ, also without regard to case."""

    title: str
    summary: str
    details: str
    sections: tuple[Section, ...] = ()

    def links(self) -> Iterator[Link]:
        for section in self.sections:
            yield from section.links

    def placed(self) -> dict[str, tuple[Section, Link]]:
        """Each listed URL with its section and its link; the first of two links to one URL counts."""
        found: dict[str, tuple[Section, Link]] = {}
        for section in self.sections:
            for link in section.links:
                found.setdefault(link.url, (section, link))
        return found
