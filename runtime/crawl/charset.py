"""Which encoding a page is in: BOM, then the Content-Type header, then the prescan, then UTF-8 if it fits.

HTML Standard 13.2.3.2 ("determining the character encoding"), whose steps are named below. Where it leaves the choice
open, well-formed UTF-8 is UTF-8, and anything else is what a `meta` further down says, or windows-1252.
"""

from __future__ import annotations

import re
from typing import Final

from runtime.crawl.encodings import codec_of, decode

PRESCAN_BYTES: Final = 1_024
LATE_BYTES: Final = 65_536
"""How far a declaration beyond the prescan is looked for; browsers re-read the page when they meet one."""

FALLBACK: Final = "cp1252"

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_HEADER: Final = re.compile(r""";\s*charset\s*=\s*(?:"([^"]*)"?|([^;,\s]*))""", re.IGNORECASE)
_STEP: Final = re.compile(rb"<(?:(!--)|(meta)(?=[\s/])|(/?[a-zA-Z])|[!/?])", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    rb"""[\s/]*+([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)?))?+"""
)
_TAG_NAME: Final = re.compile(rb"[^\s>]*+")
_CONTENT: Final = re.compile(rb"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^"'\s;][^\s;]*))""", re.IGNORECASE)
_XML: Final = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')""")


def read_text(body: bytes, content_type: str = "") -> tuple[str, str]:
    """The page as text, without its BOM, and the Python codec it was read with. Never raises."""
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return decode(body[len(bom) :], codec), codec
    declared = header_codec(content_type) or prescan(body[:PRESCAN_BYTES])
    if declared is not None:
        return decode(body, declared), declared
    try:
        return body.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        cut = error.end == len(body) and error.reason == "unexpected end of data"
        if cut and not body[: error.start].isascii():
            return decode(body, "utf-8"), "utf-8"  # cut within a character
    codec = prescan(body[:LATE_BYTES]) or FALLBACK
    return decode(body, codec), codec


def header_codec(content_type: str) -> str | None:
    """The codec of the `charset` parameter of a Content-Type header, if it names a known encoding."""
    found = _HEADER.search(content_type)
    return codec_of(found[1] or found[2] or "") if found else None


def prescan(start: bytes) -> str | None:
    """What the first bytes declare ("prescan a byte stream to determine its encoding"), or None.

    Comments and the insides of other tags are skipped; UTF-16 cannot be true if the prescan could read it, so it
    counts as UTF-8. An XML declaration is the fallback.
    """
    if start.startswith((b"<\0?\0x\0", b"\0<\0?\0x")):
        return "utf-16-le" if start[0] else "utf-16-be"
    at = 0
    while (found := _STEP.search(start, at)) is not None:
        at = found.end()
        if found[1]:
            end = start.find(b"-->", found.start() + 2)
            if end < 0:
                break
            at = end + 3
        elif found[2] or found[3]:
            attributes, at = _attributes(start, at if found[2] else _name_end(start, at))
            codec = _meta_codec(attributes) if found[2] else None
            if codec is not None:
                return codec
        else:
            end = start.find(b">", at)
            if end < 0:
                break
            at = end + 1
    xml = _XML.match(start)
    codec = codec_of((xml[1] or xml[2] or b"").decode("latin-1")) if xml else None
    return _ascii_compatible(codec)


def _name_end(start: bytes, at: int) -> int:
    found = _TAG_NAME.match(start, at)
    return found.end() if found else at


def _attributes(start: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of a tag, names in lower case, the first of a name; and the place where they end."""
    attributes: dict[bytes, bytes] = {}
    while (found := _ATTRIBUTE.match(start, at)) is not None:
        at = found.end()
        attributes.setdefault(found[1].lower(), found[2] or found[3] or found[4] or b"")
    return attributes, at


def _meta_codec(attributes: dict[bytes, bytes]) -> str | None:
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv", b"").lower() == b"content-type":
        found = _CONTENT.search(attributes.get(b"content", b""))
        label = (found[1] or found[2] or found[3] or b"") if found else None
    return None if label is None else _ascii_compatible(codec_of(label.decode("latin-1")))


def _ascii_compatible(codec: str | None) -> str | None:
    return "utf-8" if codec in ("utf-16-le", "utf-16-be") else codec
