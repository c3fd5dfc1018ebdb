"""What readers of a published file see in it: a CommonMark parser, and the regular expression of AnswerDotAI/llms-txt."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

EMPHASIS = "\x00"
"""Stands in a link's text for an emphasis mark, so that a lost `*` shows."""

_ITEM = re.compile(r"-\s*\[(?P<title>[^\]]+)\]\((?P<url>[^\)]+)\)(?::\s*(?P<desc>.*))?")


@dataclass(slots=True)
class Link:
    url: str
    text: str = ""
    desc: str = ""


@dataclass(slots=True)
class Document:
    headings: list[tuple[int, str]] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)
    raw_html: list[str] = field(default_factory=list)

    @property
    def h1(self) -> list[str]:
        return [text for level, text in self.headings if level == 1]


def read(source: str) -> Document:
    """The headings, links (with the text after each), block quotes and raw HTML of a file."""
    out, stack = Document(), list[str]()
    tokens = MarkdownIt("commonmark").parse(source)
    for place, token in enumerate(tokens):
        if token.type.endswith("_open"):
            stack.append(token.type)
        elif token.type.endswith("_close"):
            stack.pop()
        if token.type == "heading_open":
            inline = tokens[place + 1].children or []
            words = "".join(child.content for child in inline if child.type in ("text", "code_inline"))
            out.headings.append((int(token.tag[1]), words))
        elif token.type == "html_block":
            out.raw_html.append(token.content)
        elif token.type == "inline":
            if "blockquote_open" in stack:
                out.quotes.append("".join(c.content if c.type == "text" else " " for c in token.children or []))
            _read_inline(token.children or [], out)
    return out


def _read_inline(children: list[Token], out: Document) -> None:
    current: Link | None = None
    first = len(out.links)
    for child in children:
        if child.type == "html_inline":
            out.raw_html.append(child.content)
        if child.type == "link_open":
            current = Link(str(child.attrs["href"]))
        elif child.type == "link_close" and current is not None:
            out.links.append(current)
            current = None
        elif child.type in ("text", "code_inline", "html_inline", "text_special"):
            words = f"`{child.content}`" if child.type == "code_inline" else child.content
            if current is not None:
                current.text += words
            elif len(out.links) > first:
                out.links[-1].desc += words
        elif child.type in ("em_open", "em_close") and current is not None:
            current.text += EMPHASIS


def reference_items(source: str) -> list[tuple[str, str, str | None] | None]:
    """(title, url, description) of each line under an H2 as the reference parser sees it; None for a line it cannot read."""
    items: list[tuple[str, str, str | None] | None] = []
    for section in re.split(r"^##\s*(?:.*?$)", source, flags=re.MULTILINE)[1:]:
        for line in re.split(r"\n+", section.strip()):
            if line.strip():
                match = _ITEM.search(line)
                items.append((match["title"], match["url"], match["desc"]) if match else None)
    return items
