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

SITE_ROOM: Final = 12 << 20
"""Bytes of all packed bodies of a site that wait at once: four of 50 MB as they usually are; noise reaches it soon."""

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
    room: Room = field(default_factory=lambda: Room(SITE_ROOM))
    spent: str = field(default="", init=False)
    """Why nothing more may come, once there was too much."""

    taken: int = field(default=0, init=False)
    """Decoded bytes so far."""

    def came(self, size: int) -> bool:
        self.wire -= size
        if self.wire < 0:
            self.spent = self.spent or "the site's sitemaps take too many bytes on the wire"
        return not self.spent

    def take(self, size: int) -> bool:
        self.decoded -= size
        self.taken += size
        if self.decoded < 0:
            self.spent = self.spent or "the site's sitemaps hold too many bytes"
        return not self.spent


class Body:
    """The `Sink` of one answer. `problem` says why it took no more, if it did not."""

    def __init__(self, allowance: Allowance, room: Room = ROOM) -> None:
        self._allowance, self._room = allowance, room
        self._sha256 = hashlib.sha256()
        self._plain: list[bytes] = []
        self._packed = bytearray()
        self._packer: zlib._Compress | None = None
        self._taken = self._waiting = 0
        self._full = False
        self._size = 0
        self.problem = ""

    def __del__(self) -> None:
        """A reading may be cancelled anywhere; the room is free again all the same."""
        self._room.give_back(self._taken)
        self._allowance.room.give_back(self._waiting)

    def __len__(self) -> int:
        return self._size

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()

    @property
    def site_took(self) -> int:
        """Decoded bytes of all bodies of the site so far, this one's among them."""
        return self._allowance.taken

    @property
    def head(self) -> bytes:
        return next(self.pieces(), b"")

    def came(self, size: int) -> bool:
        """Whether to read on, now that `size` more bytes came over the wire."""
        return self._goes_on(self._allowance.came(size))

    def inflated(self, size: int) -> bool:
        """Whether to read on, now that `size` more bytes were made out of what came."""
        return self._goes_on(self._allowance.take(size))

    def take(self, data: bytes) -> bool:
        """Keep the next bytes of the body; false for "no more of it"."""
        if self._full:
            return False
        self._sha256.update(data)
        self._size += len(data)
        if self._packer is None and self._has_room():
            self._plain.append(data)
            return self.inflated(len(data))
        if self._packer is None:
            self._packer = zlib.compressobj(LEVEL)
        packed = self._packer.compress(data)
        self._full = not self._allowance.room.take(len(packed))
        if self._full:
            self.problem = f"cut, more than {SITE_ROOM} bytes would wait to be read"
            return False
        self._waiting += len(packed)
        self._packed += packed
        return self.inflated(len(data))

    def pieces(self) -> Iterator[bytes]:
        """The bytes in order, as often as it is called."""
        yield from self._plain
        if self._packer is None:
            return
        # A copy: what is left in the packer is flushed for this reading alone. Nothing fits behind what was dropped.
        end = b"" if self._full else self._packer.copy().flush()
        slices = (bytes(self._packed[at : at + PIECE]) for at in range(0, len(self._packed), PIECE))
        inflater = zlib.decompressobj()
        for packed in chain(slices, (end,)):
            waiting = packed
            while waiting:
                yield inflater.decompress(waiting, PIECE)
                waiting = inflater.unconsumed_tail
        while rest := inflater.decompress(b"", PIECE):
            yield rest

    def _goes_on(self, allowed: bool) -> bool:
        if not allowed:
            self.problem = f"cut, {self._allowance.spent}"
        return not self.problem

    def _has_room(self) -> bool:
        wanted = max(0, self._size - OWN) - self._taken
        if wanted <= 0:
            return True
        if not self._room.take(wanted):
            return False
        self._taken += wanted
        return True
