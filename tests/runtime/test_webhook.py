"""Who may call a webhook: the body secret, and Standard Webhooks signatures as their specification has them."""

from __future__ import annotations

import base64
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import webhook
from runtime.models import Site, SiteOptions

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
SECRET, OLD = webhook.new_secret(), webhook.new_secret()
BODY = b'{"base_url": "https://docs.example.com"}'


def site(secret: str = SECRET, **fields: Any) -> Site:
    return Site(id="1", base_url="https://docs.example.com", options=SiteOptions(), webhook_secret=secret, **fields)


def verify(row: Site, headers: dict[str, str] | None = None, secret: str | None = None, now: datetime = NOW) -> bool:
    return webhook.verify(row, headers=headers or {}, body=BODY, body_secret=secret, now=now)


def signed(*secrets: str, at: datetime = NOW, body: bytes = BODY) -> dict[str, str]:
    return webhook.signed_headers(secrets, message_id="msg_1", timestamp=int(at.timestamp()), body=body)


def test_the_signature_is_the_one_of_the_specification() -> None:
    """The example that the Standard Webhooks libraries are tested with."""
    made = webhook.sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=1614265330,
        body=b'{"test": 2432232314}',
    )

    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_new_secret_has_32_random_bytes() -> None:
    """In the form that the libraries take; no two are alike."""
    made = {webhook.new_secret() for _ in range(100)}

    assert len(made) == 100
    assert {len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) for secret in made} == {32}


@given(st.text(), st.text())
def test_two_secrets_are_equal_when_they_are(one: str, other: str) -> None:
    """For any text, lone surrogates included, and never for the empty one."""
    assert webhook.equal(one, other) is (one == other and one != "")
    assert webhook.equal(one, one) is (one != "")


def test_what_is_signed_with_a_secret_verifies_with_it() -> None:
    assert verify(site(), signed(SECRET))
    assert not verify(site(), signed(OLD))
    assert not verify(site(), {**signed(SECRET), webhook.ID: "msg_2"})
    assert not verify(site(), signed(SECRET, body=BODY + b" "))


def test_a_rotation_overlaps_in_both_modes() -> None:
    """Until its last moment the old secret is good; the signatures of both travel in one header."""
    row = site(previous_webhook_secret=OLD, previous_secret_until=NOW)

    assert verify(row, signed(OLD))
    assert verify(row, secret=OLD)
    after = NOW + timedelta(microseconds=1)
    assert not verify(row, signed(OLD), now=after)
    assert not verify(row, secret=OLD, now=after)
    assert verify(site(), signed(OLD, SECRET))
    assert webhook.valid_secrets(row, NOW) == [SECRET, OLD]
    assert webhook.valid_secrets(row, after) == [SECRET, ""]


@pytest.mark.parametrize(("seconds", "good"), [(0, True), (300, True), (-300, True), (301, False), (-301, False)])
def test_a_signature_is_good_for_five_minutes_either_way(seconds: int, good: bool) -> None:
    assert verify(site(), signed(SECRET, at=NOW + timedelta(seconds=seconds))) is good


@pytest.mark.parametrize("spelling", ["{:_}", "+{}", " {}", "{}.0", "0{}", "{:,}", "{:e}"])
def test_a_signature_s_time_has_one_spelling(spelling: str) -> None:
    """What Python would read as the same number is not the text that was signed."""
    good = signed(SECRET)
    assert not verify(site(), good | {webhook.TIMESTAMP: spelling.format(int(good[webhook.TIMESTAMP]))})


@pytest.mark.parametrize("secret", ["", "whsec_"])
def test_a_secret_without_a_key_opens_nothing_that_is_signed(secret: str) -> None:
    """HMAC takes an empty key, with which anybody can sign."""
    forged = {**signed(SECRET), webhook.SIGNATURE: "v1,"}

    assert webhook.sign(secret, message_id="msg_1", timestamp=1, body=BODY) == ""
    assert webhook.signed_headers([secret, ""], message_id="msg_1", timestamp=1, body=BODY) == {}
    assert not verify(site(secret), forged)
    assert not verify(site(secret), {**forged, webhook.SIGNATURE: ""})


def test_a_site_without_a_secret_is_closed() -> None:
    for given_secret in (None, "", "x"):
        assert not verify(site(""), secret=given_secret)


def test_a_required_signature_is_not_replaced_by_the_secret() -> None:
    row = Site(id="1", base_url="b", options=SiteOptions(require_signature=True), webhook_secret=SECRET)

    assert not verify(row, secret=SECRET)
    assert verify(row, signed(SECRET))


@given(
    st.dictionaries(
        st.sampled_from([webhook.ID, webhook.TIMESTAMP, webhook.SIGNATURE]),
        st.text() | st.text("v12,+/= _.0123456789", max_size=60),
    ),
    st.none() | st.text(),
)
def test_no_header_and_no_secret_makes_it_raise(headers: dict[str, str], secret: str | None) -> None:
    """Whatever is sent is answered with no, unless it is the secret."""
    assert verify(site(), headers, secret) is (secret == SECRET and webhook.SIGNATURE not in headers)


def test_every_comparison_of_a_secret_takes_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes through `hmac.compare_digest`, for each secret that is valid, also after one has matched."""
    compared: list[tuple[bytes, bytes]] = []
    digest = hmac.compare_digest

    def recording(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return digest(one, other)

    monkeypatch.setattr(hmac, "compare_digest", recording)
    row = site(previous_webhook_secret=OLD, previous_secret_until=NOW)

    assert verify(row, secret=SECRET)
    assert compared == [(SECRET.encode(), SECRET.encode()), (SECRET.encode(), OLD.encode())]
    compared.clear()
    assert verify(row, signed(SECRET, OLD))
    assert len(compared) == 4
    compared.clear()
    assert webhook.equal_any("é", ["a", "é", "b"])
    assert compared == [("é".encode(), secret.encode()) for secret in ("a", "é", "b")]
