r"""How a text is written so that CommonMark, the reference parsers and a person all read the same.

The two reference parsers (PyPI `llms-txt` 0.0.7) do not know escapes: a title ends at the first "]", a URL at the first
")". So brackets in titles become parentheses, parentheses in URLs are percent-encoded, and only what CommonMark 0.31
would take for markup gets a backslash. `unescape(escape(text)) == text`.
"""

from __future__ import annotations

import re
from html.entities import html5

_REFERENCE = r"&(?=#[0-9]{1,7};|#[xX][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{0,31};)"
_TAG_START = r"<(?=[A-Za-z/!?])"
_BACKSLASH = r"\\(?=[!-/:-@\[-`{-~]|$)"
_MARKUP = re.compile(rf"{_REFERENCE}|{_TAG_START}|{_BACKSLASH}|[*`]|_+|~~+|\](?=[(\[])")
_LEADING = re.compile(r"(?:[#>+=~-]|\d{1,9}(?=[.)](?:\s|$)))")
_URL_UNSAFE = re.compile(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'*+,;=%]|%(?![0-9A-Fa-f]{2})")
_URL_SAFE = re.compile(r"https?://[A-Za-z0-9\-._~:/]*")
_URL_REFERENCE = re.compile(r"&([A-Za-z][A-Za-z0-9]{0,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")
_LITERAL = re.compile(r"[^\[\]]*(?:\[[0-9A-Fa-f:.]+\](?::[0-9]*)?)?")
_ESCAPED = re.compile(r"&(amp|lt|#91|#93);|\\([!-/:-@\[-`{-~])")
_NAMED = {"amp": "&", "lt": "<", "#91": "[", "#93": "]"}
_BRACKETS = str.maketrans("[]", "()")


def without_brackets(title: str) -> str:
    """A link title that the reference parsers do not cut short: `arr[0]` becomes `arr(0)`."""
    return title.translate(_BRACKETS)


def escape(text: str) -> str:
    """Inline text that renders as written: no emphasis, code, link, raw HTML or character reference."""
    return _MARKUP.sub(_escaped, text)


def escape_line(text: str) -> str:
    """As `escape`, for a text that starts a line: no heading, quote, list, rule or fence either."""
    text = escape(text)
    lead = _LEADING.match(text)
    if lead:
        at = 0 if lead.end() == 1 and not text[0].isdigit() else lead.end()
        text = f"{text[:at]}\\{text[at:]}"
    return text


def escape_heading(text: str) -> str:
    """As `escape`, for a heading: a run of "#" at its end does not close it (CommonMark 4.2)."""
    text = escape(text)
    if re.search(r"(?:^|\s)#+$", text):
        at = len(text.rstrip("#"))
        text = f"{text[:at]}\\{text[at:]}"
    return text


def unescape(text: str) -> str:
    """The text that `escape`, `escape_line` or `escape_heading` was given."""
    return _ESCAPED.sub(lambda found: found[2] or _NAMED[found[1]], text)


def escape_url(url: str) -> str:
    """A URL as every reader takes it whole: parentheses, brackets outside the host, blanks and quotes are encoded.

    A ";" that would make a character reference of a query (`?a&copy;`) is encoded too: CommonMark decodes those.
    """
    if _URL_SAFE.fullmatch(url):
        return url
    head, path = _split_authority(url)
    if _LITERAL.fullmatch(head) is None:
        head, path = "", head + path
    path = path.replace("[", "%5B").replace("]", "%5D")
    escaped = _URL_REFERENCE.sub(_unreferenced, _URL_UNSAFE.sub(_percent, head + path))
    return url if url == escaped else escaped  # one text for both: a site has thousands of them


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    if char == "&":
        return "&amp;"
    if char == "<":
        return "&lt;"
    if char == "]":  # a backslash would stop CommonMark, but not the many readers that look for "](" alone
        return "&#93;"
    if char[0] == "_" and _within_word(found.string, found.start(), found.end()):
        return char
    return "".join(f"\\{one}" for one in char)


def _within_word(text: str, start: int, end: int) -> bool:
    """Underscores between letters or digits are never emphasis (CommonMark 6.2)."""
    return start > 0 and end < len(text) and text[start - 1].isalnum() and text[end].isalnum()


def _split_authority(url: str) -> tuple[str, str]:
    """The part of a URL where brackets mean an IPv6 address, and the rest."""
    at = url.find("://")
    if at < 0:
        return "", url
    slash = re.search(r"[/?#]", url[at + 3 :])
    end = len(url) if slash is None else at + 3 + slash.start()
    return url[:end], url[end:]


def _percent(found: re.Match[str]) -> str:
    char = found[0]
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))


def _unreferenced(found: re.Match[str]) -> str:
    known = found[1][0] == "#" or f"{found[1]};" in html5
    return f"&{found[1]}%3B" if known else found[0]
