"""Content codings undone: whole and in pieces, under a cap."""

from __future__ import annotations

import gzip
import zlib
from typing import Any, Final

from runtime.web.decode import Body, CorruptEncoding
from tests.fuzz.sitemaps import split
from tests.fuzz.target import Target, claim


def coded(data: bytes) -> object:
    """A body in a content coding, fed whole and in pieces; the first byte chooses the coding."""
    coding = "deflate" if data[:1] > b"\x80" else "gzip"
    whole = _inflated(coding, [data[1:]])
    pieces = _inflated(coding, split(data[1:], zlib.crc32(data)))
    claim(whole == pieces, f"pieces are inflated otherwise: {whole!r} {pieces!r}")
    return whole


def _inflated(coding: str, pieces: Any) -> object:
    body = Body(coding, 20_000)
    try:
        for piece in pieces:
            body.feed(piece)
            while body.drain():
                pass
            if body.full:
                break
    except CorruptEncoding:
        return "corrupt"
    claim(len(body.value()) <= 20_000, "a body is larger than its cap: ")
    return body.value(), body.full, body.full or body.ended


def coded_seeds() -> list[bytes]:
    text = b"Every page of the site. " * 30
    packed = gzip.compress(text, mtime=0)
    return [
        b"\x00" + packed, b"\x00" + packed + packed, b"\x00" + packed[:60], b"\x00" + text, b"\x00" + packed + b"\0" * 9, b"\x00",
        b"\xff" + zlib.compress(text), b"\xff" + zlib.compress(text, wbits=-15), b"\x00" + gzip.compress(b"\0" * 100_000, mtime=0),
        b"\x00" + b"\x1f\x8b\x08\x1e\x00\x00\x00\x00\x00\x03\x02\x00ab" + b"n\0c\0" + b"\0\0" + packed[10:],
    ]  # fmt: skip


TARGETS: Final = (Target("coding", coded_seeds, (b"\x1f\x8b", b"\x1f\x8b\x08\x00", b"\x78\x9c", b"\0\0\0\0"), coded),)
