"""gzip files (RFC 1952), inflated piece by piece: several members, wrong checksums and cut files included."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Final

MAGIC: Final = b"\x1f\x8b"
PIECE: Final = 1 << 20
MEMBERS: Final = 1_024
"""Members that are read. Blocks of 64 KiB, the smallest that writers make (BGZF), come to more than a sitemap may have;
smaller ones cost CPU and give nothing.
"""

_INPUT: Final = 1 << 16
_FHCRC, _FEXTRA, _FNAME, _FCOMMENT = 2, 4, 8, 16


def gunzip(
    data: bytes, damaged: Callable[[str], None], remark: Callable[[str], None], *, size: int = PIECE
) -> Iterator[bytes]:
    """The content in pieces of at most `size` bytes.

    :param damaged: told when the stream ends early or cannot be read on; what came before is given.
    :param remark: told about a checksum that does not fit; the data is given all the same.
    """
    at = members = 0
    while data.startswith(MAGIC, at):
        members += 1
        if members > MEMBERS:
            damaged(f"the gzip stream has more than {MEMBERS} members")
            return
        at = _header_end(data, at)
        checksum = 0
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        piece, waiting = b"", b""
        while not inflater.eof:
            if not waiting and len(piece) < size:
                waiting = data[at : at + _INPUT]
                at += len(waiting)
                if not waiting:
                    damaged("the gzip stream ends early")
                    return
            try:
                piece = inflater.decompress(waiting, size)
            except zlib.error:
                damaged("the gzip stream is damaged")
                return
            waiting = inflater.unconsumed_tail
            checksum = zlib.crc32(piece, checksum)
            yield piece
        at -= len(inflater.unused_data)
        if data[at : at + 4] != checksum.to_bytes(4, "little"):
            remark("the gzip checksum does not fit")
        at += 8


def _header_end(data: bytes, at: int) -> int:
    """Where the deflate stream of the member at `at` begins (RFC 1952 2.3)."""
    flags = data[at + 3] if len(data) > at + 3 else 0
    end = at + 10
    if flags & _FEXTRA:
        end += 2 + int.from_bytes(data[end : end + 2], "little")
    for flag in (_FNAME, _FCOMMENT):
        if flags & flag:
            zero = data.find(b"\0", end)
            end = zero + 1 if zero >= 0 else len(data)
    return end + (2 if flags & _FHCRC else 0)
