"""What the product asks of a URL: is it the same address, the same site, in scope, wanted; and what is a site called?

Spellings are read by `runtime.url_syntax`; every function takes them as they come.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from runtime import globs
from runtime.errors import InputError
from runtime.url_syntax import MAX_URL_LENGTH, normalize, resolve, split

__all__ = [
    "MAX_URL_LENGTH",
    "adopted_base",
    "canonical_base_url",
    "entry_url",
    "host_of",
    "in_scope",
    "matches",
    "normalize",
    "on_origin",
    "path_segments",
    "resolve",
    "same",
    "same_site",
    "site_key",
]

MAX_BASE_PATH: Final = 512
MAX_BASE_SEGMENT: Final = 200
"""A base URL's path becomes part of an object key (1,024 bytes at most) and of file names (255)."""

EXAMPLE: Final = "write https://example.com"

_PAGE_NAME: Final = re.compile(r"\.(?:x?html?|php|aspx?|jsp)$", re.IGNORECASE)
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?")
_HOST_PORT: Final = re.compile(r"(\[[^\]]*\]|[^:]*?)\.?(?::(\d+))?")
_BASE_HOST: Final = re.compile(r"(?:[a-z0-9_-]+\.)*[a-z0-9-]+|\[[0-9a-f:.]+\]")
_KEY_UNSAFE: Final = re.compile(r"%[0-9A-F]{2}|[^A-Za-z0-9._-]")


def same(a: str, b: str) -> bool:
    """Whether two spellings are one address for certain: equal after `normalize`."""
    try:
        return split(a) == split(b)
    except InputError:
        return a == b


def same_site(base_url: str, url: str) -> bool:
    """Whether `url` is on the site's host: http and https, and the name with and without `www.`, are one site."""
    try:
        return _site(split(base_url).host) == _site(split(url).host)
    except InputError:
        return False


def in_scope(site: str, url: str) -> bool:
    """Whether `url` belongs to the site: the same site, at or below its path, cut at a "/".

    A base URL that names a page (`/docs/index.html`) covers that page's directory.
    """
    try:
        host, path = split(url)[1:3]
        own, top = _scope(site)
    except InputError:
        return False
    return _site(host) == own and (path == top or path.startswith(f"{top}/"))


def on_origin(home: str, url: str) -> str:
    """`url` in its normal form, with the scheme, host and port of `home`.

    :raises InputError: either is not an absolute http(s) URL.
    """
    origin = split(home)
    return str(split(url)._replace(scheme=origin.scheme, host=origin.host))


def host_of(url: str) -> str:
    """The host in A-labels, with its port where that is not the scheme's: `example.com`, `127.0.0.1:8080`, `[::1]`.

    :raises InputError: not an absolute http(s) URL.
    """
    return split(url).host


def path_segments(url: str) -> tuple[str, ...]:
    """The non-empty segments of the path, escaped as in the normal form.

    :raises InputError: not an absolute http(s) URL.
    """
    return tuple(segment for segment in split(url).path.split("/") if segment)


def matches(pattern: str, url_or_path: str) -> bool:
    """Whether an owner's include or exclude pattern covers a page; `runtime.globs` has the rules.

    Only the path counts: scheme, host and query are not looked at, on either side.
    """
    if _SCHEME.match(url_or_path):
        try:
            path = split(url_or_path).path
        except InputError:
            return False
    else:
        path = re.split(r"[?#]", url_or_path, maxsplit=1)[0]
    return globs.matches(pattern, path)


def canonical_base_url(text: str) -> str:
    """What enrolment stores: one site, one row, whatever the spelling.

    Scheme and host in lower case, the host in A-labels and without the root's dot, no default port, dot segments
    resolved, no query, fragment or trailing slash: `https://example.com`, `https://example.com/docs`. The case of the
    path and a final `index.html` are kept: only the server knows whether they matter. Nothing that names another host
    to another parser is accepted (user names, backslashes, spaces, escapes in the host, numeric addresses that are
    not four decimal numbers).

    :raises InputError: field `url`, with a sentence that says what is allowed.
    """
    given = text.strip()
    authority = _authority(given)
    try:
        parts = split(given)
    except InputError:
        raise InputError("url", f"has no valid host name or port, or is too long: {EXAMPLE}") from None
    name, port = _host_and_port(parts.host)
    numeric = name.replace(".", "").isdigit()
    if _BASE_HOST.fullmatch(name) is None or (numeric and authority.partition(":")[0] != name):
        raise InputError("url", f"the host is not one that can be looked up: {EXAMPLE}")
    path = parts.path.rstrip("/")
    if len(path) > MAX_BASE_PATH or any(len(segment) > MAX_BASE_SEGMENT for segment in path.split("/")):
        raise InputError(
            "url", f"the path is too long: at most {MAX_BASE_PATH} characters, {MAX_BASE_SEGMENT} between two /"
        )
    return f"{parts.scheme}://{name}{port and f':{port}'}{path}"


def origin(url: str) -> str:
    """Scheme, host and port: what a robots.txt governs (RFC 9309 2.3).

    :raises InputError: not an absolute http(s) URL.
    """
    parts = split(url)
    return f"{parts.scheme}://{parts.host}"


def entry_url(base_url: str) -> str:
    """Where a crawl starts: the base URL as a URL, so that an origin has its "/"."""
    return str(split(base_url))


def adopted_base(base_url: str, landed: str) -> str:
    """The scope of a crawl whose entry page was redirected to `landed`: the base path, on the origin that answered.

    An entry page that moved out of the base path takes the scope with it, to its own directory.
    """
    there = split(landed)
    base, path = split(base_url).path.rstrip("/"), there.path
    kept = base if path == base or path.startswith(f"{base}/") else path.rpartition("/")[0]
    return f"{there.scheme}://{there.host}{kept}"


def site_key(base_url: str) -> str:
    """The publishing key's prefix: `docs.example.com`, `example.com/docs`; no two base URLs share one.

    `{host}[_http][_{port}]{/path}`: https is the rule and not written. In the path, characters that need quoting in
    some store are written `!XX`, as are those of a segment that could be taken for a file of the site above it.
    """
    parts = split(base_url)
    name, port = _host_and_port(parts.host)
    if name.startswith("["):
        name = f"{name[1:-1].replace(':', '-')}_ip6"
    key = name + ("_http" if parts.scheme == "http" else "") + (f"_{port}" if port else "")
    path = parts.path.rstrip("/")
    return key + "".join(f"/{_key_segment(segment)}" for segment in path.split("/")[1:])


def _authority(given: str) -> str:
    """The host and port as they were written, once everything about the spelling is allowed."""
    scheme = _SCHEME.match(given)
    if not given:
        raise InputError("url", f"is empty: {EXAMPLE}")
    if scheme is None or (scheme[2] is None and re.match(r"[^/?#:]+:\d", given)):
        plain = re.match(r"/*([\w.-]+(?::\d+)?(?:/[\w./-]*)?)$", given)
        raise InputError("url", f"https:// is missing: write https://{plain[1] if plain else 'example.com'}")
    if scheme[1].lower() not in ("http", "https") or scheme[2] is None:
        raise InputError("url", f"only http:// and https:// are allowed: {EXAMPLE}")
    if re.search(r"[\x00-\x1f\x7f\\\s]", given):
        raise InputError("url", "must not contain spaces, control characters or backslashes")
    authority = re.split(r"[/?#]", given[scheme.end() :], maxsplit=1)[0]
    if "@" in authority:
        raise InputError("url", "must not contain a user name or password")
    if "%" in authority:
        raise InputError("url", f"the host must not contain escapes: {EXAMPLE}")
    return authority


def _host_and_port(host: str) -> tuple[str, str]:
    """The name without the root's dot, and the port, empty where it is the scheme's."""
    found = _HOST_PORT.fullmatch(host)
    assert found is not None, "a parsed host has this form"
    return found[1], found[2] or ""


@lru_cache(maxsize=256)
def _scope(site: str) -> tuple[tuple[str, str], str]:
    """What identifies the site, and the path that its pages are at or below, without a trailing slash."""
    parts = split(site)
    top = parts.path.rpartition("/")[0] if _PAGE_NAME.search(parts.path) else parts.path
    return _site(parts.host), top.rstrip("/")


@lru_cache(maxsize=1_024)
def _site(host: str) -> tuple[str, str]:
    """What identifies a site: the name without `www.`, and a port that was written."""
    name, port = _host_and_port(host)
    bare = name.removeprefix("www.")
    return bare if "." in bare else name, port


def _key_segment(segment: str) -> str:
    written = _KEY_UNSAFE.sub(lambda found: _written(found[0]), segment) or "!"
    if written == "versions" or written.startswith(".") or written.endswith(".txt"):
        written = f"!{ord(written[0]):02X}{written[1:]}"
    return written


def _written(text: str) -> str:
    return f"!{text[1:]}" if len(text) == 3 else f"!{ord(text):02X}"
