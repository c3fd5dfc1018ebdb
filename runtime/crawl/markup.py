"""Bytes to an element tree, whatever the bytes; and which bytes are HTML at all."""

from __future__ import annotations

import codecs
import re
from typing import Final

from lxml import etree
from lxml.etree import _Element

from runtime.crawl.charset import read_text

HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
UNSAID_TYPES: Final = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})
"""Content types that say nothing, so that the bytes are looked at (MIME Sniffing Standard 7)."""

MAX_ATTRIBUTES: Final = 1_000
SMALL_BYTES: Final = 32_768
SMALL_GAPS: Final = 10_000
"""libxml2 compares each attribute with all before it: 200,000 in a tag take minutes, fewer than this at most 0.2 s."""

_GAPS: Final = b"\t\n\v\f\r /\"'"
"""One of these stands before every attribute, so that there are no more attributes than these."""

_MANY_ATTRIBUTES: Final = re.compile(
    rb"""<[a-zA-Z][^\s/>]*+(?:[\s/]*+[^\s>/][^\s=>/]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?+){%d}"""
    % MAX_ATTRIBUTES
)
_SNIFFED: Final = re.compile(
    r"\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta)"
    r"[\s>]|\s*<\?xml.{0,1000}?<html[\s>]|\s*(?:<!--.*?-->\s*)+$",
    re.IGNORECASE | re.DOTALL,
)
_SNIFF_BYTES: Final = 2_048

_PARSER: Final = etree.HTMLParser(
    encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True, collect_ids=False
)
INERT: Final = "template-inert"


def is_page_type(content_type: str, body: bytes) -> bool:
    """Whether an answer is an HTML page: by its media type (with or without parameters), or sniffed if it has none."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in HTML_TYPES:
        return True
    return media_type in UNSAID_TYPES and _SNIFFED.match(read_text(body[:_SNIFF_BYTES])[0]) is not None


def parse_html(body: bytes, content_type: str) -> tuple[_Element | None, str]:
    """The root element and the codec the page was in; None when there is nothing but white space and comments.

    Comments are left out and `template` elements emptied (their content is not part of the page, HTML Standard
    4.12.3, unless they declare a shadow root). Elements nested deeper than 2,048 are dropped by the parser.
    """
    text, codec = read_text(body, content_type)
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    same = codec == "utf-8" and "\ufffd" not in text and not body.startswith(codecs.BOM_UTF8)
    data = body if same else text.encode("utf-8", "replace")
    if len(data) > SMALL_BYTES and len(data) - len(data.translate(None, _GAPS)) > SMALL_GAPS:
        data = _MANY_ATTRIBUTES.sub(lambda found: found[0] + b">", data)
    try:
        root: _Element | None = etree.fromstring(data, _PARSER)
    except etree.LxmlError:
        root = None
    if root is None:
        return None, codec
    _collect_strays(root)
    if next(root.iter("template"), None) is not None:
        for template in root.iter("template"):
            if template.get("shadowrootmode") is None:
                template.tag = INERT
        etree.strip_elements(root, INERT, with_tail=False)
    return root, codec


def _collect_strays(root: _Element) -> None:
    """Put what follows `</body>` or `</html>` into the body, as the Standard does (13.2.6.4.19 and later).

    libxml2 leaves it beside the body, or begins a second document.
    """
    body = root.find("body")
    strays = [] if body is None else list(body.itersiblings())
    strays += root.itersiblings()
    for stray in strays:
        (root if body is None else body).append(stray)
