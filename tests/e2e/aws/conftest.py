"""One deployment for the whole run: an account, a database, a bucket, a site, and the stack between them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from runtime.sample.server import serve_in_thread
from runtime.sample.site import SampleSite
from runtime.webhook import new_secret
from tests.e2e.aws.account import MACHINE, NUMBER, PYTHON, REGION, Account, outputs, put_secret, running_account
from tests.e2e.aws.public_side import public_side
from tests.e2e.aws.receiver import Receiver, running_receiver
from tests.stand_ins import s3
from tests.stand_ins.postgres import Postgres, running_postgres
from tests.stand_ins.postgrest import running_postgrest, token
from tests.stand_ins.s3 import ACCESS_KEY_ID, SECRET_ACCESS_KEY, S3Server

STACK = "llms-txt-auto-updates-local"
BUCKET = "llms-public"
OPERATOR = "/operator"
"""The path at which the receiver is told of every site."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Everything a test may look at. `took` is how long each step of the set-up was, in seconds."""

    account: Account
    context: dict[str, str]
    outputs: dict[str, str]
    s3: S3Server
    postgres: Postgres
    database: str
    site: SampleSite
    site_url: str
    receiver: Receiver
    took: dict[str, float]

    def api(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The management API, through the function URL."""
        key = self.account.client("secretsmanager").get_secret_value(SecretId=self.outputs["ApiKeySecretArn"])
        sent = {"X-Api-Key": key["SecretString"], "content-type": "application/json", **headers}
        content = None if body is None else json.dumps(body)
        return self.account.call(self.outputs["FunctionUrl"], path, method=method, headers=sent, content=content)

    def read(self, url: str) -> httpx.Response:
        """What a reader gets."""
        return httpx.get(url, trust_env=False)

    def logged(self, door: str) -> str:
        """Everything a function has written so far."""
        logs = self.account.client("logs")
        events = logs.filter_log_events(logGroupName=self.outputs[f"{door}Logs"])["events"]
        return "\n".join(event["message"] for event in events)


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """`cdk bootstrap`, `cdk deploy -c stage=local`, and the secrets filled."""
    took: dict[str, float] = {}
    folder = tmp_path_factory.mktemp("account")
    site = SampleSite()
    with (
        running_account(folder) as account,
        running_postgres() as postgres,
        running_s3(tmp_path_factory.mktemp("s3")) as server,
        serve_in_thread(site) as web,
        running_receiver() as receiver,
        ExitStack() as stack,
    ):
        database = postgres.create()
        readers = stack.enter_context(public_side(server.client(), server.make_bucket(BUCKET)))
        context = {
            "stage": "local",
            "python": PYTHON,
            "architecture": MACHINE,
            "r2Endpoint": server.endpoint_url,
            "publicBaseUrl": readers,
            "liveCrawl": "true",
            "notifications": "true",
            "lowSeverityAlarms": "true",
        }
        with timed(took, "bootstrap"):
            account.cdk("bootstrap", f"aws://{NUMBER}/{REGION}", context=context)
        with timed(took, "deploy"):
            account.cdk("deploy", STACK, "--require-approval", "never", context=context)
        found = outputs(account, STACK)
        with running_postgrest(postgres.uri(database, user="authenticator")) as database_api:
            put_secret(account, found["SupabaseSecretArn"], {"url": database_api.url, "key": token("service_role")})
            put_secret(
                account,
                found["R2SecretArn"],
                {
                    "endpoint": server.endpoint_url,
                    "access_key_id": ACCESS_KEY_ID,
                    "secret_access_key": SECRET_ACCESS_KEY,
                    "bucket": BUCKET,
                },
            )
            receiver.secrets[OPERATOR] = new_secret()
            whom = {"url": receiver.url + OPERATOR, "secret": receiver.secrets[OPERATOR]}
            put_secret(account, found["NotifySecretArn"], whom)
            yield Deployment(account, context, found, server, postgres, database, site, web.url, receiver, took)


@contextmanager
def timed(into: dict[str, float], name: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    into[name] = round(time.monotonic() - began, 1)


@contextmanager
def running_s3(folder: Path) -> Iterator[S3Server]:
    """The S3 server of the stand-ins, as R2."""
    server = s3.start(folder)
    try:
        yield server
    finally:
        server.kill()
