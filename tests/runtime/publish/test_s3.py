"""What is particular to S3 and R2: headers on the wire, conflicts, refusals, silence, and answers that get lost."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from runtime.errors import Misconfigured, PreconditionFailed, StoreDown
from runtime.publish.s3 import S3Publisher, S3States, make_client
from tests.runtime.publish.lossy import LossyProxy
from tests.stand_ins.s3 import ACCESS_KEY_ID, SECRET_ACCESS_KEY, S3Server

KEY = "docs.example.com/llms.txt"
PUBLIC = "https://pub-abc123.r2.dev"


def digest(body: bytes) -> str:
    return sha256(body).hexdigest()


async def put(publisher: S3Publisher, body: bytes, expected: str | None, *, generation: int = 1) -> str:
    return await publisher.put(KEY, body, sha256=digest(body), generation=generation, expected_etag=expected)


@pytest.fixture
def lossy(s3_server: S3Server) -> Iterator[LossyProxy]:
    with LossyProxy(s3_server.endpoint_url).running() as proxy:
        yield proxy


def test_the_object_carries_the_headers_readers_need(s3_server: S3Server, bucket: str) -> None:
    """Text with a charset, five minutes of cache, and the hash and generation of the run that wrote it."""
    asyncio.run(put(S3Publisher(s3_server.client(), bucket, PUBLIC), b"# Title\n", None, generation=7))
    url = s3_server.client().generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": KEY})
    with urllib.request.urlopen(url) as answer:
        headers = answer.headers

    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert headers["Cache-Control"] == "public, max-age=300"
    assert headers["x-amz-meta-sha256"] == digest(b"# Title\n")
    assert headers["x-amz-meta-generation"] == "7"
    assert headers["ETag"]


async def test_no_checksum_trailer_is_sent(s3_server: S3Server, bucket: str) -> None:
    """F-59: R2 refuses the trailer that boto3 adds by default; the body goes out as it is."""
    client = s3_server.client()
    sent: list[dict[str, Any]] = []
    client.meta.events.register("before-send.s3.PutObject", lambda request, **_: sent.append(dict(request.headers)))
    await put(S3Publisher(client, bucket, PUBLIC), b"# Title\n", None)

    assert len(sent) == 1
    names = {name.lower() for name in sent[0]}
    assert not any(name.startswith("x-amz-checksum") or name == "x-amz-trailer" for name in names)
    assert "aws-chunked" not in str(sent[0].get("Content-Encoding", ""))
    assert sent[0]["If-None-Match"] in ("*", b"*")


@pytest.mark.parametrize("conflicts", [1, 2, 3])
async def test_a_conflict_is_repeated_with_growing_jittered_waits(conflicts: int) -> None:
    """F-58: up to three 409 answers are waited out; each wait is a random part of one that doubles."""
    client = make_client(endpoint_url="http://127.0.0.1:9", access_key_id="a", secret_access_key="b")
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    publisher = S3Publisher(client, "bucket", PUBLIC, sleep=sleep, uniform=lambda: 0.5)
    with Stubber(client) as stub:
        for _ in range(conflicts):
            stub.add_client_error("put_object", "ConditionalRequestConflict", http_status_code=409)
        stub.add_response("put_object", {"ETag": '"new"'})
        etag = await put(publisher, b"body", '"old"')
        stub.assert_no_pending_responses()

    assert etag == '"new"'
    assert slept == [0.1, 0.2, 0.4][:conflicts]


async def test_a_conflict_that_lasts_is_left_to_the_next_run() -> None:
    """After three repetitions the store is busy, which is no fault of the site."""
    client = make_client(endpoint_url="http://127.0.0.1:9", access_key_id="a", secret_access_key="b")

    async def sleep(_: float) -> None:
        return

    publisher = S3Publisher(client, "bucket", PUBLIC, sleep=sleep)
    with Stubber(client) as stub:
        for _ in range(4):
            stub.add_client_error("put_object", "OperationAborted", http_status_code=409)
        with pytest.raises(StoreDown, match="written by somebody else"):
            await put(publisher, b"body", '"old"')
        stub.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (403, "AccessDenied", Misconfigured),
        (403, "SignatureDoesNotMatch", Misconfigured),
        (400, "ExpiredToken", Misconfigured),
        (401, "Unauthorized", Misconfigured),
        (404, "NoSuchBucket", Misconfigured),
        (301, "PermanentRedirect", Misconfigured),
        (501, "NotImplemented", StoreDown),
        (503, "SlowDown", StoreDown),
        (500, "InternalError", StoreDown),
        (429, "TooManyRequests", StoreDown),
        (400, "RequestTimeout", StoreDown),
        (412, "PreconditionFailed", PreconditionFailed),
        (404, "NoSuchKey", PreconditionFailed),
    ],
)
async def test_every_refusal_has_a_meaning(status: int, code: str, kind: type[Exception]) -> None:
    """F-60: what an operator must fix differs from what time heals, and no foreign text gets into the message."""
    client = make_client(endpoint_url="http://127.0.0.1:9", access_key_id="a", secret_access_key="b")
    with Stubber(client) as stub:
        stub.add_client_error("put_object", code, "secret detail canary", http_status_code=status)
        if kind is PreconditionFailed:
            stub.add_client_error("get_object", "NoSuchKey", http_status_code=404)
        with pytest.raises(kind) as raised:
            await put(S3Publisher(client, "bucket", PUBLIC), b"body", '"old"')

    assert type(raised.value) is kind
    assert "canary" not in str(raised.value)


async def test_keys_that_may_not_write_are_an_operators_business(s3_server: S3Server, bucket: str) -> None:
    """F-60: a real refusal names the bucket and what to grant; reading still works, and no key is in the message."""
    publisher = S3Publisher(s3_server.reader(), bucket, PUBLIC)
    with pytest.raises(Misconfigured, match=f"{bucket}.*AccessDenied") as raised:
        await put(publisher, b"body", None)

    assert await publisher.read(KEY) is None
    assert "reader" not in str(raised.value)


async def test_wrong_keys_are_an_operators_business(s3_server: S3Server, bucket: str) -> None:
    """A secret that does not match is refused by the server and never shown."""
    client = make_client(endpoint_url=s3_server.endpoint_url, access_key_id=ACCESS_KEY_ID, secret_access_key="canary")
    with pytest.raises(Misconfigured, match="SignatureDoesNotMatch") as raised:
        await S3States(client, bucket).save("site", b"state")

    assert "canary" not in str(raised.value)
    assert ACCESS_KEY_ID not in str(raised.value)


async def test_a_bucket_that_does_not_exist_is_no_missing_object(s3_server: S3Server) -> None:
    """A typo in the bucket's name must not read as "nothing was published yet"."""
    with pytest.raises(Misconfigured, match="no-such-bucket"):
        await S3Publisher(s3_server.client(), "no-such-bucket", PUBLIC).read(KEY)


async def test_missing_keys_are_an_operators_business(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any credentials the message says so, and nothing is asked of the network."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # it keeps the credentials that an earlier test had
    with pytest.raises(Misconfigured, match="credentials"):
        await S3States(make_client(endpoint_url="http://127.0.0.1:9"), "bucket").load("site")


@pytest.mark.parametrize("endpoint", ["not a url", "ftp//x", "https://"])
def test_an_endpoint_that_is_no_url_is_refused_at_once(endpoint: str) -> None:
    """A wrong setting is found when the client is made, not in the middle of a run."""
    with pytest.raises(Misconfigured, match="endpoint"):
        make_client(endpoint_url=endpoint, access_key_id="a", secret_access_key="b")


async def test_a_server_that_is_not_there_is_down() -> None:
    """No connection is a matter of time: the error is transient, and comes within botocore's few retries."""
    client = make_client(endpoint_url="http://127.0.0.1:9", access_key_id="a", secret_access_key=SECRET_ACCESS_KEY)
    with pytest.raises(StoreDown, match="did not answer") as raised:
        await S3Publisher(client, "bucket", PUBLIC).read(KEY)

    assert SECRET_ACCESS_KEY not in str(raised.value)


@pytest.mark.parametrize("known", [False, True])
async def test_a_lost_answer_is_found_out(s3_server: S3Server, bucket: str, lossy: LossyProxy, known: bool) -> None:
    """F-53: the PUT succeeded and its answer never came; the repetition meets its own object and reports success."""
    direct = S3Publisher(s3_server.client(), bucket, PUBLIC)
    before = await put(direct, b"before", None) if known else None
    client = make_client(endpoint_url=lossy.url, access_key_id=ACCESS_KEY_ID, secret_access_key=SECRET_ACCESS_KEY)
    lossy.swallow_answers(1)
    etag = await put(S3Publisher(client, bucket, PUBLIC), b"body", before, generation=2)
    stored = await direct.read(KEY)

    assert lossy.swallowed == 1
    assert stored is not None
    assert (b"body", etag, digest(b"body")) == (stored.body, stored.etag, stored.sha256)


async def test_a_version_whose_answer_was_lost_is_there(s3_server: S3Server, bucket: str, lossy: LossyProxy) -> None:
    """The repetition of an immutable write finds it done."""
    client = make_client(endpoint_url=lossy.url, access_key_id=ACCESS_KEY_ID, secret_access_key=SECRET_ACCESS_KEY)
    lossy.swallow_answers(1)
    await S3Publisher(client, bucket, PUBLIC).put_version("h/versions/1.txt", b"one", sha256=digest(b"one"))
    stored = await S3Publisher(s3_server.client(), bucket, PUBLIC).read("h/versions/1.txt")

    assert lossy.swallowed == 1
    assert stored is not None
    assert stored.body == b"one"


async def test_an_object_put_by_hand_claims_no_hash(s3_server: S3Server, bucket: str) -> None:
    """F-51: without our metadata there is no claim, so that the next run heals the object."""
    s3_server.client().put_object(Bucket=bucket, Key=KEY, Body=b"edited")
    stored = await S3Publisher(s3_server.client(), bucket, PUBLIC).read(KEY)

    assert stored is not None
    assert (stored.body, stored.sha256) == (b"edited", "")


async def test_states_are_not_public_text(s3_server: S3Server, bucket: str) -> None:
    """A state is an opaque object below its own prefix."""
    await S3States(s3_server.client(), bucket).save("site", b"\x00")
    listed = s3_server.client().list_objects_v2(Bucket=bucket)["Contents"]

    assert [item["Key"] for item in listed] == ["states/site"]
