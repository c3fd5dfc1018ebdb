"""The rows of the fault matrix about triggers and claims, each a test named after it."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from runtime import environment as env
from runtime.api import HOOK_PATH, Api, Secrets
from runtime.dispatch import tick
from runtime.errors import InputError, Misconfigured, StoreDown
from runtime.handlers import cron, webhook, worker
from runtime.handlers.process import Process
from runtime.http import Request
from runtime.local import run_tick
from runtime.models import Outcome
from runtime.ports import Message
from runtime.sites.supabase import SupabaseSites
from runtime.work import work
from tests.faults.invariants import check_invariants
from tests.faults.loop import run
from tests.faults.ports import Fault
from tests.faults.service import LEASE, Service, base, site_of
from tests.stand_ins.faulty import Fault as WireFault
from tests.stand_ins.faulty import running_faulty
from tests.stand_ins.postgres import Postgres
from tests.stand_ins.postgrest import PostgrestServer, token

Project = tuple[str, PostgrestServer]
CONTEXT = SimpleNamespace(aws_request_id="request-1", get_remaining_time_in_millis=lambda: 60_000)


def test_f_02_a_tick_starts_while_another_still_runs(home: Path) -> None:
    """The second tick gets other sites or none: no site is crawled twice."""

    async def scenario() -> None:
        service = Service(home, site_of(10))
        await service.enroll(*range(10))
        second: list[asyncio.Task[Any]] = []

        def hear(name: str, fields: dict[str, Any]) -> None:
            if name == "site_recrawled" and len(service.said(name)) == 5:
                second.append(
                    asyncio.ensure_future(run_tick(replace(service.world, queue=type(service.queue)(service.script))))
                )

        service.hearing.append(hear)
        summary = await service.tick()
        assert (await second[0]).total + summary.total == 10  # type: ignore[union-attr]
        for row in await service.rows():
            assert len(await service.sites.runs(row.id)) == 1
            assert service.site.log.count(f"{row.base_url}/robots.txt") == 1
        await check_invariants(service, settled=True)

    run(scenario())


def test_f_05_workers_that_are_throttled_lose_no_site(home: Path) -> None:
    """Ticks go on while no worker gets to run: every site waits with its file, and none is blamed when they are back."""

    async def scenario() -> None:
        service = Service(home, site_of(12, pages=1))
        await service.enroll(*range(12))
        for _ in range(6):
            assert await service.dispatch() == 12
            assert await service.queue.receive(100)  # and nobody works on them
            service.advance(LEASE + timedelta(seconds=1))
            await check_invariants(service)
        await service.recover(ticks=1)
        truth = {base(number): await service.truth(number) for number in range(12)}
        await check_invariants(service, settled=True, truth=truth)

    run(scenario())


@contextmanager
def process_without(door: ModuleType, *missing: str) -> Iterator[io.StringIO]:
    """A fresh process of a door that lacks some variables; gives what it logs."""
    names = (
        env.SUPABASE_SECRET_ARN, env.CRON_SECRET_ARN, env.API_KEY_SECRET_ARN, env.QUEUE_URL, env.STATE_BUCKET,
        env.PUBLIC_BUCKET, env.PUBLIC_BASE_URL,
    )  # fmt: skip
    given = {name: "arn:aws:secretsmanager:eu-central-1:1:secret:x" for name in names if name not in missing}
    with mock.patch.dict("os.environ", {"AWS_DEFAULT_REGION": "eu-central-1"}):
        process, log = Process(door.process._needed, given), io.StringIO()
        process.logger.stream = log
        try:
            with mock.patch.object(door, "process", process):
                yield log
        finally:
            if process._runner is not None:
                process._runner.close()


EVENTS: dict[ModuleType, Any] = {
    cron: {"httpMethod": "POST", "path": "/internal/cron/recrawl", "headers": {"X-Cron-Secret": "s"}},
    worker: {"Records": []},
}


@pytest.mark.parametrize("door", [cron, worker], ids=lambda door: door.__name__.rpartition(".")[2])
@pytest.mark.parametrize("variable", [env.SUPABASE_SECRET_ARN, env.QUEUE_URL, env.STATE_BUCKET])
def test_f_06_a_missing_setting_fails_the_invocation_at_once(
    door: ModuleType, variable: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The invocation raises, so that Lambda counts it; the log names the variable, and an alarm's metric is 1."""
    with process_without(door, variable) as log, pytest.raises(Misconfigured) as raised:
        door.handler(EVENTS[door], CONTEXT)

    assert (raised.value.code, variable in str(raised.value)) == ("missing_configuration", True)
    assert '"code":"missing_configuration"' in log.getvalue()
    assert '"ConfigurationErrors":[1.0]' in capsys.readouterr().out


def test_f_06_a_webhook_without_a_setting_is_told_to_come_back() -> None:
    """The public door answers 503 and says nothing about why: a caller's retry comes when it is mended."""
    event = {
        "requestContext": {"http": {"method": "POST", "path": HOOK_PATH}, "requestId": "r"},
        "rawPath": HOOK_PATH,
        "body": '{"base_url": "https://docs.example.com", "webhook_secret": "s"}',
    }
    with process_without(webhook, env.QUEUE_URL):
        answer = webhook.handler(event, CONTEXT)

    assert (answer["statusCode"], answer["headers"]["retry-after"]) == (503, "30")
    assert env.QUEUE_URL not in str(answer)


BAD_EVENTS: list[Any] = [
    None,
    {},
    [],
    "POST /internal/cron/recrawl",
    {"Records": [{"eventSource": "aws:sqs", "body": "{}", "messageId": "m"}]},
    {"version": "1.0", "resource": "/", "path": "/", "httpMethod": "GET", "headers": None},
    {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}},
    {"httpMethod": "POST", "path": "/internal/cron/recrawl"},
    {"httpMethod": "POST", "path": "/internal/cron/recrawl", "headers": "X-Cron-Secret"},
    {"httpMethod": "GET", "path": "/internal/cron/recrawl", "headers": {}},
    {"httpMethod": "POST", "path": "/internal/cron/recrawl/", "headers": {}},
]


@pytest.mark.parametrize("event", BAD_EVENTS, ids=lambda event: str(event)[:40])
def test_f_07_an_event_of_another_kind_is_refused(event: Any) -> None:
    """Whatever is not the rule's event is refused before a world is even opened; raising is what Lambda counts."""
    with process_without(cron), pytest.raises(InputError) as raised:
        cron.handler(event, CONTEXT)

    assert raised.value.code == "bad_event"


def test_f_08_nothing_is_left_to_do_after_the_answer(home: Path) -> None:
    """When a webhook or a cron call is answered, the row is due and the work is queued: a process frozen now loses none."""

    async def scenario() -> None:
        service = Service(home, site_of(1))
        [row] = await service.enroll(0)
        await service.tick()
        service.advance(timedelta(hours=1))

        async def start() -> int:
            return (await tick(service.world, tick_id="cron")).total

        async def secrets() -> Secrets:
            return Secrets(cron=("cron-secret",))

        before = asyncio.all_tasks()
        body = f'{{"base_url": "{base(0)}", "webhook_secret": "{row.webhook_secret}"}}'.encode()
        api = Api(service.world, secrets, start)
        answer = await api.handle(Request(method="POST", path=HOOK_PATH, body=body, id="r"))

        assert answer.status == 200
        assert asyncio.all_tasks() == before
        assert [message.site_id for message in await service.queue.receive(10)] == [row.id]
        assert (await service.row(0)).requested_at is not None
        # The message is gone with its process; the row brings the site back all the same.
        await service.tick()
        assert (await service.sites.runs(row.id))[0].outcome is Outcome.UNCHANGED_CONTENT
        await check_invariants(service, settled=True)

    run(scenario())


def test_f_11_without_time_nothing_is_claimed(home: Path) -> None:
    """No time left at the claim: the tick takes nothing, a worker hands back, and no lease is without end."""

    async def scenario() -> None:
        service = Service(home, site_of(2))
        rows = await service.enroll(0, 1)
        assert (await tick(service.world, tick_id="late", remaining_seconds=0)).total == 0
        messages = [Message(site_id=row.id) for row in rows]
        result = await work(service.world, messages, remaining_seconds=0)

        assert (result.finished, result.retry) == ((), ())
        for row in await service.rows():
            assert (row.lease_owner, row.lease_until, row.attempts) == (None, None, 0)
            with pytest.raises(InputError):
                await service.sites.claim_site(row.id, lease_seconds=0, owner="nobody")
        assert service.site.log == []
        assert {message.site_id for message in await service.queue.receive(10)} == {row.id for row in rows}
        assert (await service.tick()).total == 2  # type: ignore[union-attr]

    run(scenario())


CROWD = """
INSERT INTO crawl_sites (base_url, next_crawl_at)
SELECT 'https://s' || n || '.example', now() - n * interval '1 second' FROM generate_series(1, 100000) n
"""


async def test_f_12_a_limit_is_kept_whatever_the_plan(postgres: Postgres, project: Project) -> None:
    """A hundred thousand due rows of which the planner knows nothing: exactly five are leased, the oldest."""
    database, api = project
    postgres.execute("ALTER TABLE crawl_sites SET (autovacuum_enabled = off)", database=database)
    postgres.execute(CROWD, database=database)
    sites = SupabaseSites(api.url, token("service_role"))
    claims = await sites.claim_due(limit=5, lease_seconds=60, owner="worker")
    sites.close()

    assert sorted(claim.site.base_url for claim in claims) == sorted(
        f"https://s{n}.example" for n in range(99_996, 100_001)
    )
    leased = postgres.rows(database, "SELECT count(*) FROM crawl_sites WHERE lease_owner IS NOT NULL")
    assert leased == [(5,)]


@pytest.mark.parametrize("row", ["F-14 slow", "F-15 half open"])
def test_f_14_f_15_a_database_that_does_not_answer_ends_the_tick(home: Path, row: str) -> None:
    """Each call has a time limit of its own; the tick gives up with the first, over one connection, and says so."""

    async def scenario() -> tuple[float, int]:
        service = Service(home, site_of(1))
        with running_faulty() as server:
            server.script.extend([WireFault.HANG] * 20)
            sites = SupabaseSites(server.url, token("service_role"), timeout_seconds=0.2)
            started = time.perf_counter()
            with pytest.raises(StoreDown):
                await tick(replace(service.world, sites=sites), tick_id="tick")
            sites.close()
            return time.perf_counter() - started, server.connections

    took, connections = asyncio.run(scenario())

    assert took < 2
    assert connections <= 2


def test_f_14_the_real_limit_is_five_seconds() -> None:
    """A statement may take five seconds, on the client's side and, a little less, on the server's."""
    import inspect

    default = inspect.signature(SupabaseSites.__init__).parameters["timeout_seconds"].default
    assert 1 <= default <= 5


@pytest.mark.parametrize("role", ["anon", "authenticated"])
def test_f_17_rights_that_are_missing_are_not_an_empty_schedule(home: Path, project: Project, role: str) -> None:
    """With a key that may see nothing, the check at the start and the tick itself both fail loudly."""

    async def scenario() -> None:
        service = Service(home, site_of(1))
        sites = SupabaseSites(project[1].url, token(role))
        with pytest.raises(Misconfigured):
            await sites.check()
        with pytest.raises(Misconfigured):
            await tick(replace(service.world, sites=sites), tick_id="tick")
        sites.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("skew", [-600, 600], ids=["ten minutes behind", "ten minutes ahead"])
def test_f_18_a_workers_clock_is_wrong(home: Path, skew: int) -> None:
    """Leases are the database's: a worker whose clock is ahead does not steal one, and one behind is not shut out."""

    async def scenario() -> None:
        service = Service(home, site_of(1))
        [row] = await service.enroll(0)
        held = await service.sites.claim_site(row.id, lease_seconds=330, owner="elsewhere")
        assert held is not None
        clock = service.world.clock
        service.world = replace(service.world, clock=lambda: clock() + timedelta(seconds=skew))

        assert (await service.tick()).total == 0  # type: ignore[union-attr]
        assert (await service.row(0)).lease_owner == "elsewhere"
        assert (await service.tick(after=LEASE)).updated == 1  # type: ignore[union-attr]
        planned = (await service.row(0)).next_crawl_at
        assert planned is not None
        assert abs(planned - service.now() - timedelta(days=1)) < timedelta(hours=4)
        await check_invariants(service, settled=True)

    run(scenario())


def test_a_tick_that_cannot_see_its_rows_has_failed(home: Path) -> None:
    """A database that is down is an error of the tick, never a quiet day."""

    async def scenario() -> None:
        service = Service(home, site_of(1))
        await service.enroll(0)
        service.script.arm("sites", Fault.FAIL, 1, times=1_000)
        assert await service.tick() is None
        assert service.errors
        await service.recover(ticks=1)
        await check_invariants(service, settled=True)

    run(scenario())
