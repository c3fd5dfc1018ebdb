"""The bytes of a sitemap document made readable: gzip undone under a cap, the encoding found. Read in pieces."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final

from runtime.sitemap.body import Body
from runtime.sitemap.gunzip import MAGIC, PIECE, gunzip

_HEAD: Final = 1_024
_MAX_LAYERS: Final = 2

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED: Final = re.compile(rb"""\s*<\?xml[^>]{0,100}?\sencoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_CHARSET: Final = re.compile(r""";\s*charset\s*=\s*["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_KNOWN: Final = re.compile(
    r"utf-?8|us-ascii|ascii|iso[-_]?8859[-_]\d+|latin-?\d|windows-\d+|cp\d+|koi8-[ru]|mac\w*|euc-?\w+|shift[-_]jis|sjis"
    r"|gb\w+|big5\w*",
    re.IGNORECASE,
)
"""Encodings in which ASCII is ASCII; a label of another kind needs a BOM to be believed."""


class Source:
    """A body that can be read in pieces, and again.

    A body that begins with the gzip magic is inflated whatever its name and type say. `encoding` is a Python codec:
    BOM, then the charset parameter, then the XML declaration (RFC 7303 3.2), else UTF-8. A label of a wide encoding
    on bytes that are plainly not wide is false and ignored (XML 1.0 appendix F).
    `complete` is false once a reading met the cap or a broken stream.
    """

    def __init__(self, body: bytes | Body, content_type: str, cap: int) -> None:
        self._body, self._cap = body, cap
        self.complete = True
        self.remarks: dict[str, None] = {}
        self._layers = 0
        self._inflated = 0
        head = self._head()
        while head.startswith(MAGIC) and self._layers < _MAX_LAYERS:
            self._layers += 1
            head = self._head()
        self.encoding, self._skip = _encoding(head, content_type)
        text = head[self._skip :].decode(self.encoding, "replace")
        self.is_markup = text.lstrip(" \t\r\n\ufeff").startswith("<")

    def pieces(self) -> Iterator[bytes]:
        """The decoded bytes without the BOM, at most the cap."""
        skip = self._skip
        for piece in self._counted(self._capped(self._raw())):
            yield piece[skip:] if skip else piece
            skip = 0

    def text(self) -> Iterator[str]:
        """The characters; what cannot be decoded becomes U+FFFD."""
        decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        for piece in self.pieces():
            yield decoder.decode(piece)
        yield decoder.decode(b"", final=True)

    def _raw(self, size: int = PIECE) -> Iterator[bytes]:
        pieces = self._body.pieces() if isinstance(self._body, Body) else iter((self._body,))
        for layer in range(self._layers):
            pieces = gunzip(self._capped(pieces) if layer else pieces, self._damaged, self._remark, size=size)
        return pieces

    def _head(self) -> bytes:
        head = b""
        for piece in self._raw(_HEAD):
            head += piece[:_HEAD]
            if len(head) >= _HEAD:
                break
        return head

    def _counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """What a file is inflated to counts for its site, once, however often it is read."""
        seen = 0
        for piece in pieces:
            yield piece
            seen += len(piece)
            if isinstance(self._body, Body) and seen > self._inflated and self._layers:
                more, self._inflated = seen - self._inflated, seen
                if not self._body.inflated(more):
                    self._damaged(self._body.problem)
                    return

    def _capped(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        left = self._cap
        for piece in pieces:
            if len(piece) > left:
                self._damaged(f"the document is larger than {self._cap} bytes")
                yield piece[:left]
                return
            left -= len(piece)
            yield piece

    def _damaged(self, problem: str) -> None:
        self.complete = False
        self._remark(problem)

    def _remark(self, problem: str) -> None:
        self.remarks[problem] = None


def _encoding(head: bytes, content_type: str) -> tuple[str, int]:
    """The codec, and how many bytes of BOM to skip."""
    for bom, codec in _BOMS:
        if head.startswith(bom):
            return codec, len(bom)
    if head[:2] == b"<\0":
        return "utf-16-le", 0
    if head[:2] == b"\0<":
        return "utf-16-be", 0
    labels = [found[1] for found in _CHARSET.finditer(content_type)]
    labels += [found[1].decode("ascii") for found in (_DECLARED.match(head),) if found]
    for label in labels:
        if _KNOWN.fullmatch(label):
            try:
                return codecs.lookup(label).name, 0
            except LookupError:
                continue
    return "utf-8", 0
