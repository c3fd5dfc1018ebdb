"""Text from the web made fit for one line of a file that people, parsers and language models read."""

from __future__ import annotations

import html
import re
import unicodedata

_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f")
_TAG = re.compile("[\U000e0000-\U000e007f]")
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a]"
)
"""Characters nobody sees: soft hyphen, zero-width space, direction marks and overrides (Trojan Source,
CVE-2021-42574), deprecated format characters. The joiners U+200C and U+200D stay: scripts and emoji need them."""

_NOT_ALNUM = re.compile(r"[\W_]+")
_FOLDED = {code: chr(code).lower() if chr(code).isalnum() else None for code in range(128)}
"""`folded` for ASCII, in one pass."""

_TWICE_ESCAPED = re.compile(r"&(?:amp|quot|apos|nbsp|[lr][sd]quo|[nm]dash|hellip|#\d{2,6}|#[xX][0-9A-Fa-f]{2,5});")


def plain(text: str) -> str:
    """One line of visible characters in NFC: white space collapsed, controls and invisible characters removed.

    Hidden "tag" characters, a carrier for instructions to language models, go too, except in flags. Lone surrogates
    become U+FFFD. `plain(plain(text)) == plain(text)`.
    """
    if text.isascii() and text.isprintable():
        line = " ".join(text.split())
        return text if text == line else line  # one text for both: a site has thousands of them
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = " ".join(text.split())
    flags = set(_FLAG.findall(text)) if "\U0001f3f4" in text else set()
    if not flags:
        text = _TAG.sub("", text)
    else:
        pieces = re.split(f"({_FLAG.pattern})", text)
        text = "".join(piece if piece in flags else _TAG.sub("", piece) for piece in pieces)
    text = "".join(char for char in _INVISIBLE.sub("", text) if not _unwanted(char))
    return " ".join(unicodedata.normalize("NFC", text).split()).strip("\u200c\u200d ")


def _unwanted(char: str) -> bool:
    """Controls and code points that are no characters; U+FFFD stands for what was lost and stays."""
    if unicodedata.category(char) == "Cc":
        return True
    code = ord(char)
    return 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE


def heading(text: str) -> str:
    """A page title as one line of text; what a CMS escaped once too often (`Tom &amp; Jerry`) is undone.

    A title with `&lt;` or `&gt;` is about markup and stays as it is.
    """
    text = plain(text)
    if "&" in text and "&lt;" not in text and "&gt;" not in text:
        text = plain(_TWICE_ESCAPED.sub(lambda found: html.unescape(found[0]), text))
    return text


def folded(text: str) -> str:
    """The letters and digits of a text without regard to case: equal for texts that say the same."""
    if text.isascii():
        return text.translate(_FOLDED)
    return _NOT_ALNUM.sub("", unicodedata.normalize("NFKC", text).casefold())
