"""Content codings undone by us, under a cap: gzip and deflate, one layer (RFC 9110 8.4.1).

Libraries hand out a whole expansion in one chunk (32 kB of zstd became 1 GB); `decompressobj().decompress(data, n)`
never gives more than n. Nothing else is offered, and what is sent all the same is refused unread.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable
from typing import Final

from runtime.ports import Sink

ACCEPT_ENCODING: Final = "gzip, deflate"
PIECE: Final = 1 << 20
"""At most this many bytes are inflated in one go, so that one body does not hold up the event loop."""

MEMBERS: Final = 1_024
"""gzip members of one body; each costs CPU whatever it holds, and real ones hold 64 KiB or more (BGZF)."""

_CODINGS: Final = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}
_GZIP_MAGIC: Final = b"\x1f\x8b"


class UnsupportedEncoding(Exception):
    """A coding we did not offer, or more than one."""


class CorruptEncoding(Exception):
    """The body is not what its Content-Encoding says."""


def coding_of(values: Iterable[str]) -> str:
    """The one coding to undo, gzip or deflate, or an empty text; from the values of Content-Encoding.

    :raises UnsupportedEncoding: any other coding, or several.
    """
    listed = [part.strip().lower() for value in values for part in value.split(",")]
    named = [name for name in listed if name not in {"", "identity"}]
    if not named:
        return ""
    if len(named) > 1 or named[0] not in _CODINGS:
        raise UnsupportedEncoding(", ".join(named)[:80])
    return _CODINGS[named[0]]


class Body:
    """Collects a body: `feed` what the wire gives, `drain` while it says so, stop when `full`, then take `value()`.

    Holds at most `limit` bytes, or none if a `sink` takes them. The one buffer is handed out without a copy.
    """

    def __init__(self, coding: str, limit: int, sink: Sink | None = None) -> None:
        self._limit, self._sink = limit, sink
        self._size = 0
        self._first = b""
        self._rest: io.BytesIO | None = None
        self._inflater = _Inflater(coding) if coding else None
        self.full = False

    @property
    def ended(self) -> bool:
        """Whether the coding's own end was seen; a cut gzip stream is never a short page."""
        return self._inflater is None or self._inflater.ended

    def feed(self, data: bytes) -> None:
        if self._inflater is None:
            self._add(data)
        else:
            self._inflater.push(data)

    def drain(self) -> bool:
        """Inflate one piece; true while there is more to do before the next `feed`.

        :raises CorruptEncoding: the data cannot be inflated.
        """
        if self._inflater is None or self.full:
            return False
        self._add(self._inflater.pull(min(PIECE, self._limit - self._size + 1)))
        return self._inflater.pending and not self.full

    def value(self) -> bytes:
        return self._first if self._rest is None else self._rest.getvalue()

    def _add(self, data: bytes) -> None:
        room = self._limit - self._size
        if len(data) > room:
            data, self.full = data[:room], True
        self._size += len(data)
        if self._sink is not None:
            self.full = not self._sink.take(data) or self.full
        elif self._rest is not None:
            self._rest.write(data)
        elif not self._first:
            self._first = data
        elif data:
            self._rest = io.BytesIO()
            self._rest.write(self._first)
            self._rest.write(data)
            self._first = b""


class _Inflater:
    """zlib for one coding: gzip with several members, deflate with or without the zlib header (RFC 9110 8.4.1.2).

    A body that is announced as gzip and is not (a common fault of servers) is passed on as it is.
    """

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._waiting = b""
        self._members = 0
        self._plain = False
        self._over = False
        self._zlib: zlib._Decompress | None = None
        self.pending = False

    @property
    def ended(self) -> bool:
        """A body of nothing at all is whole; a stream that was begun must have come to its end."""
        return self._plain or (self._zlib is None and (self._members > 0 or not self._waiting))

    def push(self, data: bytes) -> None:
        if not self._over:
            self._waiting = self._waiting + data if self._waiting else data

    def pull(self, limit: int) -> bytes:
        """The next bytes, at most `limit`; `pending` says whether to call again before the next push."""
        data, self._waiting, self.pending = self._waiting, b"", False
        if self._zlib is None and not self._plain and not self._begin(data):
            return b""
        if self._zlib is None:
            return data
        try:
            piece = self._zlib.decompress(data, limit)
        except zlib.error:
            raise CorruptEncoding(self._coding) from None
        if self._zlib.eof:
            self._waiting, self._zlib = self._zlib.unused_data, None
            self._members += 1
            if self._members > MEMBERS:
                raise CorruptEncoding(self._coding)
            self.pending = len(self._waiting) > 1
        else:
            self._waiting = self._zlib.unconsumed_tail
            self.pending = len(piece) == limit
        return piece

    def _begin(self, data: bytes) -> bool:
        """Start the next stream once its first two bytes are there; false while there is nothing to inflate."""
        if self._members and (self._coding == "deflate" or not data.startswith(_GZIP_MAGIC[: len(data)])):
            self._over = True  # padding behind the last member, and all after it, is dropped, as gunzip does
            return False
        if len(data) < 2:
            self._waiting = data
            return False
        if self._coding == "deflate":
            wrapped = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
            self._zlib = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        elif data.startswith(_GZIP_MAGIC):
            self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 16)
        else:
            self._plain = True
        return True
