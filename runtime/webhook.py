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
from collections.abc import Iterable, Mapping
from datetime import datetime

from runtime.models import Site

TOLERANCE_SECONDS = 300
REPLAY_SECONDS = 900
"""How long a message id is remembered: longer than a captured signature stays good."""

MAX_SIGNATURES = 8_192
"""Characters of the signature header that are read, over a hundred signatures; a longer one is not valid."""

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"

_TIMESTAMP = re.compile(r"[0-9]{10}", re.ASCII)
_MESSAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


def new_secret() -> str:
    """A webhook secret in the Standard Webhooks form: `whsec_` and 32 random bytes in base64."""
    import secrets  # random's tables are no part of answering a webhook

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
    return SIGNATURE in headers


def verify(site: Site, *, headers: Mapping[str, str], body: bytes, body_secret: str | None, now: datetime) -> bool:
    """Whether the caller knows a secret of the site that is valid now. A site without a secret is closed to all."""
    valid = valid_secrets(site, now)
    if is_signed(headers):
        return _signature_holds(valid, headers, body, now)
    if site.options.require_signature:
        return False
    return equal_any(body_secret or "", valid)


def valid_secrets(site: Site, now: datetime) -> list[str]:
    """The site's secret and, for as long as a rotation overlaps, the one before; empty texts where there is none."""
    overlaps = site.previous_secret_until is not None and now <= site.previous_secret_until
    return [site.webhook_secret, site.previous_webhook_secret if overlaps else ""]


def sign(secret: str, *, message_id: str, timestamp: int, body: bytes) -> str:
    """One signature of a message, `v1,…`; empty for a secret that holds no key, with which anybody could sign."""
    key = _key(secret)
    if not key:
        return ""
    mac = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return "v1," + base64.b64encode(mac.digest()).decode()


def signed_headers(valid: Iterable[str], *, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers of an outbound message, signed with every valid secret; none when no secret holds a key."""
    signatures = [sign(secret, message_id=message_id, timestamp=timestamp, body=body) for secret in valid]
    given = " ".join(filter(None, signatures))
    return {ID: message_id, TIMESTAMP: str(timestamp), SIGNATURE: given} if given else {}


def _signature_holds(valid: Iterable[str], headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
    message_id, timestamp, given = (headers.get(name, "") for name in (ID, TIMESTAMP, SIGNATURE))
    if not (_MESSAGE_ID.fullmatch(message_id) and _TIMESTAMP.fullmatch(timestamp) and len(given) <= MAX_SIGNATURES):
        return False
    at = int(timestamp)
    expected = [sign(secret, message_id=message_id, timestamp=at, body=body) for secret in valid]
    holds = any([equal_any(candidate, expected) for candidate in given.split(" ")])  # noqa: C419 - constant work
    return holds and abs(now.timestamp() - at) <= TOLERANCE_SECONDS


def _key(secret: str) -> bytes:
    """The bytes behind `whsec_…`; a secret in another form is used as it is."""
    plain = secret.encode("utf-8", "surrogatepass")
    if not secret.startswith("whsec_"):
        return plain
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        return plain
