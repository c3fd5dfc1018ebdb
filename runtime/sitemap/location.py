"""An address as a sitemap or a robots.txt gives it: trimmed, absolute, in the crawl's normal form.

sitemaps.org wants absolute URLs. Real files also hold relative ones, which are resolved against the document's own URL
(RFC 3986 5.2), and host names without a scheme, or behind a misspelled one (`https//`), which are read as hosts and
never joined as paths.
"""

from __future__ import annotations

import re
from typing import Final

from runtime.errors import InputError
from runtime.urls import MAX_URL_LENGTH, normalize, resolve

_INVISIBLE: Final = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"

_QUOTES: Final = frozenset({'""', "''", "<>"})
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/")

MAX_HOST: Final = 253
_SEGMENT: Final = r"(?:[A-Za-z0-9_~-]|%[89A-F][0-9A-F])(?:[A-Za-z0-9_~.,:@!$&*+=-]|%(?:[89A-F][0-9A-F]|2[0-7ABCF]))*"
_NORMAL: Final = re.compile(
    r"https?://((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z]{2,24}(?::[1-9][0-9]{3})?)/"
    rf"(?:{_SEGMENT}(?:/(?!/)|(?=\?)|$))*+(?:\?(?:[A-Za-z0-9_~.,:@!$&*+=/?-]|%(?:[89A-F][0-9A-F]|2[0-7ABCF]))*+)?"
)
"""URLs that `normalize` gives back as they are; most of every sitemap. Others take the long way.

No dot segments, no escapes of what needs none, no host in A-labels, which may be none, and no session ids.
"""

_NOT_NORMAL: Final = re.compile(r"xn--|sess", re.IGNORECASE)

_HOST: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+([a-z]{2,24})(?::\d{1,5})?(?=[/?#]|$)", re.IGNORECASE)
_BROKEN_SCHEME: Final = re.compile(r"(https?)(?::/?(?!/)|:?/{3,}|//(?!/))", re.IGNORECASE)
_SUFFIXES: Final = re.compile(
    r"aspx?|atom|cfm|cgi|css|csv|docx?|gif|gz|x?html?|jpe?g|jsp?|json|mdx?|pdf|php|png|rdf|rss|shtml|svg|txt|xml|ya?ml|zip",
    re.IGNORECASE,
)
"""Endings that make `team.html` a file, not a host."""


def read_location(text: str, base: str) -> str | None:
    """The absolute URL in normal form, or None for what is no crawlable address."""
    text = trim(text)
    if _is_normal(text):
        return text
    if not text or "\ufffd" in text:  # nothing, or bytes that were no text
        return None
    scheme = _BROKEN_SCHEME.match(text)
    host = _HOST.match(text, scheme.end() if scheme else 0)
    if host and scheme:
        text = f"{scheme[1]}://{text[scheme.end() :]}"
    elif host and (not _SUFFIXES.fullmatch(host[1]) or text.lower().startswith("www.")):
        text = f"{base.partition(':')[0]}://{text}"
    absolute = resolve(base, text)
    if absolute is None:
        return None
    try:
        return normalize(absolute)
    except InputError:
        return None


def _is_normal(text: str) -> bool:
    found = _NORMAL.fullmatch(text) if len(text) <= MAX_URL_LENGTH else None
    return found is not None and len(found[1]) <= MAX_HOST and not _NOT_NORMAL.search(text)


def trim(text: str) -> str:
    """Without outer white space of any script, characters that show nothing, and quotes around the whole."""
    if text[:1] in _PLAIN and text[-1:] in _PLAIN:
        return text
    text = text.strip().strip(_INVISIBLE).strip()
    return text[1:-1].strip() if text[:1] + text[-1:] in _QUOTES else text
