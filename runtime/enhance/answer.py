"""What a model answered, checked: which texts may stand in the file, and which are thrown away. Pure.

A text is taken for the number it was asked for and for nothing else. So an answer cannot drop, add, move or rename a
link; it can only be worse than the extracted text, and where that shows, the extracted text stays.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from runtime.document.excerpt import excerpt
from runtime.document.text import folded, plain
from runtime.enhance.prompt import Item

LONGER = 2
"""A text of more than so many times the limit was not written to the instruction, and is not cut to look as if."""

MIN_LETTERS = 8
SAME_TEXT = 3
"""So many equal answers to different items are no descriptions."""

_FENCE = re.compile(r"\A```[a-z]*\s*\n(.*?)\n?```\s*\Z", re.DOTALL)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}://|\bwww\.|\bmailto:|\bjavascript:|\bdata:[a-z]+/", re.IGNORECASE)
_MARKUP = re.compile(r"\]\s*\(|\]\s*\[|```|</?[a-z!][^>]*>|\A\s*(?:#{1,6}|[-*+>]|\d+[.)])\s|\*\*|__", re.IGNORECASE)


def read(text: str, items: Sequence[Item], limit: int) -> dict[str, str] | None:
    """The texts by the keys of their items; empty where the answer is not fit to be published.

    None when the answer is not what was asked for at all: then nothing is known about any item.

    :param limit: characters that a text may have.
    """
    given = _numbered(text)
    if given is None:
        return None
    found = {item.key: fit(given[number], item, limit) for number, item in enumerate(items, 1) if number in given}
    times = Counter(folded(value) for value in found.values() if value)
    repeated = {value for value, count in times.items() if count >= SAME_TEXT}
    return {key: "" if folded(value) in repeated else value for key, value in found.items()}


def fit(text: str, item: Item, limit: int) -> str:
    """The text as it may be published; empty if it may not: addresses, markup, no words, or the title over again."""
    if "\x00" in text or _ADDRESS.search(text) or _MARKUP.search(text):
        return ""
    line = plain(text)
    says = folded(line)
    if len(line) > LONGER * limit or len(says) < MIN_LETTERS or says == folded(item.title):
        return ""
    return excerpt(line, limit)


def _numbered(text: str) -> dict[int, str] | None:
    """Number -> text. A number that comes twice, or with something else than a text, is left out."""
    fenced = _FENCE.match(text.strip())
    try:
        value: Any = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return None
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list):
        return None
    found: dict[int, str] = {}
    twice: set[int] = set()
    for entry in items:
        number = entry.get("n") if isinstance(entry, dict) else None
        if type(number) is int and isinstance(entry.get("text"), str):
            if number in found:
                twice.add(number)
            found[number] = entry["text"]
    return {number: said for number, said in found.items() if number not in twice}
