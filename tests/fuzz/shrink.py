"""The smallest input that still breaks the same thing: pieces left out, long ones first (delta debugging)."""

from __future__ import annotations

from collections.abc import Callable


def shrink(data: bytes, is_same: Callable[[bytes], bool], readings: int) -> bytes:
    """A part of `data` of which `is_same` holds and from which no single piece can be left out, as far as tried.

    :param readings: how often `is_same` may be asked.
    """
    size = max(1, len(data) // 2)
    while size:
        at, removed = 0, False
        while at < len(data):
            if readings <= 0:
                return data
            readings -= 1
            shorter = data[:at] + data[at + size :]
            if is_same(shorter):
                data, removed = shorter, True
            else:
                at += size
        if not removed or size > len(data):
            size //= 2
    return data
