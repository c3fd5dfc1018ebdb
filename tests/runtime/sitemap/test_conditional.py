"""Conditional requests: which validators are sent, what a 304 leaves, when a server wants to be asked again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from runtime.conditional import RECHECK, after_304, retry_after, sendable, storable
from runtime.reading import Response, Validators

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
PAST = "Fri, 01 May 2026 00:00:00 GMT"
FUTURE = "Sat, 16 Nov 2041 19:11:00 GMT"


def answer(status: int = 200, **headers: str) -> Response:
    return Response("https://example.com/", status, tuple((k.replace("_", "-"), v) for k, v in headers.items()))


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        (Validators('"v1"', PAST), Validators('"v1"', PAST)),
        (Validators('W/"v1"'), Validators('W/"v1"')),
        (Validators(None, PAST), Validators(None, PAST)),
        (Validators(), None),
        (Validators(None, FUTURE), None),
        (Validators('"v1"', FUTURE), Validators('"v1"')),
        (Validators(f'"{FUTURE}"', FUTURE), None),
        (Validators(None, "Tue, 01 Jan 1980 00:00:01 GMT"), None),
        (Validators('"v1"', "0"), Validators('"v1"')),
    ],
)
def test_a_validator_that_cannot_be_true_is_not_sent(stored: Validators, sent: Validators | None) -> None:
    """A date from the future or before the web says nothing; nor does an entity tag that is only that date."""
    assert sendable(stored, NOW, NOW - timedelta(days=1)) == sent


def test_after_weeks_of_not_modified_the_whole_document_is_asked_for() -> None:
    """A server that answers 304 for ever is found out."""
    stored = Validators('"v1"', PAST)
    assert sendable(stored, NOW, NOW - RECHECK) == stored
    assert sendable(stored, NOW, NOW - RECHECK - timedelta(seconds=1)) is None
    assert sendable(stored, NOW, NOW + timedelta(days=1)) is None, "a time of ours that lies ahead is not to be trusted"


def test_a_last_modified_from_the_future_is_not_stored() -> None:
    """RFC 9110 8.8.2.1: later than the answer's own date is invalid; the server's clock may be a little ahead."""
    assert storable(answer(etag='"v1"', last_modified=FUTURE), NOW) == Validators('"v1"')
    ahead = "Mon, 01 Jun 2026 12:01:00 GMT"
    assert storable(answer(last_modified=ahead), NOW) == Validators(None, ahead)


def test_a_304_keeps_what_it_does_not_repeat() -> None:
    """RFC 9111 4.3.4: missing fields stay; a repeated tag brings its date; another tag is about something else."""
    stored = Validators('"v1"', PAST)
    assert after_304(stored, answer(304)) == stored
    assert after_304(stored, answer(304, etag='W/"v1"', last_modified="x")) == Validators('W/"v1"', "x")
    assert after_304(stored, answer(304, etag='"v2"', last_modified="x")) == stored


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("3600", timedelta(hours=1)),
        (" 0 ", timedelta()),
        ("315360000", timedelta(days=7)),
        ("9" * 400, timedelta(days=7)),
        ("Mon, 01 Jun 2026 14:30:00 GMT", timedelta(hours=2, minutes=30)),
        ("Mon, 01 Jun 2036 14:30:00 GMT", timedelta(days=7)),
        ("Mon, 01 Jun 2020 14:30:00 GMT", None),
        ("-5", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_at_most_a_week(value: str, wait: timedelta | None) -> None:
    """RFC 9110 10.2.3; ten years are a week, the past and nonsense are nothing."""
    assert retry_after(answer(503, retry_after=value), NOW) == (None if wait is None else NOW + wait)


def test_only_a_server_in_trouble_can_ask_for_a_pause() -> None:
    """Retry-After on a page that is simply not there is ignored."""
    assert retry_after(answer(404, retry_after="60"), NOW) is None
    assert retry_after(answer(429, retry_after="60"), NOW) == NOW + timedelta(minutes=1)
