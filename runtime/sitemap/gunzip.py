"""gzip files (RFC 1952), inflated piece by piece: several members, wrong checksums and cut files included."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
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
    pieces: Iterable[bytes], damaged: Callable[[str], None], remark: Callable[[str], None], *, size: int = PIECE
) -> Iterator[bytes]:
    """The content in pieces of at most `size` bytes.

    :param damaged: told when the stream ends early or cannot be read on; what came before is given.
    :param remark: told about a checksum that does not fit; the data is given all the same.
    """
    given = _Input(pieces)
    members = 0
    while given.peek(len(MAGIC)) == MAGIC:
        members += 1
        if members > MEMBERS:
            damaged(f"the gzip stream has more than {MEMBERS} members")
            return
        _skip_header(given)
        checksum = 0
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        piece, waiting = b"", b""
        while not inflater.eof:
            if not waiting and len(piece) < size:
                waiting = given.take()
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
        given.back(len(inflater.unused_data))
        if given.peek(4) != checksum.to_bytes(4, "little"):
            remark("the gzip checksum does not fit")
        given.skip(8)


class _Input:
    """Bytes that come in pieces, read one after another."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._data, self._at = b"", 0

    def peek(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""
        while len(self._data) - self._at < size:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._data, self._at = self._data[self._at :] + piece, 0
        return self._data[self._at : self._at + size]

    def skip(self, size: int) -> None:
        self._at += len(self.peek(size))

    def take(self) -> bytes:
        """Some of the next bytes; none at the end."""
        self.peek(1)
        data = self._data[self._at : self._at + _INPUT]
        self._at += len(data)
        return data

    def back(self, size: int) -> None:
        """The last bytes taken were too many."""
        self._at -= size

    def skip_text(self) -> None:
        """To behind the next zero byte."""
        while (zero := self._data.find(b"\0", self._at)) < 0:
            self._at = len(self._data)
            if not self.peek(1):
                return
        self._at = zero + 1


def _skip_header(given: _Input) -> None:
    """To where the deflate stream of this member begins (RFC 1952 2.3)."""
    fixed = given.peek(10)
    flags = fixed[3] if len(fixed) > 3 else 0
    given.skip(10)
    if flags & _FEXTRA:
        length = int.from_bytes(given.peek(2), "little")
        given.skip(2)
        given.skip(length)
    if flags & _FNAME:
        given.skip_text()
    if flags & _FCOMMENT:
        given.skip_text()
    if flags & _FHCRC:
        given.skip(2)
