"""References that are not `<a>`: the HTTP Link header, and where a refresh leads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MAX_HEADER_LINKS: Final = 200
_TARGET: Final = re.compile(r"[\s,]*<([^>]*)>")
_PARAMETER: Final = re.compile(r"""\s*;\s*([^\s=;,<>"]*)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?""")
_WS: Final = r"[\t\n\f\r ]"
_REFRESH: Final = re.compile(
    rf"{_WS}*(?:[0-9]++|(?=\.))[0-9.]*+(?:{_WS}*[;,]{_WS}*|{_WS}+|$)(?:url{_WS}*={_WS}*)?(.*)",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A typed link to somewhere: `rel` in lower case, `href` as written."""

    href: str
    rel: frozenset[str]
    type: str = ""
    hreflang: str = ""


def rel_tokens(rel: str | None) -> frozenset[str]:
    """The link types of a `rel` attribute or parameter: separated by white space, compared without case."""
    return frozenset((rel or "").lower().split())


def read_link_header(values: Iterable[str]) -> list[Reference]:
    """The links of all Link headers (RFC 8288 3). A link with an `anchor` is about another resource and left out."""
    references: list[Reference] = []
    for value in values:
        at = 0
        while len(references) < MAX_HEADER_LINKS and (found := _TARGET.match(value, at)) is not None:
            at = found.end()
            parameters: dict[str, str] = {}
            while (parameter := _PARAMETER.match(value, at)) is not None:
                at = parameter.end()
                quoted, token = parameter[2], parameter[3]
                text = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else (token or "")
                parameters.setdefault(parameter[1].lower(), text)  # the first of a name counts (RFC 8288 3.3)
            comma = value.find(",", at)
            at = comma if comma >= 0 else len(value)
            if "anchor" not in parameters:
                references.append(
                    Reference(
                        found[1].strip(),
                        rel_tokens(parameters.get("rel")),
                        media_type(parameters.get("type")),
                        parameters.get("hreflang", ""),
                    )
                )
    return references


def media_type(text: str | None) -> str:
    """`text/markdown; charset=utf-8` -> `text/markdown`."""
    return (text or "").partition(";")[0].strip().lower()


def refresh_target(content: str) -> str | None:
    """The URL of a refresh value as written; "" is a reload of the page itself, None not a refresh.

    HTML Standard, "shared declarative refresh steps": a time, then ";", "," or white space, then an optional `url=`
    and an optional quote.
    """
    found = _REFRESH.match(content)
    if found is None:
        return None
    target = found[1]
    if target[:1] in ("'", '"'):
        target = target[1:].partition(target[0])[0]
    return target
