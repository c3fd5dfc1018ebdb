"""A document with other descriptions and another summary: same links, same order, same sections. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

from runtime.document.excerpt import excerpt
from runtime.document.model import Document, Link, Section
from runtime.enhance.prompt import VERSION, Item


def items_of(document: Document, model: str) -> list[Item]:
    """Every text that a model may rewrite, each once: the summary, then the descriptions in the order of the file.

    A link without a description gets none: a model that knows only a title would make something up.
    """
    found = [Item(_key(model, "summary", document.title, document.summary), document.title, document.summary)]
    found += [Item(link_key(model, link), link.title, link.description) for link in document.links()]
    return list({item.key: item for item in found if item.text}.values())


def link_key(model: str, link: Link) -> str:
    """Where the text of a link is remembered: it depends on the model, the prompt and what the page says."""
    return _key(model, "link", link.title, link.description)


def rewritten(document: Document, texts: Mapping[str, str], model: str, limit: int) -> Document:
    """The document with the texts that there are; what has none, or an empty one, stays as it is."""

    def described(link: Link) -> Link:
        text = texts.get(link_key(model, link), "")
        return replace(link, description=excerpt(text, limit)) if text and link.description else link

    def within(section: Section) -> Section:
        return replace(section, links=tuple(described(link) for link in section.links))

    summary = texts.get(_key(model, "summary", document.title, document.summary), "")
    return replace(
        document,
        summary=excerpt(summary, limit) or document.summary,
        sections=tuple(within(section) for section in document.sections),
    )


def _key(model: str, *parts: str) -> str:
    said = json.dumps([model, VERSION, *parts], ensure_ascii=False).encode("utf-8", "surrogatepass")
    return hashlib.sha256(said).hexdigest()[:32]
