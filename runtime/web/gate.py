"""The fetch gate: which URLs may leave, and to which addresses. Pure: no name is looked up here.

Nothing is repaired before it is judged. `urlsplit` strips TAB, CR and LF and takes what follows a backslash and an @
for the host; resolvers read octal, hexadecimal and circled digits. So the URL is cut by one expression (RFC 3986
appendix B), whatever two parsers could read in two ways is refused, and only then is the host judged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn
from urllib.parse import quote

from runtime.errors import Refused
from runtime.settings import FetchPolicy
from runtime.web.addresses import networks, refusal
from runtime.web.host import REASONS, canonical_host

MAX_URL = 2_048
DEFAULT_PORTS = {"http": 80, "https": 443}
PORTS = frozenset({80, 443, 8080, 8443})
LOOPBACK = ("127.0.0.1", "::1")

_PLAIN = re.compile(r"[\x21-\x5b\x5d-\x7e]*").fullmatch
_CONTROL = re.compile("[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]").search
_SURROGATE = re.compile("[\ud800-\udfff]").search
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):").match
_PARTS = re.compile(r"//([^/?#]*)([^?#]*)(?:\?([^#]*))?").match
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE).search
_DOT = re.compile(r"\.|%2e", re.IGNORECASE)
_PATH_SAFE = "!$&'()*+,-./:;=@_~%|[]"
_QUERY_SAFE = _PATH_SAFE + "?{}^`"


@dataclass(frozen=True, slots=True)
class Target:
    """One request that may be made: where to, under which name, for what.

    `host` is an A-label, a dotted quad or an IPv6 address without brackets; `path` the request target with its query;
    `url` the canonical spelling without a fragment. `addresses` is not empty when the host needs no look-up.
    """

    url: str
    scheme: str
    host: str
    port: int
    path: str
    addresses: tuple[str, ...] = ()

    @property
    def authority(self) -> str:
        """What the Host header says (RFC 9110 7.2)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def check_url(url: str, policy: FetchPolicy) -> Target:
    """The target of an absolute http(s) URL.

    :raises Refused: the URL may not leave; `code` is url_*, scheme*, port, host_*, ip_noncanonical, address_* or
        self_host.
    """
    _check_text(url, url)
    found = _SCHEME(url)
    if found is None or (found[1].lower() not in DEFAULT_PORTS and "." in found[1]):
        _refuse(url, "scheme_missing", "the URL has no scheme: write https:// in front of the host")
    scheme = found[1].lower()
    if scheme not in DEFAULT_PORTS:
        _refuse(url, "scheme", "only http and https are fetched")
    parts = _PARTS(url, found.end())
    if parts is None:
        _refuse(url, "url_malformed", "the scheme is not followed by // and a host")
    authority, path, query = parts.groups()
    host, port = _split_authority(url, authority, scheme)
    if port not in PORTS and not policy.allow_any_port:
        _refuse(url, "port", f"port {port} is not one of {', '.join(map(str, sorted(PORTS)))}")
    name, addresses, code = _judge_host(host, policy)
    if code is not None:
        _refuse(url, code, f"the host may not be fetched: {REASONS.get(code, 'it is not public')}")
    request = _request_target(path, query)
    shown = f"[{name}]" if ":" in name else name
    origin = f"{scheme}://{shown}" if port == DEFAULT_PORTS[scheme] else f"{scheme}://{shown}:{port}"
    canonical = origin + request
    if len(canonical) > MAX_URL:
        _refuse(url, "url_too_long", f"the URL is longer than {MAX_URL} characters once it is percent-encoded")
    return Target(url if url == canonical else canonical, scheme, name, port, request, addresses)


def check_addresses(target: Target, addresses: Sequence[str], policy: FetchPolicy) -> None:
    """Judge every answer of the resolver; one bad answer denies the name.

    :raises Refused: `code` is the first bad answer's.
    """
    for address in addresses:
        code = refusal(address, policy.allow_networks)
        if code is not None:
            _refuse(target.url, code, f"{target.host} resolves to an address that may not be fetched")


def resolve_reference(base: Target, reference: str, policy: FetchPolicy) -> Target:
    """The target of a Location value, relative to the URL that sent it (RFC 3986 5.2, RFC 9110 10.2.2).

    Joining cleans nothing up: what a browser would read in another way reaches `check_url` as it was written.

    :raises Refused: as `check_url`.
    """
    if _SCHEME(reference):
        return check_url(reference, policy)
    if reference.startswith("//"):
        return check_url(f"{base.scheme}:{reference}", policy)
    origin = f"{base.scheme}://{base.authority}"
    if reference.startswith("/"):
        return check_url(origin + reference, policy)
    path, mark, query = base.path.partition("?")
    if reference.startswith("?"):
        return check_url(origin + path + reference, policy)
    if not reference or reference.startswith("#"):
        return check_url(origin + path + mark + query, policy)
    return check_url(origin + path[: path.rindex("/") + 1] + reference, policy)


def _refuse(url: str, code: str, message: str) -> NoReturn:
    raise Refused(url[:MAX_URL], message, code=code)


def _check_text(url: str, shown: str) -> None:
    if len(url) > MAX_URL:
        _refuse(shown, "url_too_long", f"the URL is longer than {MAX_URL} characters")
    if _PLAIN(url):
        return
    if "\\" in url:
        _refuse(shown, "url_backslash", "a backslash is read as a slash by some and as text by others")
    if _CONTROL(url):
        _refuse(shown, "url_control", "the URL holds white space or a control character")
    if _SURROGATE(url):
        _refuse(shown, "url_malformed", "the URL holds half a character")


def _split_authority(url: str, authority: str, scheme: str) -> tuple[str, int]:
    if "@" in authority:
        _refuse(url, "url_userinfo", "the URL names a user; credentials are never stored or sent")
    if authority.startswith("["):
        host, closed, rest = authority.partition("]")
        if not closed or (rest and not rest.startswith(":")):
            _refuse(url, "url_malformed", "the brackets of the address are not closed")
        host, digits = host + "]", rest[1:]
    else:
        host, _, digits = authority.partition(":")
        if not host:
            _refuse(url, "url_malformed", "the URL has no host")
        if ":" in digits:
            _refuse(url, "url_malformed", "an IPv6 address is written in brackets")
    if not digits:
        return host, DEFAULT_PORTS[scheme]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 5 and 0 < int(digits) < 65_536):
        _refuse(url, "port", "the port is no number from 1 to 65535")
    return host, int(digits)


@lru_cache(maxsize=4096)
def _judge_host(host: str, policy: FetchPolicy) -> tuple[str, tuple[str, ...], str | None]:
    """The canonical host, the addresses it stands for without a look-up, and the code that refuses it."""
    judged = canonical_host(host)
    name, code = judged.name, judged.code
    if judged.is_address:
        bad = refusal(name, policy.allow_networks)
        return name, (name,), bad or code
    if name == "localhost" and code == "host_special_name":
        # RFC 6761 6.3: the name is loopback without asking; it opens with the networks that hold it
        open_now = tuple(address for address in LOOPBACK if refusal(address, policy.allow_networks) is None)
        return name, open_now, None if open_now else code
    if code is None and name in _self_hosts(policy.self_hosts):
        code = "self_host"
    return name, (), code


@lru_cache(maxsize=64)
def _self_hosts(hosts: tuple[str, ...]) -> frozenset[str]:
    return frozenset(host.lower().rstrip(".") for host in hosts)


def validate(policy: FetchPolicy) -> None:
    """:raises Misconfigured: `allow_networks` holds something that is no network."""
    networks(policy.allow_networks)


def _request_target(path: str, query: str | None) -> str:
    path = path or "/"
    if _DOTS(path):
        path = _remove_dots(path)
    path = quote(path, safe=_PATH_SAFE) if not _CLEAN_PATH(path) else path
    if query is None:
        return path
    return f"{path}?{query if _CLEAN_QUERY(query) else quote(query, safe=_QUERY_SAFE)}"


_CLEAN_PATH = re.compile(r"[A-Za-z0-9!$&'()*+,\-./:;=@_~%|\[\]]*").fullmatch
_CLEAN_QUERY = re.compile(r"[A-Za-z0-9!$&'()*+,\-./:;=@_~%|\[\]?{}^`]*").fullmatch


def _remove_dots(path: str) -> str:
    """RFC 3986 5.2.4, with %2E read as the dot it is (WHATWG URL, RFC 3986 6.2.2.2)."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for place, segment in enumerate(segments):
        plain = _DOT.sub(".", segment)
        last = place == len(segments) - 1
        if plain == "..":
            del kept[-1:]
        elif plain != ".":
            kept.append(segment)
        if last and plain in {".", ".."}:
            kept.append("")
    return "/" + "/".join(kept)
