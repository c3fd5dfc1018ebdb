"""Whatever a site calls its pages, every reader gets the same links, title and summary out of the file."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from llms_txt.core import parse_llms_file  # type: ignore[import-untyped]
from llms_txt.miniparse import parse_llms_txt  # type: ignore[import-untyped]
from markdown_it import MarkdownIt

from runtime.document.build import build
from runtime.document.escape import escape, escape_heading, escape_line, unescape
from runtime.document.model import Document, Link, Section
from runtime.document.parse import parse
from runtime.document.render import render, write
from runtime.document.text import plain
from runtime.document.validate import validate
from runtime.models import SiteOptions
from tests.runtime.document.pages import BASE, hostile_pages, hostile_text, section_url

Links = list[tuple[str, str, str]]


def _reference(parsed: Any) -> tuple[str, str, dict[str, Links]]:
    sections = {
        name: [(link["title"], link["url"], link["desc"] or "") for link in links]
        for name, links in parsed["sections"].items()
    }
    return parsed["title"], parsed["summary"], sections


def _ours(document: Document) -> tuple[str, str, dict[str, Links]]:
    sections = {
        section.name: [(link.title, link.url, link.description) for link in section.links]
        for section in document.sections
        if section.links
    }
    return document.title, document.summary, sections


def _unescaped(reading: tuple[str, str, dict[str, Links]]) -> tuple[str, str, dict[str, Links]]:
    title, summary, sections = reading
    return (
        unescape(title),
        unescape(summary),
        {
            unescape(name): [(unescape(title), url, unescape(text)) for title, url, text in links]
            for name, links in sections.items()
        },
    )


def _commonmark(text: str) -> Links:
    """Link text, target and the text after the colon of every link that CommonMark sees."""
    found: Links = []
    for token in MarkdownIt("commonmark").parse(text):
        assert token.type != "html_block"
        inside, first = False, len(found)
        for child in token.children or ():
            assert child.type in {"text", "text_special", "link_open", "link_close"}, f"markup came through: {child}"
            if child.type == "link_open":
                inside = True
                found.append(("", str(child.attrs["href"]), ""))
            elif child.type == "link_close":
                inside = False
            elif len(found) > first:
                title, url, desc = found[-1]
                found[-1] = (title + child.content, url, desc) if inside else (title, url, desc + child.content)
    return [(title, url, desc.removeprefix(": ")) for title, url, desc in found]


@given(pages=hostile_pages, home=st.booleans(), desc_length=st.sampled_from([50, 500, 2_000]))
def test_hostile_pages_are_read_alike_by_all_parsers(pages: list[Any], home: bool, desc_length: int) -> None:
    """Both reference parsers, our own and CommonMark give back the document's title, summary and links."""
    document = build(pages, BASE, SiteOptions(desc_length=desc_length), home=pages[0].url if home and pages else None)
    text = render(document, section_url=section_url).text

    reference = _reference(parse_llms_file(text))
    assert reference == _reference(parse_llms_txt(text))
    assert _unescaped(reference) == _ours(document)
    assert _ours(parse(text)) == _ours(document)
    links = [link for section in _ours(document)[2].values() for link in section]
    assert _commonmark(text) == links


@given(pages=hostile_pages)
def test_re_emitting_what_was_parsed_gives_the_same_bytes(pages: list[Any]) -> None:
    """Writing, reading and writing again changes nothing."""
    text = write(build(pages, BASE, SiteOptions(), home=None))

    assert write(parse(text)) == text


@given(pages=hostile_pages)
def test_what_is_built_is_valid(pages: list[Any]) -> None:
    """Every document with a link passes our own checker, and every one encodes as UTF-8 with LF alone."""
    document = build(pages, BASE, SiteOptions(), home=pages[0].url if pages else None)
    text = render(document, section_url=section_url).text

    assert text.encode().decode() == text
    assert "\r" not in text
    if any(document.links()):
        assert validate(text) == []


documents = st.builds(
    Document,
    title=hostile_text,
    summary=hostile_text,
    details=hostile_text,
    sections=st.lists(
        st.builds(
            Section,
            name=hostile_text,
            slug=st.just("x"),
            links=st.lists(
                st.builds(Link, title=hostile_text, url=st.just("https://a.example/"), description=hostile_text),
                min_size=1,
                max_size=3,
            ).map(tuple),
        ),
        max_size=1,
    ).map(tuple),
)


@given(document=documents)
def test_any_document_at_all_is_written_safely(document: Document) -> None:
    """Texts that never went through `build`, such as model-written ones, cannot break out of their line either."""
    text = write(document)

    reference = _reference(parse_llms_file(text))
    assert reference == _reference(parse_llms_txt(text))
    assert sum(len(links) for links in reference[2].values()) == sum(1 for _ in document.links())
    assert [url for _, url, _ in _commonmark(text)] == [link.url for link in document.links()]
    assert write(parse(text)) == text


@given(hostile_text)
def test_escaping_loses_nothing(text: str) -> None:
    """Every escaped text can be read back, and cleaning twice is cleaning once."""
    line = plain(text)

    assert plain(line) == line
    assert unescape(escape(line)) == line
    assert unescape(escape_line(line)) == line
    assert unescape(escape_heading(line)) == line
