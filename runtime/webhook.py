"""Is this call from the site's owner? The body secret of the specification, or Standard Webhooks headers. Pure.

Standard Webhooks (standardwebhooks.com): HMAC-SHA256 over `id.timestamp.body` with the raw body bytes, base64, several
signatures in one header for rotation, five minutes of tolerance either way. The parsing is stricter than the reference
library's, which takes `1_767_225_600` for a time and raises on a signature without a comma.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime

from runtime.models import Site

TOLERANCE_SECONDS = 300
REPLAY_SECONDS = 900
SIGNATURE_HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")

_TIMESTAMP = re.compile(r"[0-9]{10}", re.ASCII)
_MESSAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


def new_secret() -> str:
    """A webhook secret in the Standard Webhooks form: `whsec_` and 32 random bytes in base64."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def equal(given: str, expected: str) -> bool:
    """Compare two secrets in constant time, as UTF-8 bytes; an empty expected secret equals nothing."""
    same = hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode("utf-8", "surrogatepass"))
    return same and bool(expected)


def equal_any(given: str, expected: Iterable[str]) -> bool:
    """Whether one of the secrets matches; every one is compared, so that the time tells nothing."""
    return any([equal(given, secret) for secret in expected])  # noqa: C419 - a list, so that none is skipped


def is_signed(headers: Mapping[str, str]) -> bool:
    """Whether the caller chose the signed mode; it then has to hold, there is no falling back to the body secret."""
    return "webhook-signature" in headers


def verify(
    site: Site | None, *, headers: Mapping[str, str], body: bytes, body_secret: str | None, now: datetime
) -> bool:
    """Whether the caller knows a secret of the site that is valid now.

    An unknown site costs the same work as a known one.
    """
    valid = _valid_secrets(site, now)
    if is_signed(headers):
        return _signature_holds(valid, headers, body, now) and site is not None
    if site is not None and site.options.require_signature:
        return False
    return equal_any(body_secret or "", valid) and site is not None


def sign(secret: str, *, message_id: str, timestamp: int, body: bytes) -> str:
    """The `webhook-signature` header of an outbound notification."""
    mac = hmac.new(_key(secret), f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return "v1," + base64.b64encode(mac.digest()).decode()


def _valid_secrets(site: Site | None, now: datetime) -> list[str]:
    if site is None:
        return ["whsec_" + "A" * 43 + "="]
    previous = site.previous_webhook_secret if _in_overlap(site, now) else ""
    return [site.webhook_secret, previous]


def _in_overlap(site: Site, now: datetime) -> bool:
    return site.previous_secret_until is not None and now <= site.previous_secret_until


def _signature_holds(valid: Iterable[str], headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
    message_id, timestamp, given = (headers.get(name, "") for name in SIGNATURE_HEADERS)
    well_formed = bool(_MESSAGE_ID.fullmatch(message_id)) and bool(_TIMESTAMP.fullmatch(timestamp))
    at = int(timestamp) if well_formed else 0
    expected = (
        [sign(secret, message_id=message_id, timestamp=at, body=body) if secret else "" for secret in valid]
        if well_formed
        else [""]
    )
    holds = any([equal_any(candidate, expected) for candidate in given.split(" ")[:16]])  # noqa: C419 - constant work
    return holds and well_formed and abs(now.timestamp() - at) <= TOLERANCE_SECONDS


def _key(secret: str) -> bytes:
    """The bytes behind `whsec_…`; a secret in another form is used as it is."""
    plain = secret.encode("utf-8", "surrogatepass")
    if not secret.startswith("whsec_"):
        return plain
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        return plain
