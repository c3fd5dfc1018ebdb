"""The document: pages to a file that every reader takes whole, and anybody's file to values and back.

An input of `document` is records of url, title, description and site name, divided by the separators of ASCII; the
first is the home page. An input of `llms_txt` is a file.
"""

from __future__ import annotations

import random
import re
import zlib
from dataclasses import replace
from typing import Any, Final
from unicodedata import category

from llms_txt.core import parse_llms_file  # type: ignore[import-untyped]
from llms_txt.miniparse import parse_llms_txt  # type: ignore[import-untyped]
from markdown_it import MarkdownIt

from runtime.document.build import build
from runtime.document.changes import compare_documents
from runtime.document.escape import unescape
from runtime.document.model import Document
from runtime.document.parse import entries, parse
from runtime.document.render import render, write
from runtime.document.validate import validate
from runtime.models import SiteOptions
from runtime.reading import Page
from tests.cases.markdown import reference_items
from tests.fuzz.sitemaps import cases
from tests.fuzz.target import Target, claim

BASE: Final = "https://example.com/docs"
MANY, LARGE = 150, 60
"""So many copies of its pages one input in sixty has: what does not fit into one file is written as several."""

RECORD, FIELD = "\x1e", "\x1f"
TOKENS: Final = tuple(
    text.encode()
    for text in (
        RECORD, FIELD, f"{RECORD}https://example.com/docs/", "https://example.com/docs/a/b.html", f"?a&copy;=1#x{FIELD}", "(", ")", "[", "]",
        "](", "](http://evil.example)", "![x](y)", "<", ">", "<!--", "-->", "<b>", "<http://x.example>", "&amp;", "&lt;", "&#91;", "&copy;", "\\",
        "\\]", "`", "```", "~~~", "*", "**", "_", "__", "#", "##", "## Optional", "# ", "> ", "- ", "+ ", "1. ", "---", "===", "    ", "\t", "|",
        " | Acme", " - Acme", "Acme: ", "Optional", "optional", "Pages", "Main", "Home", ": ", " : ", "Untitled", "No description available",
        "{{x}}", "Lorem ipsum", "http://[::1]/", "%28", "%29", "%5B", "%", "/v1/", "/en/", "/latest/", "/blog/", "/legal/", "/index.html", "$",
        "https://example.com/docs/%E3%81%82", "\n- [x](https://x.example/): y", "\n## ", "\n\n", "\r", "Ω", "i.e. ", "3 pages",
    )
)  # fmt: skip


class _CommonMark(MarkdownIt):
    """Without the rewriting of URLs, which is not CommonMark's."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - the parser's own name
        return url

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return True


_COMMONMARK: Final = _CommonMark("commonmark")


def seeds() -> list[bytes]:
    found = []
    for given in cases("format"):
        records = (
            FIELD.join((page["url"], page.get("title") or "", page.get("description") or ""))
            for page in given["pages"][:40]
        )
        found.append(RECORD.join(records).encode("utf-8", "surrogatepass"))
    many = (
        FIELD.join((f"{BASE}/{part}/{at}", f"Page {at} | Acme", "It says what it is. " * at))
        for part in "abc"
        for at in range(5)
    )
    return [*found, RECORD.join(many).encode()]


def file_seeds() -> list[bytes]:
    return [_text(_pages(seed)).encode() for seed in seeds()] + [
        b"# T\n\n> S\n\nD\n\n## A\n\n- [a](https://a.example/): b\n### C\n* [x](/y)\n\n## Optional\n1. [z](<https://z.example/a b>) - d\n",
        b"\xef\xbb\xbf# T #\r\n> a\r\n> b\r\n\r\n```\r\n## no\r\n```\r\n- [a [b]](u(v)w): x\r\n",
    ]


def read(data: bytes) -> object:
    pages = _pages(data)
    options = SiteOptions(desc_length=(50, 120, 500)[zlib.crc32(data) % 3])
    home = pages[0].url if pages and len(data) % 4 else None
    document = build(pages, BASE, options, home=home)
    rendered = render(document, section_url=_section_url)
    shuffled = list(pages)
    random.Random(data).shuffle(shuffled)
    claim(
        render(build(shuffled, BASE, options, home=home), section_url=_section_url) == rendered,
        "the order of pages matters: ",
    )
    wanted = {link.url for link in document.links()}
    text = write(document)
    claim(len(wanted) == sum(1 for _ in document.links()), "a page is listed twice: ")
    for one in (text, rendered.text, *rendered.sections.values()):
        _judge(one)
    if wanted:
        listed = [problem for problem in validate(rendered.text) if problem.rule != "S8"]
        claim(not listed, f"not valid: {listed}")
    claim({link.url for link in parse(text).links()} == wanted, "links are lost: ")
    parts = {_section_url(slug): part for slug, part in rendered.sections.items()}
    whole = parse(rendered.text, parts)
    claim({link.url for link in whole.links()} == wanted, "links are lost in the section files: ")
    claim(not compare_documents(whole, whole), "a document differs from itself: ")
    return rendered.text, sorted(rendered.sections.items()), rendered.sha256


def read_file(data: bytes) -> object:
    document = parse(data.decode("utf-8", "replace"))
    text = write(document)
    again = parse(text)
    claim(write(again) == text, "writing what was written changes it: ")
    claim(
        entries(document) >= 0 and validate(data.decode("utf-8", "replace"), public_only=True) is not None,
        "no answer: ",
    )
    _judge(text)
    return text


def _pages(data: bytes) -> list[Page]:
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    pages = []
    for record in text.split(RECORD)[:60]:
        url, title, description, name = (*record.split(FIELD), "", "", "", "")[:4]
        pages.append(Page(url=url, title=title, description=description, site_name=name))
    if zlib.crc32(data) % LARGE == 0:
        pages += [_copy(page, at) for at in range(1 + MANY // len(pages)) for page in pages]
    return pages


def _copy(page: Page, at: int) -> Page:
    """Another page of the same words, further down."""
    base, slash, rest = page.url.partition("/docs/")
    return replace(page, url=f"{base}{slash}{at % 3}/{at}/{rest}", description=f"{page.description} {at}" * 3)


def _text(pages: list[Page]) -> str:
    return write(build(pages, BASE, SiteOptions(), home=pages[0].url))


def _section_url(slug: str) -> str:
    return f"https://files.example/{slug}/llms.txt"


def _judge(text: str) -> None:
    """Our reader, both reference parsers and CommonMark see the same title, sections and links."""
    claim(text.encode().decode() == text and "\r" not in text, "not LF and UTF-8: ")
    claim(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), "a control character: ")
    ours = parse(text)
    first, second = _reference(parse_llms_file(text)), _reference(parse_llms_txt(text))
    claim(first == second, f"the reference parsers disagree: {first} {second}")
    claim(first == _values(ours), f"a reference parser reads otherwise: {first} {_values(ours)}")
    claim(None not in reference_items(text), "a line that is no item: ")
    links = [(link.title, link.url, link.description) for link in ours.links()]
    claim(_commonmark(text) == links, f"CommonMark reads otherwise: {_commonmark(text)} {links}")


Values = tuple[str, str, dict[str, list[tuple[str, str, str]]]]


def _reference(parsed: Any) -> Values:
    sections = {
        unescape(name): [(unescape(link["title"]), link["url"], unescape(link["desc"] or "")) for link in links]
        for name, links in parsed["sections"].items()
    }
    return unescape(parsed["title"]), unescape(parsed["summary"]), sections


def _values(document: Document) -> Values:
    sections = {
        section.name: [(link.title, link.url, link.description) for link in section.links]
        for section in document.sections
    }
    return document.title, document.summary, sections


def _commonmark(text: str) -> list[tuple[str, str, str]]:
    """Text, target and description of every link; anything but links and text is a finding."""
    found: list[tuple[str, str, str]] = []
    for token in _COMMONMARK.parse(text):
        claim(token.type not in ("html_block", "fence", "code_block", "hr"), f"a block of another kind: {token.type}")
        inside, first = False, len(found)
        for child in token.children or ():
            claim(child.type in {"text", "text_special", "link_open", "link_close"}, f"markup came through: {child}")
            if child.type == "link_open":
                inside = True
                found.append(("", str(child.attrs["href"]), ""))
            elif child.type == "link_close":
                inside = False
            elif len(found) > first:
                title, url, desc = found[-1]
                found[-1] = (title + child.content, url, desc) if inside else (title, url, desc + child.content)
    return [(title, url, desc.removeprefix(": ")) for title, url, desc in found]


def _features(answer: object) -> list[str]:
    """Which marks stand in which kind of line, and how many sections there are."""
    text = answer if isinstance(answer, str) else str(answer[0]) if isinstance(answer, tuple) else ""
    marks = {(line[:2], char if char.isascii() else category(char)) for line in text.split("\n") for char in line[2:]}
    return [*(f"{kind}{mark}" for kind, mark in marks if not mark.isalnum()), f"{text.count('## ')} sections"]


TARGETS: Final = (
    Target("document", seeds, TOKENS, read, _features, seconds=5.0),
    Target("llms_txt", file_seeds, TOKENS, read_file, _features),
)
