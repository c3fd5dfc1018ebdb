"""No bytes make the page reader raise, and none make it slow."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml.html import fromstring

from runtime.crawl.judge import LOGIN_CHARS
from runtime.crawl.obstacles import BLANK_CHARS, CHALLENGE_CHARS, SHELL_CHARS
from runtime.crawl.page import is_page_type, read_page
from runtime.crawl.text import COUNTED_CHARS, length_of, visible_chars
from runtime.settings import CrawlLimits

PIECES = st.sampled_from(
    [
        b"<a href=",
        b"<title>",
        b"</title>",
        b"<svg>",
        b"<meta name=robots content=",
        b"<meta charset=utf-16>",
        b"<base href=",
        b"<link rel=canonical href=",
        b"http-equiv=refresh content='0;url=",
        b"<template>",
        b"<noscript>",
        b"<script>",
        b"<!--",
        b"<p>",
        b"<h1>",
        b"</body>",
        b"</html>",
        b"<html>",
        b"<head>",
        b"<frameset>",
        b"<?xml encoding='",
        b"<![CDATA[",
        b"'",
        b'"',
        b">",
        b"\x00",
        b"\xff\xfe",
        b"&#xD800;",
        b"&amp;amp;",
        b"\xed\xa0\x80",
        b"<input type=password>",
        b"<plaintext>",
        b"<x-y>",
    ]
)
PAGES = st.lists(st.one_of(PIECES, st.binary(max_size=12)), max_size=25).map(b"".join)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["content-type", "link", "x-robots-tag", "refresh", "content-language", "cf-mitigated"]),
        st.text(alphabet="<>;,=\"'/ :abcharset=utf-8relcanonicalnoindexunavailable_after0123456789\xe9", max_size=60),
    ),
    max_size=4,
)


@given(PAGES, HEADERS)
@settings(deadline=None, max_examples=500)
def test_any_bytes_and_headers_are_some_reading(body: bytes, headers: list[tuple[str, str]]) -> None:
    """Every text is one line that can be written as UTF-8; every URL is absolute."""
    reading = read_page(body, "https://example.com/a", headers, href_cache={})
    for text in (reading.title, reading.h1, reading.description, reading.site_name):
        assert text == " ".join(text.split())
        assert text.encode("utf-8") is not None
    targets = [*reading.links, *reading.markdown_alternates, *(url for _, url in reading.hreflangs)]
    for url in (*targets, *filter(None, (reading.canonical, reading.redirect))):
        assert url.startswith(("https://", "http://"))
    assert isinstance(is_page_type(headers[0][1] if headers else "", body), bool)


@given(PAGES, st.text(max_size=30))
@settings(deadline=None, max_examples=100)
def test_a_page_with_any_url_is_some_reading(body: bytes, url: str) -> None:
    """Even the URL of the page may be nonsense."""
    assert read_page(body, url, ()) == read_page(body, url, ())


@given(st.lists(st.sampled_from(["\ufffd", " ", "\t\r\n", "\u00a0", "\v", "é", "𝒳", "word", "<i>", "</i>", "<br>"])))
@settings(deadline=None, max_examples=500)
def test_the_length_of_a_text_is_that_of_its_characters(pieces: list[str]) -> None:
    """ASCII white space is collapsed, what stands for bytes that are no text is left out, in whatever order."""
    element = fromstring(f"<p>{''.join(pieces)}</p>")
    written = "".join(map(str, element.itertext())).replace("\ufffd", "")
    assert length_of(element) == len(re.sub("[ \t\r\n]+", " ", written).strip(" "))


PARAGRAPHS = st.sampled_from(
    ["<p>", "</p>", "<i>", "</i>", "<table><tr><td>", "</table>", "<br>", "\ufffd" * 50, " \n\t" * 40]
)
WORDS = st.sampled_from(["word " * 40, "w" * 130, "é\u00a0" * 60, "日本" * 45, "x"])


@given(st.lists(st.one_of(PARAGRAPHS, WORDS), max_size=30))
@settings(deadline=None, max_examples=500)
def test_visible_text_is_counted_up_to_a_thousand_characters(pieces: list[str]) -> None:
    """The short cut over the paragraphs never says "enough" of a text that is shorter."""
    body = fromstring(f"<div>{''.join(pieces)}</div>")
    assert visible_chars(body) == min(length_of(body), COUNTED_CHARS)


def test_what_is_decided_by_length_is_decided_within_what_is_counted() -> None:
    """No limit of the judgements lies beyond the last character that is counted."""
    assert max(CHALLENGE_CHARS, SHELL_CHARS, BLANK_CHARS, LOGIN_CHARS) <= COUNTED_CHARS


MIB = 1_000_000

HOSTILE = {
    "attributes": b"<a x='>' " + b" ".join(b"a%d=1" % number for number in range(140_000)) + b">",
    "attributes in a row": b"<a " + b"".join(b'a%d="1"' % number for number in range(90_000)) + b">",
    "attributes without values": b"<a " + b"/".join(b"=a%d" % number for number in range(120_000)) + b">",
    "open tags": b"<a " * (MIB // 3),
    "deep": b"<div>" * 2_000 + b"<p>x" * 200_000,
    "deep titles": b"<svg>" * 1_900 + b"<title></title>" * 60_000,
    "deep objects": b"<object>" * 2_000 + b"<i a=b c=d e=f>x</i>" * 49_000,
    "deep graphics": b"<svg>" * 1_900 + b"<h1>x" * 100 + b"<svg></svg>" * 27_000 + b"<i>x</i>" * 80_000,
    "distinct links": b"".join(b"<a href=x%d>" % number for number in range(70_000)),
    "useless links": b"".join(b"<a href='javascript:%d'>" % number for number in range(40_000)),
    "long base": b"<base href='" + b"a/" * (MIB // 2) + b"'>" + b"".join(b"<a href=x%d>" % n for n in range(2_000)),
    "refresh": b"<meta http-equiv=refresh content='" + b"0" * MIB + b"x'>",
    "robots": b"<meta name=robots content='" + b"unavailable_after:1," * (MIB // 20) + b"'>",
    "script": b"<script>" + b"window._pxAppId" * (MIB // 15) + b"</script>",
    "breaks": b"<p>" + b"<br>" * (MIB // 4),
    "title": b"<title>" + b"- " * (MIB // 2) + b"</title>",
    "paragraph": b"<p>" + b"cookie javascript " * (MIB // 18),
    "comments": b"<meta charset=utf-8><!--" * (MIB // 24),
    "xml": b"<?xml " + b" encoding=" * (MIB // 10),
    "nul": b"\0" * MIB,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_megabyte_takes_no_more_than_moments(name: str) -> None:
    """Work is linear in the bytes: none of these takes minutes, as several do in a naive reader."""
    started = time.process_time()
    reading = read_page(HOSTILE[name], "https://example.com/", (), href_cache={})
    assert time.process_time() - started < 5
    assert len(reading.links) <= CrawlLimits().links_per_page


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("link", "<a>;rel=x," * 6_000),
        ("link", "<" * 60_000),
        ("link", '<a>;x="' + "\\a" * 30_000),
        ("x-robots-tag", "unavailable_after: a," * 3_000),
        ("content-type", ";charset " * 6_000),
        ("refresh", "0" * 60_000 + "x"),
    ],
)
def test_a_hostile_header_takes_no_more_than_moments(name: str, value: str) -> None:
    """The same for header lines as long as the transport lets through."""
    started = time.process_time()
    read_page(b"<p>x", "https://example.com/", ((name, value),))
    assert time.process_time() - started < 1


def test_a_control_character_after_a_line_break_is_white_space() -> None:
    """libxml2 hands out characters that it does not take back; reading a text never writes one."""
    sentence = "a paragraph long enough to say something about this page."
    body = f"<h1>One<br>\x0btwo</h1><p>Here is<br>\x01{sentence}</p>".encode()

    reading = read_page(body, "https://example.com/", [])

    assert reading.h1 == "One two"
    assert reading.description == f"Here is \x01{sentence}"
