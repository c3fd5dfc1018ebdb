"""Pages for the tests of the document: made from a few words, or from a hostile alphabet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from runtime.document.build import build
from runtime.document.model import Document
from runtime.document.render import Rendered, render
from runtime.models import SiteOptions
from runtime.reading import Page

BASE = "https://docs.example.com"
HOME = f"{BASE}/"


def page(path: str, title: str = "", description: str = "", **more: Any) -> Page:
    return Page(url=f"{BASE}{path}", title=title or path.strip("/") or "Acme", description=description, **more)


def document_of(pages: Sequence[Page], *, home: str | None = HOME, base_url: str = BASE, desc: int = 500) -> Document:
    return build(pages, base_url, SiteOptions(desc_length=desc), home=home)


def section_url(slug: str) -> str:
    return f"https://files.example.com/docs.example.com/sections/{slug}/llms.txt"


def rendered(document: Document) -> Rendered:
    return render(document, section_url=section_url)


def text_of(pages: Sequence[Page], **more: Any) -> str:
    return rendered(document_of(pages, **more)).text


def section_names(document: Document) -> list[str]:
    return [section.name for section in document.sections]


def titles_in(document: Document, section: str) -> list[str]:
    return [link.title for found in document.sections if found.name == section for link in found.links]


HOSTILE = (
    *"[]()<>#*_`~|\\!&;:-+=.'\"{}%@^$?/ \t\n\r\x00\x0b\x1b\x7f\x85aZ1é漢ا👩",
    *("\u2028", "\u202e", "\u200b", "\u200d", "\ufeff", "\ufffe", "\ud83d", "\udc00", "\U000e0041", "\U0001f3f4"),
    *("## ", "\n# ", "\n- [x](https://evil.example/)", "](https://evil.example/)", "&amp;", "&#91;", "&copy;"),
    *("<script>", "<!--", "```", "\n> ", "Optional", "Acme", " | Acme", "  ", "undefined", "…", "Dr. ", ". "),
)

hostile_text = st.lists(st.sampled_from(HOSTILE), max_size=14).map("".join) | st.text(max_size=30)
hostile_path = st.lists(
    st.sampled_from(
        [*HOSTILE, "docs", "legal", "optional", "Optional", "main", "a", "b", "index.html", "en", "v2", "/"]
    ),
    max_size=8,
).map("".join)
hostile_urls = st.builds(
    lambda host, path, query: f"https://{host}/{path}{query}",
    st.sampled_from(["docs.example.com", "www.docs.example.com", "[::1]:8080", "example.org"]),
    hostile_path,
    st.sampled_from(["", "?a=(b)&copy;=1", "?q=[x]"]),
)
hostile_pages = st.lists(
    st.builds(
        Page,
        url=hostile_urls,
        title=hostile_text,
        description=hostile_text,
        twin=st.none() | hostile_urls,
        site_name=st.just("") | hostile_text,
    ),
    max_size=12,
)
