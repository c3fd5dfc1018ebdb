"""The files that are published: shape, escaping, size."""

from __future__ import annotations

import hashlib
from urllib.parse import unquote

import pytest
from llms_txt.core import parse_llms_file  # type: ignore[import-untyped]
from llms_txt.miniparse import parse_llms_txt  # type: ignore[import-untyped]

from runtime.document.model import Document, Link, Section
from runtime.document.parse import parse
from runtime.document.render import MAX_CHARS, digest, item, render, write
from runtime.document.validate import validate
from tests.runtime.document.pages import BASE, document_of, page, rendered, section_url, text_of

LONG = "It explains in some detail what there is to know about this part of the product. "


def test_the_safe_shape_byte_for_byte() -> None:
    """Title, one summary line, one line of details, sections: LF, one blank line between blocks, a final newline."""
    document = Document(
        "Acme", "We make widgets.", "Details.", (Section("Guides", "guides", (Link("A", "https://a.example/", "B"),)),)
    )

    assert write(document) == (
        "# Acme\n\n> We make widgets.\n\nDetails.\n\n## Guides\n\n- [A](https://a.example/): B\n"
    )


def test_f1_brackets_in_a_title_do_not_cut_the_link() -> None:
    """`arr[0]` is written `arr(0)`: the reference parsers end a title at the first bracket, escaped or not."""
    text = text_of([page("/", "Acme"), page("/a", "Arrays: arr[0] & friends")])

    assert f"- [Arrays: arr(0) & friends]({BASE}/a)\n" in text
    assert len(parse_llms_file(text).sections["Main"]) == 2


def test_f2_parentheses_in_a_url_are_encoded() -> None:
    """The URL that a parser gets fetches the same page."""
    text = text_of([page("/", "Acme"), page("/wiki/Foo_(bar)", "Foo")])
    url = parse_llms_txt(text)["sections"]["Main"][1]["url"]

    assert url == f"{BASE}/wiki/Foo_%28bar%29"
    assert unquote(url) == f"{BASE}/wiki/Foo_(bar)"


@pytest.mark.parametrize(
    ("url", "want"),
    [
        ("https://[2001:db8::1]:8443/a[1]", "https://[2001:db8::1]:8443/a%5B1%5D"),
        ("https://]/[x", "https://%5D/%5Bx"),
        ("https://a.example/x?a=1&copy=2", "https://a.example/x?a=1&copy=2"),
        ("https://a.example/x?a=1&copy;=2", "https://a.example/x?a=1&copy%3B=2"),
        ("https://a.example/100%", "https://a.example/100%25"),
        ("https://a.example/%28done%29", "https://a.example/%28done%29"),
        ("https://a.example/a b\n", "https://a.example/a%20b%0A"),
    ],
)
def test_a_url_is_written_so_that_every_reader_takes_it_whole(url: str, want: str) -> None:
    """Only what a parser would stumble over is encoded; what is encoded already stays."""
    assert item(Link("T", url)) == f"- [T]({want})"


def test_f4_the_reference_parser_finds_the_summary() -> None:
    """Without a line of details it would lose it."""
    assert parse_llms_file(text_of([page("/", "Acme", "We make widgets.")])).summary == "We make widgets."


def test_f8_other_scripts_are_utf8_without_bom() -> None:
    """Japanese and Cyrillic titles, LF, no byte order mark."""
    body = text_of([page("/", "ドキュメント"), page("/a", "Привет, мир")]).encode()

    assert "ドキュメント".encode() in body
    assert "Привет".encode() in body
    assert b"\r" not in body
    assert not body.startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize(
    "lead", ["# ", "> ", "- ", "+ ", "* ", "1. ", "12) ", "--- ", "``` ", "~~~ ", "## x\n## y ", "=== "]
)
def test_d52_no_text_starts_a_block_of_its_own(lead: str) -> None:
    """Summary and details that look like headings, quotes, lists or fences are text."""
    document = Document(f"{lead}T", f"{lead}S", f"{lead}D", (Section("A", "a", (Link("x", "https://a.example/"),)),))
    text = write(document)
    ours = parse(text)

    assert validate(text) == []
    assert (ours.summary, ours.details) == (" ".join(f"{lead}S".split()), " ".join(f"{lead}D".split()))
    assert list(parse_llms_file(text).sections) == ["A"]


def test_d52_a_title_cannot_forge_a_section_or_a_link() -> None:
    """Line breaks collapse, brackets are gone: there is one section with the one link."""
    text = text_of(
        [page("/a", "Pricing\n## System\n- [free](https://evil.example/)", "x\n\n## Optional\n- [y](z)")], home=None
    )

    assert [len(links) for links in parse_llms_file(text).sections.values()] == [1]


def test_f11_a_large_site_becomes_a_root_and_section_files() -> None:
    """1,500 pages with long descriptions: every file is valid and under 50,000 characters, every page in one file."""
    pages = [page(f"/part{n % 7}/page-{n}", f"Page {n}", f"Number {n}. {LONG * 4}") for n in range(1_500)]
    pages += [
        page("/", "Acme", "We make widgets."),
        *(page(f"/legal/{n}", f"Law {n}", f"Law {n}. {LONG * 4}") for n in range(90)),
    ]
    document = document_of(pages)
    result = rendered(document)

    files = [result.text, *result.sections.values()]
    assert all(len(text) < MAX_CHARS for text in files)
    assert [validate(text) for text in files] == [[]] * len(files)
    assert all(parse_llms_file(text).summary == "We make widgets." for text in files)
    listed = [link.url for text in result.sections.values() for link in parse(text).links()]
    assert sorted(listed) == sorted(link.url for link in document.links())
    root = [link.url for link in parse(result.text).links()]
    assert root == [section_url(slug) for slug in result.sections]
    assert parse(result.text).sections[-1].name == "Optional"


def test_f11_a_short_optional_section_stays_in_the_root() -> None:
    """A file of its own for three legal pages would help nobody; parts of one section are about equally long."""
    pages = [page(f"/a/page-{n}", f"Page {n}", f"Number {n}. {LONG * 3}") for n in range(300)]
    result = rendered(document_of([*pages, page("/terms", "Terms"), page("/privacy", "Privacy")], home=None))

    assert "## Optional\n\n- [Privacy]" in result.text
    assert list(result.sections) == ["a", "a--2"]
    sizes = [len(text) for text in result.sections.values()]
    assert max(sizes) < 1.2 * min(sizes)


def test_f11_the_parts_together_are_the_document() -> None:
    """Reading the root with its section files gives back sections, titles and descriptions."""
    pages = [page(f"/part{n % 3}/page-{n}", f"Page {n}", f"Number {n}. {LONG * 3}") for n in range(600)]
    pages += [page("/legal/a"), page("/legal/b")]
    document = document_of(pages, home=None)
    result = rendered(document)
    read = parse(result.text, {section_url(slug): text for slug, text in result.sections.items()})

    assert len(result.sections) > 4
    assert [(s.name, s.links) for s in read.sections] == [(s.name, s.links) for s in document.sections]


def test_a_document_just_under_the_limit_stays_one_file() -> None:
    """The limit is exclusive: 49,999 characters are one file, 50,000 are not."""

    def sized(length: int) -> Document:
        link = Link("A", "https://a.example/")
        filler = length - len(write(Document("T", "S", "D", (Section("A", "a", (link,)),)))) - 2
        return Document("T", "S", "D", (Section("A", "a", (Link("A", link.url, "x" * filler),)),))

    assert rendered(sized(49_999)).sections == {}
    assert len(rendered(sized(49_999)).text) == 49_999
    assert list(rendered(sized(50_000)).sections) == ["a"]


def test_the_hash_covers_everything_published() -> None:
    """One file: the SHA-256 of its bytes. Several: a change in any of them is another hash."""
    small = rendered(document_of([page("/", "Acme")]))
    assert small.sha256 == hashlib.sha256(small.text.encode()).hexdigest()

    large = rendered(document_of([page(f"/a/{n}", f"T{n}", f"{n}. {LONG * 5}") for n in range(300)], home=None))
    changed = {slug: text.replace("T299", "T300") for slug, text in large.sections.items()}
    assert large.sha256 == digest(large.text, large.sections)
    assert digest(large.text, changed) != large.sha256


def test_section_urls_are_asked_only_when_needed() -> None:
    """A caller that cannot publish sections is not asked for a small site."""

    def unwanted(slug: str) -> str:
        raise AssertionError(slug)

    assert render(document_of([page("/", "Acme")]), section_url=unwanted).sections == {}
