"""Messages as text: what is written is read back, and nothing else is read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import InputError
from runtime.models import Claim, Site, SiteOptions
from runtime.ports import Message
from runtime.queues.messages import from_json, to_json

NOW = datetime(2026, 12, 2, 6, 0, tzinfo=UTC)
SITE = Site(
    id="0d5c9f0e-8f5c-4c53-9c7f-1d3f0a4f7b51",
    base_url="https://docs.example.com/",
    options=SiteOptions(max_pages=9),
    webhook_secret="whsec_canary",
    previous_webhook_secret="whsec_older_canary",
    last_error="canary",
)
CLAIM = Claim(
    site=SITE,
    generation=4,
    lease_owner="tick-7f",
    lease_until=NOW + timedelta(seconds=330),
    claimed_at=NOW,
    forced=True,
)
MESSAGE = Message(site_id=SITE.id, tick_id="7f", tick_total=25, force=True, claim=CLAIM)

texts = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=60)
instants = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.sampled_from([UTC]))  # noqa: DTZ001 - hypothesis wants naive bounds
claims = st.builds(
    Claim,
    site=st.just(Site(id="site", base_url="https://example.com/", options=SiteOptions())),
    generation=st.integers(1, 2**40),
    lease_owner=texts,
    lease_until=instants,
    claimed_at=instants,
    forced=st.booleans(),
)


@given(
    st.builds(
        Message,
        site_id=st.just("site"),
        tick_id=st.none() | texts,
        tick_total=st.integers(0, 100_000),
        force=st.booleans(),
        claim=st.none() | claims,
    )
)
def test_what_was_written_is_read_back(message: Message) -> None:
    """Any message survives the journey, and travels as one line of ASCII."""
    text = to_json(message)

    assert message == from_json(text)
    assert text.isascii()
    assert text.isprintable()


def test_the_shape_of_a_message_is_a_contract() -> None:
    """Queued messages outlive a deploy: a change of this text needs a new version number."""
    assert to_json(MESSAGE) == (
        '{"v":1,"site_id":"0d5c9f0e-8f5c-4c53-9c7f-1d3f0a4f7b51","tick_id":"7f","tick_total":25,"force":true,'
        '"claim":{"base_url":"https://docs.example.com/","generation":4,"lease_owner":"tick-7f",'
        '"lease_until":"2026-12-02T06:05:30+00:00","claimed_at":"2026-12-02T06:00:00+00:00","forced":true}}'
    )


def test_a_claim_travels_without_its_row() -> None:
    """The fence and the names travel; secrets, options and errors stay in the database."""
    text = to_json(MESSAGE)
    claim = from_json(text).claim

    assert "canary" not in text
    assert claim is not None
    assert (claim.generation, claim.lease_owner, claim.lease_until, claim.claimed_at, claim.forced) == (
        CLAIM.generation,
        CLAIM.lease_owner,
        CLAIM.lease_until,
        CLAIM.claimed_at,
        CLAIM.forced,
    )
    assert claim.site == Site(id=SITE.id, base_url=SITE.base_url, options=SiteOptions())


def test_times_with_another_offset_are_the_same_instant() -> None:
    """An offset is converted, never dropped."""
    east = json.loads(to_json(MESSAGE))
    east["claim"]["claimed_at"] = NOW.astimezone(timezone(timedelta(hours=9))).isoformat()
    claim = from_json(json.dumps(east)).claim

    assert claim is not None
    assert claim.claimed_at == NOW
    assert claim.claimed_at.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "7", '"text"', "{}", "{", "not json", "[" * 100_000, "NaN", '{"v":1}', "\ud800", "9" * 5_000],
)
def test_what_is_no_message_is_refused(text: str) -> None:
    """F-07: any text is either a message or one InputError; nothing else is raised."""
    with pytest.raises(InputError):
        from_json(text)


WRONG: list[tuple[str, Any]] = [
    ("v", 2),
    ("v", True),
    ("v", "1"),
    ("v", None),
    ("site_id", ""),
    ("site_id", None),
    ("site_id", 7),
    ("site_id", "a\nb"),
    ("site_id", "x" * 5_000),
    ("tick_id", ""),
    ("tick_id", 7),
    ("tick_total", -1),
    ("tick_total", "25"),
    ("tick_total", True),
    ("tick_total", 1.0),
    ("tick_total", 2**70),
    ("force", 1),
    ("force", None),
    ("claim", []),
    ("claim", "x"),
    ("claim", {}),
    ("claim.base_url", ""),
    ("claim.generation", 0),
    ("claim.generation", None),
    ("claim.lease_owner", ""),
    ("claim.lease_until", "2026-12-02T06:05:30"),
    ("claim.lease_until", "soon"),
    ("claim.lease_until", 1_796_202_241),
    ("claim.claimed_at", None),
    ("claim.claimed_at", "0001-01-01T00:00:00+23:59"),
    ("claim.forced", "yes"),
]


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_a_wrong_field_is_named(field: str, value: object) -> None:
    """A message with one wrong value is refused, and the error says which."""
    fields = json.loads(to_json(MESSAGE))
    target = fields
    *parents, name = field.split(".")
    for parent in parents:
        target = target[parent]
    target[name] = value
    with pytest.raises(InputError) as raised:
        from_json(json.dumps(fields))

    assert raised.value.field == field


@pytest.mark.parametrize("change", ["missing", "unknown", "claim missing", "claim unknown", "twice"])
def test_fields_are_exactly_the_known_ones(change: str) -> None:
    """A missing, an unknown or a repeated name is another format, not a detail."""
    fields = json.loads(to_json(MESSAGE))
    target = fields["claim"] if "claim" in change else fields
    if "missing" in change:
        del target["forced" if "claim" in change else "force"]
    else:
        target["extra"] = 1
    text = json.dumps(fields) if change != "twice" else '{"v":1,' + to_json(MESSAGE)[1:]
    with pytest.raises(InputError):
        from_json(text)


@given(st.text() | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
).map(json.dumps))  # fmt: skip
def test_reading_never_fails_in_another_way(text: str) -> None:
    """Whatever arrives, the only error is InputError."""
    with pytest.raises(InputError):
        from_json(text)
