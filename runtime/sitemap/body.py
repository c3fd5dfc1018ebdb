"""The body of a sitemap document until it is read: hashed as it comes, and packed where memory is short.

Sitemaps are text that packs to a tenth and less. A process has room for some bodies as they came, which is what most of
them need; the rest of a larger one, or of many at once, waits packed. What is read from it is the same either way.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

OWN: Final = 262_144
"""Bytes of every body that are kept as they came, whatever else the process holds."""

PROCESS_ROOM: Final = 12 << 20
"""Bytes of all bodies of a process, beyond their own share, that are kept as they came."""

MOST_PACKED: Final = 8 << 20
"""Bytes that the packed part of a body may take: 50 MB of addresses take half of it, noise reaches it soon."""

LEVEL: Final = 1
"""Of zlib: it packs 10 MB in 20 ms, and the higher levels hardly better."""

PIECE: Final = 131_072


class Room:
    """So many bytes to be shared; taken on the event loop, given back from whichever thread drops a body last."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def give_back(self, size: int) -> None:
        with self._lock:
            self._left += size


ROOM: Final = Room(PROCESS_ROOM)
"""Memory belongs to the process, so its sites share this."""


@dataclass(slots=True)
class Allowance:
    """How many bytes all sitemaps of one site may still take: as they come over the wire, and decoded."""

    wire: int
    decoded: int
    spent: str = field(default="", init=False)
    """Why nothing more may come, once there was too much."""

    def came(self, size: int) -> bool:
        self.wire -= size
        if self.wire < 0:
            self.spent = self.spent or "the site's sitemaps take too many bytes on the wire"
        return not self.spent

    def take(self, size: int) -> bool:
        self.decoded -= size
        if self.decoded < 0:
            self.spent = self.spent or "the site's sitemaps hold too many bytes"
        return not self.spent


class Body:
    """The `Sink` of one answer. `problem` says why it took no more, if it did not."""

    def __init__(self, allowance: Allowance | None = None, room: Room = ROOM) -> None:
        self._allowance, self._room = allowance, room
        self._sha256 = hashlib.sha256()
        self._plain: list[bytes] = []
        self._packed = bytearray()
        self._packer: zlib._Compress | None = None
        self._taken = 0
        self._size = 0
        self.problem = ""

    def __del__(self) -> None:
        """A reading may be cancelled anywhere; the room is free again all the same."""
        self._room.give_back(self._taken)

    def __len__(self) -> int:
        return self._size

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()

    @property
    def head(self) -> bytes:
        return next(self.pieces(), b"")

    def came(self, size: int) -> bool:
        """Whether to read on, now that `size` more bytes came over the wire."""
        if self._allowance is not None and not self._allowance.came(size):
            self.problem = f"cut, {self._allowance.spent}"
        return not self.problem

    def take(self, data: bytes) -> bool:
        """Keep the next bytes of the body; false for "no more of it"."""
        self._sha256.update(data)
        self._size += len(data)
        self.inflated(len(data))
        if self._packer is None and self._has_room():
            self._plain.append(data)
            return not self.problem
        if self._packer is None:
            self._packer = zlib.compressobj(LEVEL)
        self._packed += self._packer.compress(data)
        if len(self._packed) > MOST_PACKED:
            self.problem = f"cut, it cannot be held in {MOST_PACKED} bytes"
        return not self.problem

    def inflated(self, size: int) -> bool:
        """Whether to read on, now that `size` more bytes were made out of what came."""
        if self._allowance is not None and not self._allowance.take(size):
            self.problem = f"cut, {self._allowance.spent}"
        return not self.problem

    def pieces(self) -> Iterator[bytes]:
        """The bytes in order, as often as it is called."""
        yield from self._plain
        if self._packer is None:
            return
        # A copy: what waits in the packer is flushed for this reading alone.
        inflater = zlib.decompressobj()
        slices = (bytes(self._packed[at : at + PIECE]) for at in range(0, len(self._packed), PIECE))
        for packed in chain(slices, (self._packer.copy().flush(),)):
            waiting = packed
            while waiting:
                yield inflater.decompress(waiting, PIECE)
                waiting = inflater.unconsumed_tail
        while rest := inflater.decompress(b"", PIECE):
            yield rest

    def _has_room(self) -> bool:
        wanted = max(0, self._size - OWN) - self._taken
        if wanted <= 0:
            return True
        if not self._room.take(wanted):
            return False
        self._taken += wanted
        return True
