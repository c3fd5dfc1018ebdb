"""What readers get now: the public object of a site and the section files that it links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime import keys
from runtime.document.model import Document
from runtime.document.parse import parse
from runtime.document.render import Rendered
from runtime.ports import Publisher, Stored


@dataclass(frozen=True, slots=True)
class Published:
    """The public object as it is, and each section file that it links by its URL; `missing` are those not there."""

    stored: Stored
    sections: Mapping[str, Stored] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @property
    def parts(self) -> dict[str, str]:
        """The texts of the section files, by URL."""
        return {url: part.body.decode("utf-8", "replace") for url, part in self.sections.items()}

    @property
    def document(self) -> Document:
        """The whole document, whoever wrote it."""
        return parse(self.text, self.parts)

    def is_whole(self, rendered: Rendered) -> bool:
        """Whether readers get exactly what they should, section files included."""
        if self.stored.body != rendered.text.encode():
            return False
        return sorted(self.parts.values()) == sorted(rendered.sections.values())

    @property
    def text(self) -> str:
        return self.stored.body.decode("utf-8", "replace")


async def read_published(publisher: Publisher, base_url: str) -> Published | None:
    """The published file of a site; None when there is none.

    :raises StoreDown: the store does not answer.
    """
    stored = await publisher.read(keys.public(base_url))
    if stored is None:
        return None
    sections, missing = {}, []
    for slug, url in section_slugs(publisher, base_url, stored.body).items():
        part = await publisher.read(keys.section(base_url, slug))
        if part is not None:
            sections[url] = part
        else:
            missing.append(url)
    return Published(stored, sections, tuple(missing))


def section_slugs(publisher: Publisher, base_url: str, body: bytes) -> dict[str, str]:
    """The section files that a root file links: slug -> public URL."""
    found = {}
    for link in parse(body.decode("utf-8", "replace")).links():
        slug = link.url.removesuffix("/llms.txt").rpartition("/")[2]
        if slug and link.url == publisher.url(keys.section(base_url, slug)):
            found[slug] = link.url
    return found
