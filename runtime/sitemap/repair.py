"""Damage that XML parsers must refuse and that generators produce all the same, undone.

Undeclared HTML entities, bare ampersands, characters and character references that XML has no place for, an XML
declaration that is not at the start, attributes of the root that are not quoted or there twice. Only a document that
was refused comes here.
"""

from __future__ import annotations

import html
import re
from typing import Final

_ILLEGAL: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TOKEN: Final = re.compile(
    r"<!\[CDATA\[.*?\]\]>|<!--.*?-->|<\?.*?\?>|&(?:#[0-9]{1,8}|#[xX][0-9A-Fa-f]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});|&",
    re.DOTALL,
)
_ROOT: Final = re.compile(r"<((?:\w+:)?(?:urlset|sitemapindex))((?:\s[^<>]*)?)(?<!/)>", re.IGNORECASE)
_BINDING: Final = re.compile(r"""(?<=\s)(xmlns(?::\w+)?)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_PREDEFINED: Final = frozenset({"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"})


def repair(text: str) -> str:
    """The document as its author meant it; comments and processing instructions are dropped."""
    return _ROOT.sub(_namespaces_only, _TOKEN.sub(_meant, _ILLEGAL.sub("", text)), count=1)


def _namespaces_only(root: re.Match[str]) -> str:
    """The root's start tag with what it binds, each prefix once."""
    bound = {name: double or single or bare for name, double, single, bare in reversed(_BINDING.findall(root[2]))}
    bindings = (f' {name}="{value.replace(chr(34), "&quot;")}"' for name, value in bound.items())
    return f"<{root[1]}{''.join(bindings)}>"


def _meant(found: re.Match[str]) -> str:
    piece = found[0]
    if piece in _PREDEFINED or piece.startswith("<![CDATA["):
        return piece
    if piece.startswith("<"):
        return ""
    if piece.startswith("&#"):
        number = int(piece[3:-1], 16) if piece[2] in "xX" else int(piece[2:-1])
        return "" if number > 0x10FFFF or _ILLEGAL.match(chr(number)) else piece
    meaning = html.unescape(piece)
    return f"&amp;{piece[1:]}" if piece in ("&", meaning) else html.escape(meaning)
