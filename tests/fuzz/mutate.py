"""New inputs from old ones: bytes and tokens of the grammar changed, moved, repeated, cut and mixed. All from one seed."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from typing import Final

MAX_BYTES: Final = 8_192

_ODD_BYTES: Final = tuple(bytes((byte,)) for byte in b"\x00\x09\x0a\x0b\x0c\x0d\x1b\x1f\x20\x22\x23\x26\x27\x2a\x3c\x3e\x5b\x5d\x7f\x80\x85\xa0\xc0\xff")  # fmt: skip
_ODD_TEXT: Final = tuple(
    text.encode("utf-8", "surrogatepass")
    for text in (
        "\ufeff", "\ufffd", "\u200b", "\u200d", "\u2028", "\u202e", "\u00ad", "\u00a0", "\u3000", "\u0130", "ß", "ﬃ", "é",
        "e\u0301", "\u0301", "日本", "\U0001f468\u200d\U0001f469", "\U0001f3f4\U000e0067\U000e007f", "\U000e0041", "\ud800",
        "\udfff", "\uffff", "\U0010ffff", "٣", "²", "ǆ", "\u1e9e", "\u037e", "／", "．", "。",
    )
)  # fmt: skip
_NUMBERS: Final = (b"0", b"-1", b"1", b"00", b"9" * 5, b"9" * 20, b"9" * 400, b"1e9", b"0x10", b"65536", b"2147483648")
_CODECS: Final = (
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-8-sig",
    "utf-32",
    "latin-1",
    "cp1251",
    "shift_jis",
    "gb18030",
)


class Mutator:
    """`tokens` are words of the grammar that the input is written in."""

    def __init__(self, chance: random.Random, tokens: Sequence[bytes]) -> None:
        self._chance = chance
        self._tokens = tuple(tokens)

    def mutate(self, data: bytes, other: bytes) -> bytes:
        """A new input of at most `MAX_BYTES`, close to `data`, perhaps with a part of `other`."""
        steps = 1 << self._chance.choices(range(5), (8, 6, 4, 2, 1))[0]
        for _ in range(steps):
            data = self._step(data, other)[:MAX_BYTES]
        return data

    def _step(self, data: bytes, other: bytes) -> bytes:
        at, end = self._span(data)
        part = data[at:end]
        match self._chance.randrange(16):
            case 0 | 1 | 2 | 3:
                return data[:at] + self._word() + data[at:]
            case 4 | 5:
                return data[:at] + self._word() + data[end:]
            case 6:
                return data[:at] + data[end:]
            case 7:
                return data[:end] + part * self._chance.choice((1, 1, 2, 40)) + data[end:]
            case 8:
                start, stop = self._span(other)
                return data[:at] + other[start:stop] + data[end:]
            case 9:
                return data[:at] + other[self._span(other)[0] :]
            case 10 if data:
                flipped = data[at : at + 1] or data[-1:]
                return data[:at] + bytes((flipped[0] ^ (1 << self._chance.randrange(8)),)) + data[at + 1 :]
            case 11:
                return data[:at] + (part.swapcase() if self._chance.random() < 0.5 else part[::-1]) + data[end:]
            case 12:
                return data[:at]
            case 13:
                to = self._span(data)[0]
                rest = data[:at] + data[end:]
                return rest[:to] + part + rest[to:]
            case 14 if self._chance.random() < 0.1:
                return self._wrapped(data)
            case _:
                lines = data.split(b"\n")
                one, two = self._chance.randrange(len(lines)), self._chance.randrange(len(lines))
                lines[one], lines[two] = lines[two], lines[one]
                return b"\n".join(lines)

    def _span(self, data: bytes) -> tuple[int, int]:
        """A place and an end, mostly close together, mostly where a token begins."""
        at = self._chance.randrange(len(data) + 1)
        if self._chance.random() < 0.5:
            marks = [data.find(mark, at) for mark in (b"<", b"\n", b"/", b"&", b":", b"%", b"\x1f", b" ")]
            at = min((mark for mark in marks if mark >= 0), default=at)
        length = self._chance.choice((1, 2, 4, 8, 16, 64, 512))
        return at, min(len(data), at + self._chance.randrange(1, length + 1))

    def _word(self) -> bytes:
        kind = self._chance.random()
        if kind < 0.6 and self._tokens:
            return self._chance.choice(self._tokens)
        if kind < 0.75:
            return self._chance.choice(_ODD_TEXT)
        if kind < 0.85:
            return self._chance.choice(_NUMBERS)
        if kind < 0.95:
            return self._chance.choice(_ODD_BYTES)
        return self._chance.choice(_ODD_BYTES) * self._chance.choice((3, 70, 300, 3_000))

    def _wrapped(self, data: bytes) -> bytes:
        """Compressed, or in another encoding."""
        if self._chance.random() < 0.4:
            return gzip.compress(data, mtime=0)
        try:
            return data.decode("utf-8", "replace").encode(self._chance.choice(_CODECS), "replace")
        except UnicodeError:
            return data
