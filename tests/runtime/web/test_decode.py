"""Content codings: what is undone, what is refused, and that a cap is a cap in pieces of any size."""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.web.decode import Body, CorruptEncoding, UnsupportedEncoding, coding_of

TEXT = b"".join(b"<url><loc>https://example.com/%d</loc></url>" % n for n in range(3000))


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "raw": raw_deflate,
}


def read(coding: str, wire: bytes, *, limit: int = 10_000_000, piece: int = 1 << 20) -> Body:
    body = Body(coding, limit)
    for start in range(0, len(wire), piece):
        body.feed(wire[start : start + piece])
        while body.drain():
            pass
        if body.full:
            break
    return body


@pytest.mark.parametrize(
    ("values", "coding"),
    [
        ([], ""),
        ([""], ""),
        (["identity"], ""),
        ([" GZip "], "gzip"),
        (["x-gzip"], "gzip"),
        (["deflate"], "deflate"),
        (["identity, gzip"], "gzip"),
        (["gzip,"], "gzip"),
    ],
)
def test_one_known_coding_is_accepted(values: list[str], coding: str) -> None:
    """Names are case-insensitive; identity and empty elements say nothing (RFC 9110 5.6.1, 8.4)."""
    assert coding_of(values) == coding


@pytest.mark.parametrize("values", [["br"], ["zstd"], ["gzip, gzip"], ["gzip", "gzip"], ["gz"], ["gzip;q=1"]])
def test_any_other_coding_is_refused(values: list[str]) -> None:
    """What was not offered is not guessed at."""
    with pytest.raises(UnsupportedEncoding):
        coding_of(values)


@pytest.mark.parametrize("piece", [1, 2, 7, 1000, 1 << 20])
@pytest.mark.parametrize(
    ("coding", "wire"),
    [
        ("", TEXT),
        ("gzip", gzip.compress(TEXT)),
        ("gzip", gzip.compress(TEXT[:5000]) + gzip.compress(b"") + gzip.compress(TEXT[5000:])),
        ("gzip", gzip.compress(TEXT) + b"\0" * 100),
        ("gzip", gzip.compress(TEXT) + b"\x1f"),
        ("gzip", TEXT),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("deflate", zlib.compress(TEXT) + b"trailing"),
    ],
    ids=["identity", "gzip", "members", "padded", "half a magic", "false gzip", "zlib", "raw", "trailing"],
)
def test_a_whole_body_is_read_in_pieces_of_any_size(coding: str, wire: bytes, piece: int) -> None:
    """gzip with several members and padding, deflate with and without its wrapper, gzip that is none."""
    body = read(coding, wire, piece=piece)
    assert body.value() == TEXT
    assert body.ended
    assert not body.full


@pytest.mark.parametrize("coding", ["", "gzip", "deflate"])
def test_an_empty_body_is_whole(coding: str) -> None:
    """A server may announce a coding and send nothing."""
    body = Body(coding, 10)
    assert (body.value(), body.ended, body.full) == (b"", True, False)


@pytest.mark.parametrize("piece", [1, 1000])
@pytest.mark.parametrize("wire", [gzip.compress(TEXT)[:-1], gzip.compress(TEXT) + gzip.compress(TEXT)[:50], b"\x1f"])
def test_a_cut_stream_has_not_ended(wire: bytes, piece: int) -> None:
    """A missing byte of the last member's trailer is enough."""
    assert not read("gzip", wire, piece=piece).ended


@pytest.mark.parametrize(
    ("coding", "wire"),
    [
        ("gzip", gzip.compress(TEXT)[:30] + b"\xff" * 400),
        ("deflate", b"\xff\xff\xff"),
        ("gzip", b"\x1f\x8b\x09junkjunk"),
    ],
)
def test_a_corrupt_stream_is_an_error(coding: str, wire: bytes) -> None:
    """What zlib cannot read is no page."""
    with pytest.raises(CorruptEncoding):
        read(coding, wire)


def test_a_wrong_checksum_is_an_error() -> None:
    """A body that does not match its own CRC was damaged on the way."""
    wire = bytearray(gzip.compress(TEXT))
    wire[-8] ^= 1
    with pytest.raises(CorruptEncoding):
        read("gzip", bytes(wire))


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=3000), st.integers(0, 3000), st.integers(1, 500), st.sampled_from(["", "gzip", "deflate", "raw"])
)
def test_the_cap_holds_and_loses_nothing(data: bytes, limit: int, piece: int, coding: str) -> None:
    """At most `limit` bytes, exactly the first ones, and `full` only if there was more."""
    pack = PACKERS[coding]
    body = read("deflate" if coding == "raw" else coding, pack(data), limit=limit, piece=piece)
    assert body.value() == data[:limit]
    assert body.full == (len(data) > limit)


def test_a_bomb_is_inflated_in_small_steps() -> None:
    """One step gives at most one MiB, so that other sites get their turn."""
    body = Body("gzip", 50_000_000)
    body.feed(gzip.compress(bytes(10_000_000)))
    sizes = []
    while body.drain():
        sizes.append(len(body.value()))
    assert len(sizes) >= 9
    assert max(after - before for before, after in itertools.pairwise(sizes)) <= 1 << 20
    assert len(body.value()) == 10_000_000


@given(piece=st.integers(1, 40))
def test_what_follows_padding_is_padding(piece: int) -> None:
    """Behind the last member and its zeros nothing begins anew, wherever the pieces are cut."""
    body = read("gzip", gzip.compress(TEXT) + b"\0\0\0\x1f\x8b", piece=piece)

    assert body.value() == TEXT
    assert body.ended
