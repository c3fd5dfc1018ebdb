"""F-84: canary secrets in every secret place, then a day of work and faults; afterwards they are looked for everywhere."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn, cast
from unittest import mock

import pytest

from runtime import environment as env
from runtime.api import CRON_PATH, HOOK_PATH, Api, Secrets
from runtime.enhance.openai_compatible import OpenAiCompatible
from runtime.handlers import cron, webhook, worker
from runtime.handlers.process import Process
from runtime.handlers.vault import Vault
from runtime.http import Request
from runtime.local import run_tick
from runtime.models import SiteOptions
from runtime.ports import Message, World
from runtime.queues.messages import to_json
from runtime.registry import Enrollment
from runtime.sites.supabase import SupabaseSites
from tests.faults.loop import run
from tests.faults.ports import FAULTS_OF, Fault
from tests.faults.service import DAY, Service, base, site_of, titles, write
from tests.stand_ins.postgrest import PostgrestServer, token
from tests.stand_ins.s3 import ACCESS_KEY_ID, SECRET_ACCESS_KEY, S3Server

CRON, API_KEY, OLD_KEY, MODEL_KEY = "canary-cron-secret", "canary-api-key", "canary-old-key", "canary-model-key"
NOTIFY = "canary-notify-secret"
HOOKS = [f"whsec_Y2FuYXJ5LXdlYmhvb2sg{number}" for number in range(6)]


@dataclass
class Overheard:
    """Everything that left the service in any way, as text."""

    said: list[str] = field(default_factory=list)

    def hear(self, *values: Any) -> None:
        for value in values:
            self.said += [str(value), repr(value)]

    def raised(self, error: BaseException) -> None:
        """An error as a log would have it, with what caused it."""
        self.hear(error, "".join(traceback.format_exception(error)))

    def files(self, home: Path) -> None:
        """Published files and state objects, unpacked. The database is where secrets belong."""
        for path in home.rglob("*"):
            if path.is_file() and not path.name.startswith("sites.db"):
                body = path.read_bytes()
                body = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
                self.hear(path.name, body.decode("utf-8", "replace"))

    def hits(self, *canaries: str) -> list[str]:
        """Which canaries were heard, and in what."""
        return [f"{canary} in {text[:300]}" for canary in canaries for text in self.said if canary in text]


class _Leaky:
    """A store whose every call fails with a text that quotes what it was given, as drivers do."""

    def __getattr__(self, name: str) -> Any:
        async def call(*given: Any, **named: Any) -> NoReturn:
            texts = [getattr(each, "webhook_secret", each) for each in (*given, *named.values())]
            raise RuntimeError(f"{name} failed: {texts} with {CRON} {API_KEY} {HOOKS}")

        return call


def test_f_84_no_secret_leaves_the_embedded_service(home: Path) -> None:
    """Ticks, webhooks, notifications and every fault of every port: 0 hits in events, answers, files, states, reprs, errors."""
    heard = Overheard()

    async def scenario() -> None:
        service = Service(home, site_of(3))
        model = OpenAiCompatible(service.web, api_key=MODEL_KEY, model="m", base_url="https://model.example/v1")
        settings = replace(service.world.settings, notify_url="https://ops.example/in", notify_secrets=(NOTIFY,))
        service.world = replace(service.world, settings=settings, model=model)
        for number in range(3):
            given = Enrollment(
                base_url=base(number),
                options=SiteOptions(notify_url="https://ci.example/in", llm_enhance=True, recrawl_interval_minutes=60),
                webhook_secret=HOOKS[number],
            )
            await service.sites.enroll(given)
        await service.sites.rotate_secret((await service.row(2)).id, HOOKS[3], overlap_seconds=3_600)
        await everything(service, heard)
        for leaky in ("sites", "publisher", "states", "queue", "web"):
            await everything(replace_world(service, **{leaky: cast("Any", _Leaky())}), heard)
            service.world = replace(service.sound, settings=settings, model=model)
        for port, faults in FAULTS_OF.items():
            for fault in faults:
                service.script.arm(port, fault, nth=2, times=3)
                write(service.site, 0, titles(0, version=len(heard.said)), dated="2026-07-01")
                await everything(service, heard)
        service.script.disarm()
        heard.hear(service.world, service.sites, service.events, *await service.rows(), *service.errors)
        for row in await service.rows():
            heard.hear(*await service.sites.runs(row.id, limit=1_000))
        service.close()

    run(scenario())
    heard.files(home)

    assert len(heard.said) > 300
    # `tests.faults.ports` raises a text with `whsec_canary` in it: somebody else's exception.
    assert heard.hits(CRON, API_KEY, OLD_KEY, MODEL_KEY, NOTIFY, *HOOKS, "whsec_canary") == []


def replace_world(service: Service, **ports: Any) -> Service:
    service.world = replace(service.world, **ports)
    return service


async def everything(service: Service, heard: Overheard) -> None:
    """A tick and every kind of call, well and badly."""
    service.advance(DAY)
    try:
        if hasattr(service.world.queue, "receive"):
            await run_tick(service.world)
    except Exception as error:  # noqa: BLE001 - whatever comes out is what would be logged
        heard.hear(error if type(error).__module__.startswith("runtime") else type(error))

    async def secrets() -> Secrets:
        return Secrets(cron=(CRON,), api_keys=(API_KEY, OLD_KEY))

    async def nothing() -> int:
        return 0

    api = Api(service.world, secrets, nothing)
    heard.hear(api, await secrets())
    body = json.dumps({"base_url": base(0), "webhook_secret": HOOKS[0]}).encode()
    wrong = json.dumps({"base_url": base(1), "webhook_secret": HOOKS[4]}).encode()
    for path, headers, content in (
        (HOOK_PATH, {}, body),
        (HOOK_PATH, {}, wrong),
        (HOOK_PATH, {"webhook-signature": HOOKS[5]}, body),
        (CRON_PATH, {"x-cron-secret": CRON}, b""),
        (CRON_PATH, {"x-cron-secret": API_KEY}, b""),
        ("/sites", {"x-api-key": API_KEY}, b"{"),
        ("/sites", {"x-api-key": OLD_KEY}, b'{"url": "https://' + HOOKS[0].encode() + b'@example.com"}'),
        ("/sites/none", {"x-api-key": CRON}, b""),
    ):
        request = Request(method="POST", path=path, headers=headers, body=content, id="r")
        answer = await api.handle(request)
        heard.hear(request, answer, answer.encoded(), dict(answer.headers))
    heard.hear(*service.events)


class _Secrets:
    """Secrets Manager, by name."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def get_secret_value(self, *, SecretId: str, VersionStage: str) -> dict[str, str]:  # noqa: N803 - boto3's names
        previous = f"{SecretId}-previous" if VersionStage == "AWSPREVIOUS" else SecretId
        return {"SecretString": self._texts.get(previous, "")}

    def close(self) -> None:
        """Nothing is open."""


CONTEXT = SimpleNamespace(aws_request_id="request-1", get_remaining_time_in_millis=lambda: 200_000)


@contextmanager
def door_of(
    module: ModuleType, environment: dict[str, str], texts: dict[str, str]
) -> Iterator[tuple[Process, io.StringIO]]:
    """A fresh process of a door, with its secrets; gives it and its log."""
    process, log = Process(module.process._needed, environment), io.StringIO()
    process._vault = Vault(cast("Any", _Secrets(texts)), lambda: 0.0)
    process.logger.stream = log
    try:
        with mock.patch.object(module, "process", process):
            yield process, log
    finally:
        process.close()


def test_f_84_no_secret_leaves_the_doors_of_the_cloud(
    project: tuple[str, PostgrestServer],
    s3_server: S3Server,
    home: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three doors over a real database and bucket, well and with each of them broken: 0 hits in logs, metrics, answers."""
    key, heard = token("service_role"), Overheard()
    texts = {
        "supabase": json.dumps({"url": project[1].url, "key": key}),
        "cron": CRON,
        "api": API_KEY,
        "api-previous": OLD_KEY,
        "r2": json.dumps(
            {
                "endpoint": s3_server.endpoint_url,
                "access_key_id": ACCESS_KEY_ID,
                "secret_access_key": SECRET_ACCESS_KEY,
                "bucket": s3_server.make_bucket("canary-public"),
            }
        ),
    }
    environment = {
        env.SUPABASE_SECRET_ARN: "supabase",
        env.CRON_SECRET_ARN: "cron",
        env.API_KEY_SECRET_ARN: "api",
        env.R2_SECRET_ARN: "r2",
        env.QUEUE_URL: "http://127.0.0.1:9/queue",
        env.STATE_BUCKET: s3_server.make_bucket("canary-state"),
        env.PUBLIC_BUCKET: "unused",
        env.PUBLIC_BASE_URL: "https://files.example.org",
        env.STAGE: "dev",
    }
    for name, value in {
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        "AWS_ENDPOINT_URL_S3": s3_server.endpoint_url,
        "AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:9",
        "AWS_MAX_ATTEMPTS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    row = asyncio.run(_enrolled(project[1].url, key))
    service = Service(home, site_of(1))

    def invoke(module: ModuleType, event: Any, texts: dict[str, str]) -> Any:
        """One invocation in a fresh process; what it answers, logs, counts or raises is heard."""
        with door_of(module, environment, texts) as (process, log):
            try:
                process.run(CONTEXT, _with(process, service))
                answer = module.handler(event, CONTEXT)
                heard.hear(answer)
            except Exception as error:  # noqa: BLE001 - Lambda logs whatever comes out
                answer = error
                heard.raised(error)
            heard.hear(log.getvalue(), process, process._world, process._vault)
        return answer

    tick = {"httpMethod": "POST", "path": CRON_PATH, "headers": {"X-Cron-Secret": CRON}}
    hook = _event(HOOK_PATH, {}, {"base_url": base(0), "webhook_secret": HOOKS[0]})
    work = {"Records": [{"messageId": "1", "body": to_json(Message(site_id=row, force=True))}]}
    assert invoke(cron, tick, texts) == {"status": "triggered", "message": "Recrawl of 0 due sites started", "total": 0}
    assert invoke(webhook, hook, texts)["statusCode"] == 200
    assert invoke(worker, work, texts) == {"batchItemFailures": []}
    invoke(cron, {**tick, "headers": {"X-Cron-Secret": HOOKS[1]}}, texts)
    invoke(webhook, _event(HOOK_PATH, {}, {"base_url": base(0), "webhook_secret": HOOKS[2]}), texts)
    invoke(webhook, _event("/sites", {"x-api-key": HOOKS[3]}, {}), texts)
    invoke(webhook, _event("/sites", {"x-api-key": API_KEY}, {"url": f"https://{HOOKS[4]}@example.com"}), texts)
    for broken in (
        {**texts, "supabase": json.dumps({"url": "http://127.0.0.1:9", "key": key})},
        {**texts, "supabase": json.dumps({"url": project[1].url, "key": key[:-4]})},
        {**texts, "supabase": key},
        {**texts, "r2": texts["r2"].replace(SECRET_ACCESS_KEY, f"{SECRET_ACCESS_KEY}-wrong")},
        {**texts, "r2": SECRET_ACCESS_KEY},
        {**texts, "cron": "", "api": ""},
    ):
        for module, event in ((cron, tick), (webhook, hook), (worker, work)):
            invoke(module, event, broken)
    service.close()
    printed = capsys.readouterr()
    heard.hear(printed.out, printed.err, caplog.text)

    assert '"message":"site_recrawled"' in "".join(heard.said)
    assert '"ConfigurationErrors"' in printed.out
    assert heard.hits(CRON, API_KEY, OLD_KEY, key, key[:-4], SECRET_ACCESS_KEY, *HOOKS) == []


async def _enrolled(url: str, key: str) -> str:
    sites = SupabaseSites(url, key)
    given = Enrollment(base_url=base(0), options=SiteOptions(), webhook_secret=HOOKS[0])
    row, _ = await sites.enroll(given)
    sites.close()
    return row.id


def _with(process: Process, service: Service) -> Any:
    """Gives the process a web of made-up sites, once its world is built."""

    async def work(world: World) -> None:
        process._world = replace(world, web=service.web)

    return work


def _event(path: str, headers: dict[str, str], body: dict[str, str]) -> dict[str, Any]:
    return {
        "requestContext": {"http": {"method": "POST", "path": path}, "requestId": "r"},
        "rawPath": path,
        "headers": headers,
        "body": json.dumps(body),
    }


def test_the_scan_finds_a_canary(home: Path) -> None:
    """The test of the test: a secret in a packed state object or in an error is found."""
    heard = Overheard()
    (home / "state").write_bytes(gzip.compress(f'{{"secret": "{CRON}"}}'.encode()))
    heard.files(home)
    heard.raised(RuntimeError(API_KEY))

    assert len(heard.hits(CRON)) == 2
    assert heard.hits(API_KEY)
    assert Fault.BUG in FAULTS_OF["sites"]
