"""The encoding of a page: who decides, and that every label of the Encoding Standard can be read."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.crawl.charset import header_codec, prescan, read_text
from runtime.crawl.encodings import CODECS, REPLACEMENT, codec_of, decode


def test_every_label_has_a_codec_that_exists() -> None:
    """All 228 labels; the names of the Standard itself are among them."""
    assert len(CODECS) == 228
    for codec in set(CODECS.values()) - {REPLACEMENT}:
        assert codecs.lookup(codec)
    assert codec_of(" ISO-8859-1\n") == "cp1252"
    assert codec_of("utf-7") is None


@given(st.binary(max_size=200), st.sampled_from(sorted(set(CODECS.values()))))
def test_no_bytes_in_any_encoding_raise(body: bytes, codec: str) -> None:
    """What an encoding lacks becomes U+FFFD, and the text can be written as UTF-8."""
    assert decode(body, codec).encode("utf-8", "strict") is not None


@given(st.binary(max_size=300), st.text(max_size=40))
def test_no_page_and_no_header_makes_the_reader_raise(body: bytes, content_type: str) -> None:
    """Any bytes with any Content-Type are some text."""
    text, codec = read_text(body, content_type)
    assert isinstance(text, str)
    assert codec in set(CODECS.values())


@pytest.mark.parametrize(
    ("start", "codec"),
    [
        (b"<meta charset=koi8-r>", "koi8_r"),
        (b"<META content='text/html;charset=windows-1255' http-equiv=Content-Type>", "cp1255"),
        (b"<meta http-equiv=refresh content='charset=koi8-r'><meta name=x content='charset=big5'>", None),
        (b"<!-- <meta charset=koi8-r> --><meta charset=big5>", "cp950"),
        (b"<!--><meta charset=koi8-r>", "koi8_r"),
        (b"<a title='<meta charset=koi8-r>'><meta charset=big5>", "cp950"),
        (b"<?php > <meta charset=koi8-r>", "koi8_r"),
        (b"</a charset=x <meta charset=big5><meta charset=koi8-r>", "koi8_r"),
        (b"<metafoo charset=koi8-r>", None),
        (b"<meta/charset='koi8-r'/>", "koi8_r"),
        (b"<meta charset=utf-16le>", "utf-8"),
        (b"<meta charset=nonsense><meta charset=koi8-r>", "koi8_r"),
        (b"<meta charset=x-user-defined>", "cp1252"),
        (b"<?xml version='1.0' encoding='iso-8859-2'?><p>", "iso8859_2"),
        ("<?x".encode("utf-16-le"), "utf-16-le"),
        (b"<meta charset='koi8-r", None),
        (b"<!-- <meta charset=koi8-r>", None),
    ],
)
def test_the_prescan_sees_what_browsers_see(start: bytes, codec: str | None) -> None:
    """HTML Standard, "prescan a byte stream to determine its encoding"."""
    assert prescan(start) == codec


@pytest.mark.parametrize(
    ("content_type", "codec"),
    [
        ("text/html; charset=UTF-8", "utf-8"),
        ('text/html;charset="koi8-r";x=y', "koi8_r"),
        ("text/html; x=charset=koi8-r", None),
        ("text/html; charset='koi8-r'", None),
        ("text/html; charset=nonsense", None),
        ("charset=utf-8", None),
    ],
)
def test_the_header_names_an_encoding_or_none(content_type: str, codec: str | None) -> None:
    """An unknown label is as good as none."""
    assert header_codec(content_type) == codec


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"\xff\xfea\0", "text/html; charset=koi8-r", "a"),
        ("žluť".encode("utf-16-be"), "text/html; charset=utf-16be", "žluť"),
        ("žluť".encode(), "text/html", "žluť"),
        ("žluť".encode()[:-1], "", "žlu\ufffd"),
        (b"caf\xe9", "", "café"),
        (b" " * 3_000 + b"<meta charset=windows-1251>\xcf", "", " " * 3_000 + "<meta charset=windows-1251>П"),
        (b"\x81\x80", "text/html; charset=latin1", "\x81€"),
        ("①".encode("euc_jis_2004"), "text/html; charset=euc-jp", "①"),
        (b"\xfc\xe2\xa1\xc1\xa1\xdd\x8e\xb1\x8f\xb0\xa1\xa4<", "text/html; charset=euc-jp", "髙～－ｱ丂\ufffd<"),
        (b"\x1b$B-!!A\x1b(I1\x1b(J\\~\x1b(B\xff", "text/html; charset=iso-2022-jp", "①～ｱ¥‾\ufffd"),
        (b"\x80\xc4\xe3\xff<", "text/html; charset=gbk", "€你\ufffd<"),
        (b"\xa1\xe3\xf9\xd6", "text/html; charset=big5", "～碁"),
        (b"abc", "text/html; charset=iso-2022-kr", "\ufffd"),
        (b"", "text/html; charset=iso-2022-kr", ""),
    ],
)
def test_bytes_become_the_text_a_browser_shows(body: bytes, content_type: str, text: str) -> None:
    """BOM before header before prescan; UTF-8 where it fits; vendors' rows and C1 bytes as the Standard maps them."""
    assert read_text(body, content_type)[0] == text
