"""Signatures of calls to AWS, beside those of botocore."""

from __future__ import annotations

from datetime import UTC, datetime
from unittest import mock

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as TheirCredentials
from hypothesis import given
from hypothesis import strategies as st

from runtime.aws.signature import Credentials, signed

WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789.-_/+=", min_size=1, max_size=30)
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - naive bounds


@given(
    body=st.binary(max_size=300),
    key_id=WORDS,
    secret=WORDS,
    token=st.one_of(st.just(""), WORDS),
    target=WORDS,
    host=st.sampled_from(["sqs.eu-west-1.amazonaws.com", "127.0.0.1:4566"]),
    service=st.sampled_from(["sqs", "secretsmanager"]),
    region=st.sampled_from(["eu-west-1", "cn-north-1"]),
    now=MOMENTS,
)
def test_a_signature_is_the_one_of_botocore(
    body: bytes,
    key_id: str,
    secret: str,
    token: str,
    target: str,
    host: str,
    service: str,
    region: str,
    now: datetime,
) -> None:
    """Any body, keys and time: the same headers are signed, with the same signature."""
    headers = {"content-type": "application/x-amz-json-1.0", "host": host, "x-amz-target": target}
    ours = signed(
        headers, body, credentials=Credentials(key_id, secret, token), service=service, region=region, now=now
    )

    request = AWSRequest("POST", f"https://{host}/", headers=headers, data=body)
    signer = botocore.auth.SigV4Auth(TheirCredentials(key_id, secret, token or None), service, region)
    with mock.patch.object(botocore.auth, "get_current_datetime", return_value=now.replace(tzinfo=None)):
        signer.add_auth(request)
    assert ours["authorization"] == request.headers["Authorization"]
    assert ours["x-amz-date"] == request.headers["X-Amz-Date"]
    assert ours.get("x-amz-security-token") == request.headers.get("X-Amz-Security-Token")


def test_no_secret_is_shown() -> None:
    """A key pair in a log or a traceback is its id."""
    assert repr(Credentials("id", "key-canary", "token-canary")) == "Credentials(key_id='id')"
