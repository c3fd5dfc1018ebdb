"""Secrets Manager and SQS without boto3: against moto on loopback, and against servers that misbehave."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Self

import boto3
import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
)
from moto import mock_aws

from runtime.aws.client import SecretsManager, Sqs, endpoint
from runtime.errors import Misconfigured
from runtime.wiring import utc_now
from tests.stand_ins.aws import running_aws

KEYS = {"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "secret-canary"}


@pytest.fixture
def moto() -> Iterator[str]:
    with mock_aws(), running_aws() as url:
        yield url


def boto(service: str) -> Any:
    make: Any = boto3.client
    return make(service, region_name="eu-west-1", aws_access_key_id="test", aws_secret_access_key="x")


def test_a_secret_is_read_in_each_of_its_stages(moto: str) -> None:
    """The current text, and during a rotation the previous one; a stage without a value is boto3's refusal."""
    theirs, ours = boto("secretsmanager"), SecretsManager({**KEYS, "AWS_ENDPOINT_URL": moto}, utc_now)
    arn = theirs.create_secret(Name="cron", SecretString="é1")["ARN"]
    assert ours.get_secret_value(SecretId=arn, VersionStage="AWSCURRENT")["SecretString"] == "é1"
    with pytest.raises(ClientError) as refused:
        ours.get_secret_value(SecretId=arn, VersionStage="AWSPREVIOUS")
    with pytest.raises(ClientError) as expected:
        theirs.get_secret_value(SecretId=arn, VersionStage="AWSPREVIOUS")
    assert refused.value.response["Error"]["Code"] == expected.value.response["Error"]["Code"]

    theirs.put_secret_value(SecretId=arn, SecretString="2")
    assert ours.get_secret_value(SecretId=arn, VersionStage="AWSCURRENT")["SecretString"] == "2"
    assert ours.get_secret_value(SecretId=arn, VersionStage="AWSPREVIOUS")["SecretString"] == "é1"
    ours.close()


def test_messages_arrive_as_boto3_sends_them(moto: str) -> None:
    """One message and a batch, delays included; a queue that does not exist is refused with boto3's code."""
    theirs, ours = boto("sqs"), Sqs({**KEYS, "AWS_ENDPOINT_URL_SQS": moto}, utc_now)
    url = theirs.create_queue(QueueName="work")["QueueUrl"]
    entries = [{"Id": "0", "MessageBody": "a"}, {"Id": "1", "MessageBody": '{"b": "é"}', "DelaySeconds": 0}]
    answer = ours.send_message_batch(QueueUrl=url, Entries=entries)
    assert sorted(entry["Id"] for entry in answer["Successful"]) == ["0", "1"]
    assert ours.send_message(QueueUrl=url, MessageBody="c")["MessageId"]
    found = theirs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert sorted(message["Body"] for message in found) == ["a", "c", '{"b": "é"}']

    with pytest.raises(ClientError) as refused:
        ours.send_message(QueueUrl=f"{url}-typo", MessageBody="c")
    with pytest.raises(ClientError) as expected:
        theirs.send_message(QueueUrl=f"{url}-typo", MessageBody="c")
    assert refused.value.response["Error"]["Code"] == expected.value.response["Error"]["Code"]
    ours.close()


class Answers:
    """A server that gives one answer after the other, the last one for ever, and keeps the requests' headers."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        self.asked: list[dict[str, str]] = []
        outer, left = self, list(answers)

        class Door(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                """A test says what is wrong."""

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                outer.asked.append({name.lower(): value for name, value in self.headers.items()})
                status, body = left.pop(0) if len(left) > 1 else left[0]
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = HTTPServer(("127.0.0.1", 0), Door)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def sqs(url: str, **more: str) -> tuple[Sqs, list[float]]:
    """A client of a server, and the pauses it makes."""
    pauses: list[float] = []
    return Sqs({**KEYS, "AWS_ENDPOINT_URL": url, **more}, utc_now, sleep=pauses.append), pauses


@pytest.mark.parametrize(
    "first",
    [(500, b"{}"), (503, b"<html>"), (400, b'{"__type": "x#ThrottlingException:http://q"}'), (200, b"[1]")],
)
def test_a_failure_that_may_pass_is_tried_again(first: tuple[int, bytes]) -> None:
    """The second answer counts; before it there is a random pause of a second at most."""
    with Answers(first, (200, b'{"MessageId": "m"}')) as server:
        client, pauses = sqs(server.url)
        assert client.send_message(QueueUrl="q", MessageBody="b") == {"MessageId": "m"}
        client.close()
    assert len(server.asked) == 2
    assert pauses[0] == 0
    assert 0 <= pauses[1] <= 1


@pytest.mark.parametrize(
    ("answer", "code", "times"),
    [
        ((400, b'{"__type": "com.amazonaws.sqs#InvalidMessageContents"}'), "InvalidMessageContents", 1),
        ((403, b'{"__type": "AccessDeniedException"}'), "AccessDeniedException", 1),
        ((500, b'{"__type": "InternalServiceError"}'), "InternalServiceError", 3),
    ],
)
def test_a_refusal_has_boto3s_code(answer: tuple[int, bytes], code: str, times: int) -> None:
    """One that another try would meet too is not repeated; a server's own failure is, twice."""
    with Answers(answer) as server:
        client, _ = sqs(server.url)
        with pytest.raises(ClientError) as refused:
            client.send_message(QueueUrl="q", MessageBody="b")
        client.close()
    assert refused.value.response["Error"]["Code"] == code
    assert len(server.asked) == times


def test_an_answer_that_is_no_json_is_no_answer() -> None:
    """A proxy's page, say: after three of them the service counts as not reached."""
    with Answers((200, b"<html>")) as server:
        client, _ = sqs(server.url)
        with pytest.raises(HTTPClientError):
            client.send_message(QueueUrl="q", MessageBody="b")
        client.close()
    assert len(server.asked) == 3


def test_a_call_carries_trace_and_session_token() -> None:
    """The invocation's trace ties traces together; the token of a role is sent and signed."""
    with Answers((200, b"{}")) as server:
        client, _ = sqs(server.url, AWS_SESSION_TOKEN="token", _X_AMZN_TRACE_ID="Root=1-2;Sampled=1")
        client.send_message(QueueUrl="q", MessageBody="b")
        client.close()
    (asked,) = server.asked
    assert asked["x-amzn-trace-id"] == "Root=1-2;Sampled=1"
    assert asked["x-amz-security-token"] == "token"
    assert "x-amz-security-token" in asked["authorization"]
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in json.dumps(asked)


def test_a_server_that_is_not_there_and_keys_that_are_not_there_are_boto3s_errors() -> None:
    """No connection after three tries; without keys nothing is tried."""
    client, pauses = sqs("http://127.0.0.1:9")
    with pytest.raises(EndpointConnectionError):
        client.send_message(QueueUrl="q", MessageBody="b")
    assert len(pauses) == 3
    client.close()
    keyless = Sqs({"AWS_DEFAULT_REGION": "eu-west-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, utc_now)
    with pytest.raises(NoCredentialsError) as missing:
        keyless.send_message(QueueUrl="q", MessageBody="b")
    assert isinstance(missing.value, BotoCoreError)
    keyless.close()


def test_a_region_is_needed() -> None:
    """A missing setting is found when the client is made."""
    with pytest.raises(Misconfigured, match="region"):
        Sqs({}, utc_now)


@pytest.mark.parametrize("service", ["sqs", "secretsmanager"])
@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov", "aws-eusc"])
def test_endpoints_are_boto3s(service: str, partition: str) -> None:
    """Every region of the partitions that have Lambda: the host that boto3 would call."""
    session = boto3.session.Session(aws_access_key_id="x", aws_secret_access_key="x")
    regions = session.get_available_regions(service, partition_name=partition)
    assert regions or partition == "aws-eusc"
    make: Any = session.client
    for region in [name for name in regions if "fips" not in name] or ["eusc-de-east-1"]:
        assert endpoint(service, region) == make(service, region_name=region).meta.endpoint_url


def test_a_bundle_of_authorities_is_believed_instead_of_the_systems(tmp_path: Any) -> None:
    """AWS_CA_BUNDLE, as for boto3: a file that holds no authority is an error, not the system's trust store."""
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    client, _ = sqs("https://127.0.0.1:9", AWS_CA_BUNDLE=os.fspath(empty))
    with pytest.raises(ssl.SSLError):
        client.send_message(QueueUrl="q", MessageBody="b")


@pytest.mark.parametrize("door", ["cron", "webhook", "worker", "live"])
def test_a_door_does_not_load_boto3(door: str) -> None:
    """Neither the door nor a call of the two services brings in the 130 ms that boto3 costs a new process (ADR 12)."""
    code = f"""
import sys
import runtime.handlers.{door}
from runtime.aws.client import Sqs
from runtime.wiring import utc_now
keys = {{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}}
client = Sqs({{**keys, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}}, utc_now, sleep=lambda _: None)
try:
    client.send_message(QueueUrl="q", MessageBody="b")
except Exception as error:
    print(type(error).__name__)
print([name for name in ("boto3", "botocore.session") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["EndpointConnectionError", "[]"]
