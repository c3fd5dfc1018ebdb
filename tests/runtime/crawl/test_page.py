"""One page, read: title, links, canonical, redirects, alternates, language."""

from __future__ import annotations

import pytest

from runtime.crawl.page import is_page_type, read_page
from runtime.crawl.text import undouble
from runtime.settings import CrawlLimits
from tests.runtime.crawl.pages import URL, html, read


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("<title>\n A \u00a0 B\u2028 </title>", "<h1>C</h1>", "A B"),
        ("<title></title>", "<h1>Nested <em>h<b>1</b></em></h1>", "Nested h1"),
        ("", "<svg><title>Menu</title></svg><h1>Contact</h1>", "Contact"),
        ("", "<svg><title>Menu</title></svg><title>Late but ours</title>", "Late but ours"),
        ("<title> </title><meta property=og:title content='From OG'>", "<h1>H</h1>", "From OG"),
        ("", "<h1><a href=/><img alt='Acme Docs' src=l.png></a></h1>", "Acme Docs"),
        ("", "<h1>Install<a class=headerlink href=#i>¶</a></h1>", "Install"),
        ("", "<h1>Two<br>lines</h1>", "Two lines"),
        ("<title>a<title>b</title>", "", "a<title>b"),
        ("", "", ""),
    ],
)
def test_the_title_is_found_wherever_the_page_has_one(head: str, body: str, title: str) -> None:
    """D-57, D24: empty, nested and SVG titles neither fail nor win; Open Graph and the heading stand in."""
    assert read(html(head, body)).title == title


def test_an_escape_that_was_doubled_is_undone_only_where_it_is_plain() -> None:
    """F7: the reader decodes once as HTML says; what is left is a mistake, unless the text is about markup."""
    title = read(html("<title>Tom &amp;amp; Jerry &#8211; Home | Acme</title>")).title
    assert title == "Tom &amp; Jerry – Home | Acme"
    assert undouble(title) == "Tom & Jerry – Home | Acme"
    assert undouble("It&#39;s&nbsp;&#x41;") == "It's A"
    for text in ("Use &amp; for <b>", "Write &lt; as &amp;lt;", "R&D; S&P", "&notaname; x", "plain"):
        assert undouble(text) == text


def test_links_come_once_in_document_order_without_fragments() -> None:
    """a and area, any host, each once, in the order of the document."""
    body = "<a href=/b#1>1</a><map><area href=a></map><a href=/b>2</a><a href=//other.example/x>3</a><a>4</a>"
    assert read(html(body=body)).links == (
        "https://example.com/b",
        "https://example.com/dir/a",
        "https://other.example/x",
    )


def test_nofollow_links_are_not_targets_but_the_same_target_may_be_linked_again() -> None:
    """rel is a list of tokens compared without case."""
    body = "<a rel='noopener NoFollow' href=/a>1</a><a rel=nofollowing href=/b>2</a><a rel=nofollow href=/c>3</a><a href=/c>4</a>"
    assert read(html(body=body)).links == ("https://example.com/b", "https://example.com/c")


def test_links_after_the_end_of_the_document_count() -> None:
    """The body goes on after a premature `</body></html>`, as in browsers."""
    page = read("<html><body><p>x</p></body></html>\n<html><body><a href=/late>y</a></body></html><p>tail text")
    assert page.links == ("https://example.com/late",)
    assert page.visible_chars == len("x y tail text") - 2


def test_a_template_is_not_part_of_the_page_unless_it_declares_a_shadow_root() -> None:
    """HTML Standard 4.12.3 and 4.12.3.1."""
    body = (
        "<template><a href=/no>x</a></template><div><template shadowrootmode=open><a href=/yes>y</a></template></div>"
    )
    assert read(html(body=body)).links == ("https://example.com/yes",)


def test_the_number_of_links_is_bounded() -> None:
    """A page gives at most `links_per_page` targets, the first ones."""
    body = "".join(f"<a href=/p/{number}>x</a>" for number in range(50))
    reading = read_page(html(body=body).encode(), URL, (), limits=CrawlLimits(links_per_page=10))
    assert reading.links == tuple(f"https://example.com/p/{number}" for number in range(10))


def test_a_shared_cache_changes_no_answer() -> None:
    """Pages read with one cache have the links they have without, whatever their base and form of href."""
    hrefs = (
        "a",
        "/a",
        "a/b?c",
        "?q",
        "../x",
        "//h.example/a",
        "https://example.com/a",
        "a:b",
        "\\x",
        " /a ",
        "",
        "ü?ü",
    )
    body = "".join(f"<a href='{href}'>x</a>" for href in hrefs)
    cache: dict[str, str | None] = {}
    for url in (URL, "https://example.com/other/", "http://www.example.com/dir/a", "https://example.com/dir/b?c#d"):
        for head in ("", "<base href=/v2/docs/>", "<base href=https://cdn.example.net/s/>"):
            page = html(head, body).encode()
            assert read_page(page, url, (), href_cache=cache).links == read_page(page, url, ()).links
    assert cache


@pytest.mark.parametrize(
    ("head", "headers", "canonical"),
    [
        ("<LINK REL='nofollow Canonical' HREF=/a>", [], "https://example.com/a"),
        ("<link rel=canonical href=/a><link rel=canonical href=/a#x>", [], "https://example.com/a"),
        ("<link rel=canonical href=/a><link rel=canonical href=/b>", [], None),
        ("", [("link", '</a>; rel="canonical"')], "https://example.com/a"),
        ("<base href=/v2/>", [("link", '<a>; rel="canonical"')], "https://example.com/dir/a"),
        ("<link rel=canonical href=/b>", [("link", '</a>; rel="canonical"')], None),
        ("", [("link", '</a>; rel="canonical"; anchor="/other"')], None),
        ("", [("link", '</x>; title="a, <b>"; rel=next, </a>;rel=canonical')], "https://example.com/a"),
        ("<noscript><link rel=canonical href=/a></noscript>", [], None),
        ("<noscript><img src=x></noscript><link rel=canonical href=/a>", [], "https://example.com/a"),
    ],
)
def test_the_canonical_is_what_head_and_header_agree_on(
    head: str, headers: list[tuple[str, str]], canonical: str | None
) -> None:
    """RFC 6596; declarations that disagree cancel each other."""
    assert read(html(head), *headers).canonical == canonical


def test_a_canonical_after_the_head_is_still_the_authors() -> None:
    """Between `</head>` and `<body>` the parser goes back to the head; in the body it is a visitor's."""
    assert read("<html><head></head><link rel=canonical href=/a><body>x").canonical == "https://example.com/a"
    assert read("<html><body>x</body><link rel=canonical href=/a></html>").canonical is None


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=/a", "https://example.com/a"),
        (" 5 ; URL = '/a' x", "https://example.com/a"),
        ("0, /a", "https://example.com/a"),
        ("0 /a", "https://example.com/a"),
        (".5;url=/a", "https://example.com/a"),
        ("0;urlx=a", "https://example.com/dir/urlx=a"),
        ("0;url=/a;b?c=&amp;d", "https://example.com/a;b?c=&d"),
        ("300", None),
        ("0;url=", None),
        ("x;url=/a", None),
        ("0x;url=/a", None),
        ("0;url=javascript:x", None),
        ("0;url=page.html#top", None),
    ],
)
def test_a_refresh_is_read_as_browsers_read_it(content: str, target: str | None) -> None:
    """HTML Standard, shared declarative refresh steps; a reload is no redirect."""
    assert read(html(f'<meta http-equiv=Refresh content="{content}">')).redirect == target


def test_the_first_refresh_wins_and_noscript_has_none() -> None:
    """A page for readers without scripts does not move the page for everybody."""
    head = (
        "<noscript><meta http-equiv=refresh content='0;url=/n'></noscript><meta http-equiv=refresh content='0;url=/a'>"
    )
    assert read(html(head + "<meta http-equiv=refresh content='0;url=/b'>")).redirect == "https://example.com/a"
    assert read(html(), ("refresh", "0;url=/h")).redirect == "https://example.com/h"


def test_markdown_alternates_and_languages_come_from_head_and_header() -> None:
    """T1, X12: typed alternates, absolute, each once."""
    head = (
        "<link rel=alternate type=text/markdown href=/raw/a.md><link rel=alternate type='application/rss+xml' href=/f>"
        "<link rel=alternate hreflang=DE href=/de/a><link rel=alternate hreflang=x-default href=/en/a>"
    )
    body = "<link rel=alternate type=text/markdown href=/visitor.md>"
    header = (
        "link",
        '</h.md>; rel=alternate; type="text/markdown; charset=utf-8", </fr/a>; rel=alternate; hreflang=fr',
    )
    reading = read(html(head, body), header)
    assert reading.markdown_alternates == ("https://example.com/raw/a.md", "https://example.com/h.md")
    assert reading.hreflangs == (
        ("de", "https://example.com/de/a"),
        ("x-default", "https://example.com/en/a"),
        ("fr", "https://example.com/fr/a"),
    )


@pytest.mark.parametrize(
    ("markup", "headers", "language"),
    [
        ("<html lang=pt-BR><p>x", [], "pt-BR"),
        ("<html xml:lang=de><p>x", [], "de"),
        ("<p>x", [("content-language", "fr")], "fr"),
        ("<p>x", [("content-language", "fr, en")], ""),
        ("<p>x", [], ""),
    ],
)
def test_the_language_is_the_roots_or_the_headers(markup: str, headers: list[tuple[str, str]], language: str) -> None:
    """A list of languages names none."""
    assert read(markup, *headers).language == language


def test_the_site_name_is_what_the_site_calls_itself() -> None:
    """Open Graph first, then the application's name."""
    names = "<meta name=application-name content=App><meta property=og:site_name content=' Acme  Docs '>"
    assert read(html(names)).site_name == "Acme Docs"
    assert read(html("<meta name=application-name content=App>")).site_name == "App"


@pytest.mark.parametrize(
    ("content_type", "body", "page"),
    [
        ("text/html; charset=utf-8", b"", True),
        ("application/xhtml+xml", b"", True),
        ("TEXT/HTML", b"x", True),
        ("application/json", b"<html>", False),
        ("text/plain", b"<html>", False),
        ("text/markdown", b"# x", False),
        ("", b"\xef\xbb\xbf\n <!-- c --><!DOCTYPE html>", True),
        ("", "<html>".encode("utf-16"), True),
        ("", b"<?xml version='1.0'?><html xmlns='x'>", True),
        ("", b"<?xml version='1.0'?><urlset>", False),
        ("", b"%PDF-1.7", False),
        ("", b'{"a": "<p>"}', False),
        ("", b"<abbr>", False),
        ("unknown/unknown", b"<p class=x>", True),
    ],
)
def test_only_html_is_a_page(content_type: str, body: bytes, page: bool) -> None:
    """D-58: a JSON or PDF answer is no page; a missing type is sniffed as the MIME Sniffing Standard says."""
    assert is_page_type(content_type, body) is page


@pytest.mark.parametrize("around", ["<div>{}</div>", "<object>{}</object>", "<noscript>{}</noscript>"])
def test_what_no_reader_sees_is_not_in_the_heading(around: str) -> None:
    """The text of scripts, graphics and form controls is left out of a heading, wherever that stands."""
    heading = "<h1>Guide<script>track()</script><svg><text>icon</text></svg><textarea>typed</textarea> to cats</h1>"
    page = read(html(body=around.format(heading)))
    assert page.h1 == page.title == "Guide to cats"
