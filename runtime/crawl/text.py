"""Text out of elements, as one line."""

from __future__ import annotations

from typing import Final, cast

from lxml import etree
from lxml.etree import _Element

_STRING: Final = etree.XPath("string()", smart_strings=False)
_LENGTH: Final = etree.XPath("string-length(normalize-space())")


def one_line(text: str) -> str:
    """White space of every kind collapsed to single spaces, none at the ends."""
    return " ".join(text.split())


def text_of(element: _Element) -> str:
    """The text of an element and all below it, on one line; a `<br>` separates words. Changes the tails of `<br>`s."""
    for line_break in element.iter("br"):
        line_break.tail = f" {line_break.tail or ''}"
    return one_line(cast("str", _STRING(element)))


def length_of(element: _Element) -> int:
    """How many characters `text_of` would have, cheaply (ASCII white space alone is collapsed)."""
    return int(cast("float", _LENGTH(element)))
