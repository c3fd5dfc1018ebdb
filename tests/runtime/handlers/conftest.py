"""The doors with everything behind them: moto's AWS, real PostgreSQL, the sample site on loopback."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from runtime import environment as env
from runtime.handlers import cron, webhook, worker
from runtime.handlers.process import Process
from runtime.sample.server import SampleServer, serve_in_thread
from runtime.sample.site import SampleSite
from tests.stand_ins.aws import running_aws
from tests.stand_ins.postgres import Postgres, running_postgres
from tests.stand_ins.postgrest import running_postgrest, token

EVENTS = Path(__file__).parents[2] / "events"
REGION = "eu-west-1"
DOORS = (cron, webhook, worker)


@dataclass
class Context:
    """What Lambda passes beside the event."""

    aws_request_id: str = "8f5e0c1a-0000-4000-8000-000000000001"
    milliseconds: int = 300_000

    def get_remaining_time_in_millis(self) -> int:
        return self.milliseconds


@dataclass
class Cloud:
    """A deployment as the doors see it. `aws` makes clients; `site` is enrolled by the tests."""

    site: SampleServer
    postgres: Postgres
    database: str
    queue_url: str
    log: io.StringIO

    def aws(self, service: str) -> Any:
        make: Any = boto3.client
        return make(service, region_name=REGION)

    def messages(self) -> list[dict[str, Any]]:
        """What waits in the work queue, taken from it."""
        found: list[dict[str, Any]] = []
        sqs = self.aws("sqs")
        while batch := sqs.receive_message(QueueUrl=self.queue_url, MaxNumberOfMessages=10).get("Messages"):
            found += batch
            for message in batch:
                sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])
        return found

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """One request through the function URL's door."""
        event = event_of("function_url.json")
        event["rawPath"] = event["requestContext"]["http"]["path"] = path
        event["requestContext"]["http"]["method"] = method
        event["headers"] |= {name.replace("_", "-").lower(): value for name, value in headers.items()}
        event["body"] = "" if body is None else json.dumps(body)
        answer = webhook.handler(event, Context())
        return answer["statusCode"], json.loads(answer["body"])

    def work(self) -> dict[str, Any]:
        """The worker's door, fed with everything that waits."""
        event = event_of("sqs.json")
        record = event["Records"][0]
        event["Records"] = [{**record, "messageId": m["MessageId"], "body": m["Body"]} for m in self.messages()]
        return worker.handler(event, Context())


def event_of(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((EVENTS / name).read_text("utf-8"))
    return loaded


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with running_postgres() as postgres:
        yield postgres


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A shell with nothing of a real account, and doors that have not been opened."""
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        env.STAGE: "test",
    }.items():
        monkeypatch.setenv(name, value)
    opened = [Process(door.NEEDED, checks=door is not webhook) for door in DOORS]
    for door, process in zip(DOORS, opened, strict=True):
        monkeypatch.setattr(door, "process", process)
    yield monkeypatch
    for process in opened:
        process.close()


@pytest.fixture
def log(environment: pytest.MonkeyPatch) -> io.StringIO:
    """Where the doors log to."""
    written = io.StringIO()
    for door in DOORS:
        door.process.logger.stream = written
    return written


@pytest.fixture
def cloud(server: Postgres, environment: pytest.MonkeyPatch, log: io.StringIO) -> Iterator[Cloud]:
    database = server.create()
    with (
        mock_aws(),
        running_aws() as aws,
        serve_in_thread(SampleSite()) as site,
        running_postgrest(server.uri(database, user="authenticator")) as api,
    ):
        made = Cloud(site, server, database, "", log)
        secrets, s3 = made.aws("secretsmanager"), made.aws("s3")
        for bucket in ("public", "state"):
            s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
        made.queue_url = made.aws("sqs").create_queue(QueueName="work")["QueueUrl"]
        supabase = json.dumps({"url": api.url, "key": token("service_role")})
        for variable, name, value in (
            (env.SUPABASE_SECRET_ARN, "supabase", supabase),
            (env.CRON_SECRET_ARN, "cron", "cron-secret"),
            (env.API_KEY_SECRET_ARN, "api", "api-key"),
        ):
            environment.setenv(variable, secrets.create_secret(Name=name, SecretString=value)["ARN"])
        for variable, value in {
            env.QUEUE_URL: made.queue_url,
            env.PUBLIC_BUCKET: "public",
            env.STATE_BUCKET: "state",
            env.PUBLIC_BASE_URL: "https://files.example.org",
            env.ALLOW_NETWORKS: "127.0.0.0/8",
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": aws,
            "AWS_ENDPOINT_URL_SQS": aws,
        }.items():
            environment.setenv(variable, value)
        yield made
    server.drop(database)
