"""When two URLs, two instants or two texts of a case count as equal."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import idna

UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
KEPT = UNRESERVED | frozenset("/:@!$&'()*+,;=?")
_DEFAULT_PORT = {"http": 80, "https": 443}


def _escape(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        token = match[0]
        if len(token) == 3:
            char = chr(int(token[1:], 16))
            return char if char in UNRESERVED or char in "()" else token.upper()
        return token if token in KEPT else "".join(f"%{byte:02X}" for byte in token.encode("utf-8", "surrogatepass"))

    return re.sub(r"%[0-9A-Fa-f]{2}|.", one, text, flags=re.DOTALL)


def _host(host: str) -> str:
    host = host.lower()
    try:
        if host.startswith("["):
            return f"[{ipaddress.ip_address(host[1:-1]).compressed}]"
        if not host.isascii():
            return idna.encode(host, uts46=True, transitional=False).decode()
    except ValueError:
        pass
    return host


def _without_dot_segments(path: str) -> str:
    out: list[str] = []
    segments = path.split("/")
    for place, segment in enumerate(segments, start=1):
        if segment in (".", ".."):
            if segment == ".." and len(out) > 1:
                out.pop()
            if place == len(segments):
                out.append("")
        else:
            out.append(segment)
    joined = "/".join(out)
    return joined if joined.startswith("/") else "/" + joined


def norm(url: str | None) -> str | None:
    """The RFC 3986 6.2.2 and 6.2.3 form, for comparing only: fragment dropped, ( ) decoded."""
    if url is None:
        return None
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return url
    user, _, address = parts.netloc.rpartition("@")
    authority = _host(f"[{host}]" if address.startswith("[") else host)
    if user:
        authority = f"{user}@{authority}"
    if port is not None and port != _DEFAULT_PORT.get(parts.scheme.lower()):
        authority += f":{port}"
    path = _without_dot_segments(_escape(parts.path or "/"))
    query = "?" + _escape(parts.query) if parts.query or re.search(r"\?(#|$)", url) else ""
    return f"{parts.scheme.lower()}://{authority}{path}{query}"


def norms(urls: Any) -> set[str | None]:
    return {norm(url) for url in urls or ()}


def instant(value: Any) -> datetime | None:
    """A time as an aware datetime; one without a zone is UTC.

    :raises ValueError: it is no ISO 8601 time.
    """
    if value is None:
        return None
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def text(value: str | None) -> str | None:
    """NFC without outer white space; an empty text is None."""
    return None if value is None else (unicodedata.normalize("NFC", value).strip(" \t\r\n\f") or None)
