"""Tokens for a browser's WebSocket, which can send no header: five minutes, signed with the API key. Pure.

`expiry.mac` in hex digits and base64url; the mac is HMAC-SHA256 under a key of its own, so that a token is no use
anywhere else and says nothing about the key. Nothing is stored; a key that is taken back takes its tokens with it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from runtime.webhook import equal_any

LIFETIME = timedelta(minutes=5)
_FORM = re.compile(r"([0-9a-f]{8})\.[A-Za-z0-9_-]{43}", re.ASCII)
_PURPOSE, _CALLER = b"llms-txt live crawl v1", b"llms-txt live caller v1"


def caller_of(key: str) -> str:
    """A name for whoever knows a key: a digest under a purpose of its own, which says nothing about the key."""
    return hmac.digest(key.encode("utf-8", "surrogatepass"), _CALLER, hashlib.sha256).hex()[:32]


def issue(key: str, now: datetime) -> str:
    """A token that the holder of an API key may give to a browser."""
    return _signed(key, int((now + LIFETIME).timestamp()))


def is_valid(token: str, keys: Iterable[str], now: datetime) -> bool:
    """Whether one of the keys signed it and it has not run out. Without a key nothing is valid."""
    form = _FORM.fullmatch(token)
    expiry = 0 if form is None else int(form[1], 16)
    signed = equal_any(token, [_signed(key, expiry) for key in keys if key])
    return signed and now.timestamp() < expiry <= (now + LIFETIME).timestamp() + 1


def _signed(key: str, expiry: int) -> str:
    purpose = hmac.digest(key.encode("utf-8", "surrogatepass"), _PURPOSE, hashlib.sha256)
    stamp = f"{expiry:08x}"
    mac = hmac.digest(purpose, stamp.encode(), hashlib.sha256)
    return f"{stamp}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
