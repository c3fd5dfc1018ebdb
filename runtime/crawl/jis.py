"""EUC-JP and ISO-2022-JP as the Encoding Standard reads them (12.1, 12.2): over one index, which is that of Shift_JIS.

Python's codecs of these names lack the vendors' rows (①, 髙) and give other characters for 〜 and −.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_EUC: Final = re.compile(rb"[\x00-\x7f]+|(?:[\xa1-\xfe]{2})+|(?:\x8e[\xa1-\xdf])+|(?:\x8f[\xa1-\xfe]{2})+|.", re.DOTALL)
_ESCAPE: Final = re.compile(rb"\x1b(\$[@B]|\([BJI])")
_HIGH: Final = bytes(byte | 0x80 if 0x21 <= byte <= 0x7E else byte for byte in range(256))
_LOST: Final = "\ufffd"


class _Pairs(dict[bytes, str]):
    """Two bytes of EUC-JP to their character."""

    def __missing__(self, pair: bytes) -> str:
        row, cell = pair[0] - 0xA1, pair[1] - 0xA1
        lead = row // 2 + (0x81 if row < 62 else 0xC1)
        trail = cell + (0x9F if row % 2 else 0x40 if cell < 63 else 0x41)
        character = self[pair] = bytes((lead, trail)).decode("cp932", "replace")[0]
        return character


_PAIRS: Final = _Pairs()


def decode_euc_jp(body: bytes) -> str:
    """The text; what is no character becomes U+FFFD."""
    return "".join(map(_run, _EUC.findall(body)))


def decode_iso_2022_jp(body: bytes) -> str:
    """The text; what is no character becomes U+FFFD."""
    return "".join(_sets(body))


def _run(run: bytes) -> str:
    lead = run[0]
    if lead < 0x80:
        return run.decode("ascii")
    if len(run) == 1:
        return _LOST
    if lead == 0x8E:
        return run[1::2].decode("cp932")
    if lead == 0x8F:
        return run.decode("euc_jp", "replace")
    return "".join([_PAIRS[run[at : at + 2]] for at in range(0, len(run), 2)])


def _sets(body: bytes) -> Iterator[str]:
    """The text of each stretch in one character set; it begins in ASCII."""
    first, *rest = _ESCAPE.split(body)
    yield first.decode("ascii", "replace")
    for escape, text in zip(rest[::2], rest[1::2], strict=True):
        if escape.startswith(b"$"):
            yield decode_euc_jp(text.translate(_HIGH))
        elif escape == b"(I":
            yield text.translate(_HIGH).decode("cp932", "replace")
        else:
            plain = text.decode("ascii", "replace")
            yield plain.translate({0x5C: "¥", 0x7E: "‾"}) if escape == b"(J" else plain
