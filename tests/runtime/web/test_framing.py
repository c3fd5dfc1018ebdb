"""Answers whose framing two parsers could read in two ways, or that are all framing: RFC 9112, llhttp's and Go's CVEs."""

from __future__ import annotations

import pytest

from runtime.web.incoming import Incoming, Malformed

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

REFUSED = {
    "space before the colon": OK + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "vertical tab": OK + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "chunked twice": OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked not last": OK + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "gzip as transfer coding": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "almost chunked": OK + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "length beside chunks": OK + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    "list of lengths": OK + b"Content-Length: 3, 3\r\n\r\nabc",
    "length with a plus": OK + b"Content-Length: +3\r\n\r\nabc",
    "length below zero": OK + b"Content-Length: -3\r\n\r\nabc",
    "length in hex": OK + b"Content-Length: 0x3\r\n\r\nabc",
    "length over 64 bits": OK + b"Content-Length: 18446744073709551617\r\n\r\nabc",
    "length with underscore": OK + b"Content-Length: 1_0\r\n\r\nabc",
    "length of nothing": OK + b"Content-Length:\r\n\r\nabc",
    "length in two words": OK + b"Content-Length: 1 0\r\n\r\nabc",
    "folded line": OK + b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "bare CR": OK + b"X: a\rContent-Length: 5\r\n\r\n",
    "bare LF": b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    "NUL in a value": OK + b"X: a\0b\r\nContent-Length: 0\r\n\r\n",
    "no colon": OK + b"XYZ\r\nContent-Length: 0\r\n\r\n",
    "no name": OK + b": x\r\n\r\n",
    "space before the first name": OK + b" X: y\r\n\r\n",
    "HTTP/0.9": b"<html>",
    "HTTP/1.2": b"HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n",
    "status of two digits": b"HTTP/1.1 99 X\r\n\r\n",
    "status of four digits": b"HTTP/1.1 1000 X\r\n\r\n",
    "status with a plus": b"HTTP/1.1 +20 X\r\n\r\n",
    "ICY": b"ICY 200 OK\r\n\r\n",
    "chunk below zero": CHUNKED + b"-1\r\n\r\n",
    "chunk with 0x": CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
    "chunk over 64 bits": CHUNKED + b"ffffffffffffffffff\r\n",
    "LF in a chunk extension": CHUNKED + b"3;a\nabc\r\n0\r\n\r\n",
    "chunks ended by LF": CHUNKED + b"3\nabc\n0\n\n",
    "chunk longer than it says": CHUNKED + b"3\r\nabcdef\r\n0\r\n\r\n",
    "space behind a chunk size": CHUNKED + b"3 \r\nabc\r\n0\r\n\r\n",
    "two answers": OK + b"Content-Length: 0\r\n\r\n" + OK + b"Content-Length: 0\r\n\r\n",
    "body behind a 204": b"HTTP/1.1 204 X\r\nContent-Length: 3\r\n\r\nabc",
    "endless reason": b"HTTP/1.1 200 " + b"a" * 200_000,
    "endless chunk extension": CHUNKED + b"1;" + b"a" * 400_000,
    "an extension on every chunk": CHUNKED + (b"1;" + b"a" * 1_000 + b"\r\nx\r\n") * 300,
    "endless trailers": CHUNKED + b"0\r\n" + b"X: y\r\n" * 50_000,
}


def read(wire: bytes, *, size: int = 16_384) -> tuple[Incoming, bytes]:
    incoming, body = Incoming(), b""
    for place in range(0, len(wire), size):
        incoming.feed(wire[place : place + size])
        body += incoming.take()
    return incoming, body


@pytest.mark.parametrize("name", REFUSED)
def test_framing_that_can_be_read_in_two_ways_is_refused(name: str) -> None:
    """Whatever the size of the reads, no such answer is taken for one."""
    for size in (1 << 20, 16_384, 1_000):
        with pytest.raises(Malformed):
            read(REFUSED[name], size=size)


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        pytest.param(CHUNKED + b"1\r\nx\r\n" * 100_000 + b"0\r\n\r\n", b"x" * 100_000, id="one byte a chunk"),
        pytest.param(CHUNKED + b"3;name=value\r\nabc\r\n0\r\n\r\n", b"abc", id="an extension"),
        pytest.param(CHUNKED + b"3\r\nabc\r\n0\r\nETag: x\r\n\r\n", b"abc", id="a trailer"),
        pytest.param(OK + b"Content-Length: 400000\r\n\r\n" + b"x" * 400_000, b"x" * 400_000, id="a length"),
    ],
)
def test_framing_that_is_only_unusual_is_read(wire: bytes, body: bytes) -> None:
    """Small chunks, extensions and trailers are HTTP."""
    incoming, found = read(wire)
    assert (incoming.done, found) == (True, body)
