"""The host of a URL in its one canonical spelling, or the reason it has none.

Names are IDNA 2008 A-labels after UTS #46 mapping (RFC 5891, UTS #46); addresses are a dotted quad or an RFC 5952
IPv6 address in brackets. What the mapping turns into something else (a dot, a delimiter, an address, a special name)
is refused under that reading, for that is what a resolver would connect to.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from ipaddress import IPv6Address

MAX_HOST, MAX_LABEL = 253, 63

SPECIAL_SUFFIXES = frozenset(
    {
        "localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "mail", "private", "onion",
        "i2p", "test", "invalid", "alt", "svc", "default", "consul", "nomad",
    }
)  # fmt: skip
"""Last labels of names that never are public sites: RFC 6761, 6762 and appendix G, 7686, 9476, ICANN SAC 113 and the
names that it will not delegate (home, corp, mail), and what clusters and routers use. `example` is not among them: RFC
6761 6.5 asks applications not to treat it specially, and nobody can register it.
"""

REASONS = {
    "host_special_name": "its last label is kept for private use, or for none: it is no public site",
    "host_single_label": "a public site has a name with a dot in it",
    "host_percent": "a host is not percent-encoded",
    "host_unicode_dot": "a character of the host is read as a dot or a delimiter by some",
    "host_too_long": "the host is longer than DNS allows",
    "ip_noncanonical": "write the address as four decimal numbers, or as RFC 5952 does",
    "self_host": "it is one of this service's own hosts",
}
"""What is wrong with a host, by the code that refuses it."""

_DELIMITERS = re.compile(r"[.:/?#\[\]@\\%]")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*").fullmatch
_QUAD = re.compile(r"(0|[1-9][0-9]{0,2})(?:\.(0|[1-9][0-9]{0,2})){3}").fullmatch
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?").fullmatch


@dataclass(frozen=True, slots=True)
class Host:
    """`name` is canonical and without brackets; `code` refuses it, whoever resolves it."""

    name: str
    is_address: bool = False
    code: str | None = None


def canonical_host(host: str) -> Host:
    """Judge the host part of an authority: everything but who owns it and where it resolves to."""
    if "%" in host:
        return Host(host, code="host_percent")
    if host.startswith("["):
        return _bracketed(host[1:-1])
    name, code = (host.lower(), None) if host.isascii() else _mapped(host)
    if code is not None:
        return Host(name, code=code)
    name = name.removesuffix(".")
    labels = name.split(".")
    if _NUMBER(labels[-1]):
        return _dotted(name) if host.isascii() else Host(name, code="ip_noncanonical")
    if _is_special(labels):
        return Host(name, code="host_special_name")
    name, code = _a_labels(labels)
    if code is None and "." not in name:
        code = "host_single_label"
    return Host(name, code=code)


def _bracketed(text: str) -> Host:
    try:
        address = IPv6Address(text)
    except ValueError:
        return Host(text, code="url_malformed")
    plain = str(address) == text.lower()
    return Host(str(address), is_address=True, code=None if plain else "ip_noncanonical")


def _dotted(name: str) -> Host:
    """A host that ends in a number is an IPv4 address or nothing (WHATWG URL "ends in a number")."""
    if _QUAD(name) and all(int(octet) < 256 for octet in name.split(".")):
        return Host(name, is_address=True)
    return Host(name, code="ip_noncanonical")


def _is_special(labels: list[str]) -> bool:
    """Everything below `arpa` is infrastructure (RFC 3172), home.arpa (RFC 8375) among it."""
    return labels[-1] in SPECIAL_SUFFIXES or (labels[-1] == "arpa" and len(labels) > 1)


def _mapped(host: str) -> tuple[str, str | None]:
    import idna  # only international hosts pay for the tables

    code: str | None = None
    try:
        mapped = idna.uts46_remap(host, std3_rules=False)
    except idna.IDNAError:
        mapped, code = unicodedata.normalize("NFKC", host), "url_malformed"
    if _DELIMITERS.findall(mapped) != _DELIMITERS.findall(host):
        code = "host_unicode_dot"
    return mapped, code


def _a_labels(labels: list[str]) -> tuple[str, str | None]:
    """The labels as A-labels. Underscores are let through: DNS has them, and so have real sites."""
    out = []
    for label in labels:
        encoded = label
        if not label.isascii() or label.startswith("xn--"):
            import idna

            try:
                encoded = idna.alabel(idna.ulabel(label)).decode("ascii")
            except (idna.IDNAError, UnicodeError):
                return ".".join(labels), "url_malformed"
            if label.isascii() and encoded != label:
                return ".".join(labels), "url_malformed"
        if not _LABEL(encoded):
            return ".".join(labels), "url_malformed"
        if len(encoded) > MAX_LABEL:
            return ".".join(labels), "host_too_long"
        out.append(encoded)
    name = ".".join(out)
    return name, None if len(name) <= MAX_HOST else "host_too_long"
