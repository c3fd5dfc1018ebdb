"""Shorten a text without hurting it: at a sentence, else at a word, never inside what reads as one character."""

from __future__ import annotations

import re
import unicodedata

ELLIPSIS = "…"

_SPACE_AFTER = "।॥؟۔։።។။"
_SENTENCE_END = re.compile(
    rf"[.!?…{_SPACE_AFTER}]+[\"'”’»)\]]*(?=\s|$)"  # an end mark, what closes with it, then white space
    r"|[。！？｡]+[」』）】”’]*"  # East Asian marks need no white space (UAX 14, class CL)
)
_NO_SENTENCE_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|ca|approx|incl|resp|viz|al|Mr|Mrs|Ms|Dr|Prof|St|No|Nos|Fig|Vol|Inc|Ltd|Co|bzw|z\.B|d\.h"
    r"|u\.a|p\.ex)|\b[A-Za-z])\.$"
)
"""Abbreviations and single initials: their full stop ends nothing."""

_HANGING = " \t,;:-–—/|·•、，；：（「『【([{<“‘«¿¡"
"""What looks lost before an ellipsis."""


def excerpt(text: str, limit: int) -> str:
    """The text on one line, cut to at most `limit` characters (code points).

    A cut at a sentence needs no mark; any other ends with an ellipsis, which counts. Sentences and words are
    preferred while they keep at least half of what is allowed; text without spaces (Chinese, Japanese, Thai) is
    cut between grapheme clusters (UAX 29). The result always encodes as UTF-8.
    """
    line = " ".join(_encodable(text).split())
    text = text if text == line else line  # one text for both: a site has thousands of them
    if len(text) <= limit:
        return text
    if limit < 1:
        return ""
    sentence = _sentence_cut(text, limit)
    if sentence:
        return text[:sentence]
    room = limit - len(ELLIPSIS)
    return text[: _word_cut(text, room)].rstrip(_HANGING) + ELLIPSIS


def _encodable(text: str) -> str:
    """Halves of surrogate pairs joined where they meet, and replaced by U+FFFD where they do not."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _sentence_cut(text: str, limit: int) -> int:
    """The end of the last sentence that fits and fills half of `limit`; 0 if there is none."""
    best = 0
    for mark in _SENTENCE_END.finditer(text, 0, min(len(text), limit + 1)):
        end = mark.end()
        if end > limit:
            break
        if mark.group() == "." and _NO_SENTENCE_END.search(text, max(0, end - 12), end):
            continue
        if text[end : end + 2].strip()[:1].islower():  # "on Node.js. and", "etc. which": the sentence goes on
            continue
        if is_boundary(text, end):
            best = end
    return best if best * 2 >= limit else 0


def _word_cut(text: str, room: int) -> int:
    """The last place within `room` to cut before an ellipsis: a word break in its second half, else any cluster."""
    for at in range(room, room // 2, -1):
        if (text[at] == " " or _ideographic(text[at - 1]) or _ideographic(text[at])) and is_boundary(text, at):
            return at
    at = room
    while at > 0 and not is_boundary(text, at):
        at -= 1
    return at


def _ideographic(char: str) -> bool:
    """Scripts that are broken between any two characters (UAX 14, classes ID and CJ)."""
    return (
        "\u3040" <= char <= "\u30ff"
        or "\u3400" <= char <= "\u4dbf"
        or "\u4e00" <= char <= "\u9fff"
        or "\uf900" <= char <= "\ufaff"
        or "\U00020000" <= char <= "\U0003ffff"
    )


def is_boundary(text: str, at: int) -> bool:
    """Whether a grapheme cluster ends before index `at` (UAX 29, on the safe side: never says yes inside one)."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if _extends(after):
        return False
    if before == "\u200d" and not after.isspace():  # GB11: ZWJ sequences
        return False
    if unicodedata.combining(before) == 9 and unicodedata.category(after) == "Lo":  # GB9c: virama joins consonants
        return False
    if _regional(before) and _regional(after):  # GB12, GB13: flags are pairs
        start = at
        while start > 0 and _regional(text[start - 1]):
            start -= 1
        return (at - start) % 2 == 0
    return not _jamo_joined(before, after)


def _extends(char: str) -> bool:
    """GB9, GB9a: marks, joiners, variation selectors, emoji modifiers and tags belong to what precedes them."""
    if char.isascii():
        return False
    if unicodedata.category(char) in {"Mn", "Me", "Mc"}:
        return True
    return (
        char in "\u200c\u200d\uff9e\uff9f"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _jamo_joined(before: str, after: str) -> bool:
    """GB6 to GB8: conjoining Hangul letters, leading to trailing."""
    if "\u1100" <= before <= "\u115f":
        return "\u1100" <= after <= "\u11a7" or "\uac00" <= after <= "\ud7a3"
    if "\u1160" <= before <= "\u11a7" or "\uac00" <= before <= "\ud7a3":
        return "\u1160" <= after <= "\u11ff"
    return "\u11a8" <= before <= "\u11ff" and "\u11a8" <= after <= "\u11ff"
