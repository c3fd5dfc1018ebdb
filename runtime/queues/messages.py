"""A message as the text that travels: JSON with a version, written in one way and read strictly.

A claim travels as what fences it: generation, owner, lease. The row does not travel, because it holds secrets and grows
old while the message waits: `Sites.renew_lease` gives the worker the claim with the row as it is then. Until that call
`claim.site` knows its id and base URL, which log lines and dead letters need, and nothing else.

    {"v": 1, "site_id": "…", "tick_id": "…" or null, "tick_total": 25, "force": false,
     "claim": null or {"base_url": "…", "generation": 4, "lease_owner": "tick-…",
                       "lease_until": "2026-12-02T06:05:30+00:00", "claimed_at": "…", "forced": false}}
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NoReturn

from runtime.errors import InputError
from runtime.models import Claim, Site, SiteOptions
from runtime.ports import Message

VERSION = 1
MAX_TEXT = 4_096
"""The longest text in a message, in characters: a base URL has 2,048 at most."""

_FIELDS = ("v", "site_id", "tick_id", "tick_total", "force", "claim")
_CLAIM_FIELDS = ("base_url", "generation", "lease_owner", "lease_until", "claimed_at", "forced")


def to_json(message: Message) -> str:
    """The message on one line, in ASCII: the same message gives the same text."""
    claim = message.claim
    fields = {
        "v": VERSION,
        "site_id": message.site_id,
        "tick_id": message.tick_id,
        "tick_total": message.tick_total,
        "force": message.force,
        "claim": claim
        and {
            "base_url": claim.site.base_url,
            "generation": claim.generation,
            "lease_owner": claim.lease_owner,
            "lease_until": claim.lease_until.isoformat(),
            "claimed_at": claim.claimed_at.isoformat(),
            "forced": claim.forced,
        },
    }
    return json.dumps(fields, separators=(",", ":"))


def from_json(text: str) -> Message:
    """The message of a text that `to_json` wrote.

    :raises InputError: anything else; `field` names what is wrong. Reading it again will not help.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, TypeError, RecursionError):
        raise InputError("message", "not a JSON object") from None
    fields = _object(value, "message", _FIELDS)
    if type(fields["v"]) is not int or fields["v"] != VERSION:
        raise InputError("v", f"this version of the service reads messages of version {VERSION}")
    site_id = _text(fields["site_id"], "site_id")
    return Message(
        site_id=site_id,
        tick_id=None if fields["tick_id"] is None else _text(fields["tick_id"], "tick_id"),
        tick_total=_count(fields["tick_total"], "tick_total", at_least=0),
        force=_flag(fields["force"], "force"),
        claim=None if fields["claim"] is None else _claim(site_id, fields["claim"]),
    )


def _claim(site_id: str, value: Any) -> Claim:
    fields = _object(value, "claim", _CLAIM_FIELDS)
    return Claim(
        site=Site(id=site_id, base_url=_text(fields["base_url"], "claim.base_url"), options=SiteOptions()),
        generation=_count(fields["generation"], "claim.generation", at_least=1),
        lease_owner=_text(fields["lease_owner"], "claim.lease_owner"),
        lease_until=_instant(fields["lease_until"], "claim.lease_until"),
        claimed_at=_instant(fields["claimed_at"], "claim.claimed_at"),
        forced=_flag(fields["forced"], "claim.forced"),
    )


def _object(value: Any, field: str, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != set(names):
        raise InputError(field, f"an object with exactly {', '.join(names)} is expected")
    return value


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT or not value.isprintable():
        raise InputError(field, f"1 to {MAX_TEXT} printable characters are expected")
    return value


def _count(value: Any, field: str, *, at_least: int) -> int:
    if type(value) is not int or not at_least <= value < 2**63:
        raise InputError(field, f"a whole number from {at_least} is expected")
    return value


def _flag(value: Any, field: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(field, "true or false is expected")
    return value


def _instant(value: Any, field: str) -> datetime:
    try:
        instant = datetime.fromisoformat(_text(value, field))
        if instant.utcoffset() is not None:
            return instant.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise InputError(field, "an ISO 8601 date and time with an offset is expected")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A name that comes twice would let two readers see two messages (RFC 8259 4)."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _no_constant(_: str) -> NoReturn:
    """NaN and Infinity are no JSON."""
    raise ValueError
