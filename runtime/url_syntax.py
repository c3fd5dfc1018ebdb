"""The syntax of URLs: how a link becomes an address, and what its normal form is.

Parsing is the URL Standard's (WHATWG, by ada-url), because that is what the authors of links tested them with; on top
of it comes the syntax-based normalisation of RFC 3986 6.2.2, which the Standard leaves undone. Host names are
compared as their IDNA A-labels. Nothing here touches the network or looks a name up.
"""

from __future__ import annotations

import codecs
import re
import sys
from functools import lru_cache
from typing import Final, NamedTuple

from ada_url import join_url

from runtime.errors import InputError

MAX_URL_LENGTH: Final = 2_048
MAX_HOST_LENGTH: Final = 253
QUERY_ERRORS: Final = "urls.charref"
"""Codec error handler of a query: a character the page's encoding lacks becomes an escaped `&#NNN;` (URL Standard)."""

_SERIALIZED: Final = re.compile(r"(https?)://(?:[^/?#@]*@)?([^/?#]*)(/[^?#]*)(\?[^#]*)?")
_HOST: Final = re.compile(r"(?:(?:[^.:\[\]]{1,63}\.)*[^.:\[\]]{1,63}\.?|\[[0-9a-f:.]+\])(?::\d+)?")
_UNSAFE: Final = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~/:@!$&'()*+,;=?]")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~()")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TRIMMED: Final = "".join(map(chr, range(0x21)))
_NEWLINES: Final = str.maketrans("", "", "\t\n\r")
_QUERY_SAFE: Final = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")

_PATH_SESSION: Final = re.compile(
    r";jsessionid=[^/;]*|/\((?:[A-Z]\([^/()]*\))*S\([a-z0-5]{24}\)(?:[A-Z]\([^/()]*\))*\)(?=/|$)", re.IGNORECASE
)
_QUERY_SESSION: Final = re.compile(
    r"(?:^|(?<=&))(?:phpsessid|jsessionid|aspsessionid[a-z]*)=[^&]*(?:&|$)", re.IGNORECASE
)


class Parts(NamedTuple):
    """A normal URL, taken apart: `host` carries a port that is not the scheme's, `query` its question mark."""

    scheme: str
    host: str
    path: str
    query: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}{self.path}{self.query}"


def resolve(base: str, href: str, *, encoding: str = "utf-8") -> str | None:
    """The absolute URL of a link on the page at `base`, or None for what cannot be crawled. Never raises.

    Resolved by the URL Standard, normalised by RFC 3986 6.2.2. The fragment and any user name and password are
    removed (RFC 9110 4.2.4). None: another scheme, a host that does not parse or that DNS cannot hold (RFC 1035
    2.3.4), more than 2,048 characters. `encoding` is the Python codec the page was read with: the query of a link is
    written in it, as browsers do (URL Standard, "percent-encode after encoding").
    """
    if len(href) > 4 * MAX_URL_LENGTH:
        return None
    if not href.isascii():
        href = _SURROGATE.sub("\ufffd", href)
        if encoding != "utf-8" and "?" in href:
            href = _encode_query(href, encoding)
    try:
        joined = join_url(base, href)
    except ValueError:
        return None
    parts = _normal_parts(joined)
    if parts is None:
        return None
    url = str(parts)
    return url if len(url) <= MAX_URL_LENGTH else None


def document_base(url: str, href: str | None) -> str:
    """The URL that links of the page at `url` are relative to, given the href of its first `<base>` that has one.

    HTML Standard 4.2.3: a base that does not parse, or is a `data:` or `javascript:` URL, counts for nothing.
    """
    if href is None or len(href) > MAX_URL_LENGTH:
        return url
    try:
        base = join_url(url, _SURROGATE.sub("\ufffd", href))
    except ValueError:
        return url
    return url if base.startswith(("data:", "javascript:")) else base


def normalize(url: str) -> str:
    """The crawl's form of an absolute http(s) URL; normalising twice changes nothing.

    Host in lower case and A-labels, default port, fragment and credentials dropped, dot segments resolved, unreserved
    characters (and parentheses, which the published file has to escape) decoded, escapes in upper case, anything else
    escaped as UTF-8. The session ids jsessionid, PHPSESSID, ASPSESSIONID and `(S(…))` are dropped: they name a
    visitor, never a page. Trailing slashes, empty queries and the order of parameters are kept (RFC 3986 6.2.4).

    :raises InputError: not an absolute http(s) URL, or one `resolve` has no answer for.
    """
    normal = str(split(url))
    return url if url == normal else normal  # one text for both: a site has thousands of them


@lru_cache(maxsize=2_048)
def split(url: str) -> Parts:
    """`normalize`, taken apart.

    :raises InputError: as `normalize`.
    """
    plain = resolve(url, "") if ":" in url else None
    if plain is None:
        raise InputError("url", "not an absolute http or https URL")
    while True:
        parts = _normal_parts(plain)
        assert parts is not None, "resolve gives only what this reads"
        bare = _without_session(parts)
        if bare == parts:
            return parts
        plain = join_url(str(bare), "")  # what is left of ";jsessionid=…" may be a dot segment


def _normal_parts(serialized: str) -> Parts | None:
    """RFC 3986 normalisation of what the URL Standard's serialiser wrote; None unless http(s) with a usable host."""
    found = _SERIALIZED.match(serialized)
    if found is None:
        return None
    scheme, host, path, query = found.groups(default="")
    if len(host) > MAX_HOST_LENGTH or _HOST.fullmatch(host) is None:
        return None
    return Parts(sys.intern(scheme), sys.intern(host), _UNSAFE.sub(_escape, path), _UNSAFE.sub(_escape, query))


def _escape(found: re.Match[str]) -> str:
    text = found[0]
    if len(text) == 3:
        decoded = chr(int(text[1:], 16))
        return decoded if decoded in _UNRESERVED else text.upper()
    return "".join(f"%{byte:02X}" for byte in text.encode())


def _without_session(parts: Parts) -> Parts:
    path, query = parts.path, parts.query
    if ";" in path or "/(" in path:
        path = _PATH_SESSION.sub("", path) or "/"
    if "sess" in query.lower():
        kept = _QUERY_SESSION.sub("", query[1:]).removesuffix("&") if query else ""
        query = f"?{kept}" if kept else ""
    return parts._replace(path=path, query=query)


def _encode_query(href: str, encoding: str) -> str:
    """Write the characters of the query in the page's encoding, percent-encoded where the Standard says so."""
    before, mark, fragment = href.strip(_TRIMMED).translate(_NEWLINES).partition("#")
    path, question, query = before.partition("?")
    try:
        raw = query.encode(encoding, QUERY_ERRORS)
    except (LookupError, UnicodeError):
        return href
    written = "".join(chr(byte) if byte in _QUERY_SAFE else f"%{byte:02X}" for byte in raw)
    return f"{path}{question}{written}{mark}{fragment}"


def _charref(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError), "the handler is only used to encode"
    lacking = error.object[error.start : error.end]
    return "".join(f"%26%23{ord(character)}%3B" for character in lacking), error.end


codecs.register_error(QUERY_ERRORS, _charref)
