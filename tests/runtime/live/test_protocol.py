"""The message, the frames and the tokens of a live crawl, without a connection."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import live, live_token
from runtime.errors import FetchFailed, InputError, Misconfigured, NotFound, Refused, StaleClaim, StoreDown

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
KEY = "an-api-key-0123456789"

BAD = {
    "": "message",
    "{": "message",
    "null": "message",
    "[]": "message",
    '"url"': "message",
    "NaN": "message",
    '{"url": NaN}': "message",
    '{"url": "\\ud800"}': "message",
    "[" * 100_000: "message",
    '{"enableAutoUpdate": "yes"}': "enableAutoUpdate",
    '{"enableAutoUpdate": 1}': "enableAutoUpdate",
    '{"enableAutoUpdate": null}': "enableAutoUpdate",
    json.dumps({"url": "x" * live.MAX_MESSAGE_BYTES}): "message",
}


@pytest.mark.parametrize(("text", "field"), BAD.items(), ids=[text[:20] or "empty" for text in BAD])
def test_a_bad_message_is_refused_by_name(text: str, field: str) -> None:
    """The error names the field as the caller spelled it."""
    with pytest.raises(InputError) as refused:
        live.parse(text)

    assert refused.value.field == field
    assert live.refusal(refused.value).more["field"] == field


@pytest.mark.parametrize("message", [None, b'{"url": "https://docs.example.com"}'])
def test_only_text_is_a_request(message: bytes | None) -> None:
    """The protocol is JSON in text frames."""
    with pytest.raises(InputError, match="text message"):
        live.parse(message)


def test_enrolment_is_off_unless_asked_for() -> None:
    """The specification's default."""
    assert not live.parse('{"url": "https://docs.example.com"}').enroll
    assert live.parse('{"url": "https://docs.example.com", "enableAutoUpdate": true}').enroll


@given(st.text(max_size=400))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    """No input gets another exception out of the parser."""
    try:
        wanted = live.parse(text)
    except InputError:
        return
    assert isinstance(wanted.enroll, bool)


@pytest.mark.parametrize(
    "error",
    [
        StoreDown("postgres://user:hunter2@db/"),
        FetchFailed("https://x/", "hunter2"),
        NotFound("hunter2"),
        StaleClaim("hunter2"),
        Misconfigured("hunter2"),
        RuntimeError("hunter2"),
    ],
)
def test_no_frame_tells_an_errors_text(error: Exception) -> None:
    """What an error says may hold anything; the client gets a sentence of ours and a code."""
    frame = json.loads(live.refusal(error).encoded())

    assert frame["type"] == "error"
    assert frame["code"]
    assert "hunter2" not in json.dumps(frame)


def test_a_refused_url_is_a_bad_url() -> None:
    """The gate's sentence is ours, and says what is wrong with the address."""
    frame = live.refusal(Refused("http://169.254.169.254/", "the address is private", code="address_private"))

    assert (frame.more["field"], frame.more["code"]) == ("url", "address_private")


def test_a_token_is_good_for_five_minutes() -> None:
    """And not before it was issued, not for another key, not without a key."""
    token = live_token.issue(KEY, NOW)

    assert KEY not in token
    assert live_token.is_valid(token, [KEY], NOW)
    assert live_token.is_valid(token, ["another", KEY], NOW + timedelta(seconds=299))
    assert not live_token.is_valid(token, [KEY], NOW + timedelta(minutes=5))
    assert not live_token.is_valid(token, [KEY], NOW - timedelta(minutes=5))
    assert not live_token.is_valid(token, ["another"], NOW)
    assert not live_token.is_valid(token, [], NOW)
    assert not live_token.is_valid(token, [""], NOW)
    assert not live_token.is_valid(live_token.issue("", NOW), [""], NOW)


@given(st.integers(0, 51), st.sampled_from("0123456789abcdefXYZ-_.é\n"))
def test_a_token_with_one_other_character_is_none(place: int, character: str) -> None:
    """Neither the time nor the signature can be edited."""
    token = live_token.issue(KEY, NOW)
    forged = token[:place] + character + token[place + 1 :]

    assert live_token.is_valid(forged, [KEY], NOW) == (forged == token)


@given(st.text(max_size=80))
def test_any_text_as_token_is_judged_without_an_exception(text: str) -> None:
    """Whatever a query string holds."""
    assert not live_token.is_valid(text, [KEY], NOW)
