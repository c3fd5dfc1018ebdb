"""The rows of the fault matrix about schedules, webhooks, enrolment and operations."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from runtime.api import HOOK_PATH, Api, Secrets
from runtime.commitment import commitment
from runtime.dispatch import tick
from runtime.errors import Misconfigured
from runtime.http import Answer, Request
from runtime.judgement import Survey
from runtime.local import pending, run_tick
from runtime.models import Claim, Outcome, SiteOptions, SiteStatus
from runtime.models import Site as Row
from runtime.ownership import take
from runtime.ports import Message, World
from runtime.registry import Enrollment, Requested
from runtime.settings import Settings
from runtime.sites.supabase import SupabaseSites
from runtime.state import SiteState
from runtime.verdicts import Unchanged
from runtime.work import work
from tests.faults.invariants import check_invariants
from tests.faults.loop import run
from tests.faults.ports import Fault
from tests.faults.service import DAY, START, Service, base, site_of, titles, write
from tests.stand_ins.postgres import Postgres
from tests.stand_ins.postgrest import PostgrestServer, token
from tests.stand_ins.site import HTML, Reply, text

Project = tuple[str, PostgrestServer]


@contextmanager
def service_of(home: Path, count: int = 1) -> Iterator[Service]:
    made = Service(home, site_of(count))
    try:
        yield made
    finally:
        made.close()


async def call(world: World, base_url: str, secret: str, *, store_seconds: float = 1.2) -> Answer:
    """One webhook of a site's CI."""

    async def secrets() -> Secrets:
        return Secrets()

    async def none() -> int:
        return 0

    body = json.dumps({"base_url": base_url, "webhook_secret": secret}).encode()
    api = Api(world, secrets, none, store_seconds)
    return await api.handle(Request(method="POST", path=HOOK_PATH, body=body, id="request"))


def test_f_71_a_thousand_sites_of_one_minute_are_spread(home: Path) -> None:
    """Sites enrolled together come again over a tenth of their interval either way, and no minute gets a crowd."""
    week = timedelta(days=7)
    survey = Survey(
        outcome=Outcome.UNCHANGED_CONTENT,
        reason="same",
        state=SiteState(),
        verdict=Unchanged("the sitemap is the same"),
    )
    planned = []
    for number in range(1_000):
        row = Row(id=f"site-{number}", base_url=base(number % 90), options=SiteOptions(), next_crawl_at=START)
        claim = Claim(site=row, generation=1, lease_owner="w", lease_until=START, claimed_at=START)
        made = commitment(
            claim, survey, now=START, run_id="r", tick_id="t", url=None, duration_ms=1, settings=Settings()
        )
        assert made.next_crawl_at is not None
        planned.append(made.next_crawl_at - START)

    assert min(planned) >= 0.9 * week
    assert max(planned) <= 1.1 * week
    assert max(planned) - min(planned) >= 0.09 * week
    minutes = Counter(int(span.total_seconds() // 600) for span in planned)
    assert max(minutes.values()) <= 30, "ten minutes get at most three in a hundred"


def test_f_72_ten_failures_over_a_week_disable_a_site_and_are_told_once(home: Path) -> None:
    """Failing for more than a week: disabled, with a reason and exactly one message; a webhook of its owner revives it."""
    told: list[str] = []

    def inbox(request: httpx.Request) -> Reply:
        told.append(json.loads(request.content)["type"])
        return 200, {}, b""

    async def scenario(service: Service) -> None:
        [row] = await service.enroll(0, notifyUrl="https://ci.example.org/inbox")
        await service.tick()
        before = service.file(0)
        alive = dict(service.site.replies)
        service.site.replies = dict.fromkeys(alive, (500, HTML, b"down"))
        service.site.replies[f"{base(0)}/robots.txt"] = text("User-agent: *\nAllow: /")
        service.site.replies["https://ci.example.org/inbox"] = inbox
        for _ in range(40):
            await service.tick(after=DAY)
        row = await service.row(0)

        assert (row.status, row.next_crawl_at, row.failure_count) == (SiteStatus.DISABLED, None, 10)
        assert row.last_error
        assert told.count("llms_txt.disabled") == 1
        assert told.count("llms_txt.failing") <= 1
        assert service.file(0) == before
        await check_invariants(service)

        service.site.replies = alive
        write(service.site, 0, titles(0, version=2), dated="2026-07-01")
        assert (await call(service.world, base(0), row.webhook_secret)).status == 200
        await service.tick()
        row = await service.row(0)
        assert (row.status, row.failure_count, row.last_outcome) == (SiteStatus.ACTIVE, 0, Outcome.UPDATED)
        await check_invariants(service, settled=True, truth={base(0): await service.truth(0)})

    with service_of(home) as service:
        run(scenario(service))


def test_f_73_a_thousand_valid_calls_are_one_extra_crawl(home: Path) -> None:
    """A burst is one run now and, for what came after it began, one more after the debounce; no call takes two seconds."""

    async def scenario(service: Service) -> None:
        [row] = await service.enroll(0)
        await service.tick()
        service.advance(timedelta(hours=1))
        service.site.log.clear()
        took, statuses = [], Counter[str]()
        for number in range(1_000):
            started = time.perf_counter()
            answer = await call(service.world, base(0), row.webhook_secret)
            took.append(time.perf_counter() - started)
            statuses[str(answer.body["status"])] += 1
            if number == 500:
                await work(service.world, await pending(service.world))
        await work(service.world, await pending(service.world))

        assert service.site.log.count(f"{base(0)}/robots.txt") == 1
        assert sum(statuses.values()) == 1_000
        assert sorted(took)[990] < 2
        await asyncio.sleep(301)  # simulated: the debounce is over
        await work(service.world, await pending(service.world))
        assert service.site.log.count(f"{base(0)}/robots.txt") == 2
        await asyncio.sleep(301)
        assert await pending(service.world) == []
        await check_invariants(service, settled=True, truth={base(0): await service.truth(0)})

    with service_of(home) as service:
        run(scenario(service))


def test_f_74_ten_thousand_forged_calls_write_nothing(home: Path) -> None:
    """No row changes, nothing is queued, nothing is fetched; a valid call of another site in between is served."""

    async def scenario(service: Service) -> None:
        rows = await service.enroll(0, 1)
        await service.tick()
        service.advance(timedelta(hours=1))
        service.site.log.clear()
        witness = sqlite3.connect(home / "sites.db")
        [before] = witness.execute("PRAGMA data_version")  # moves with every commit of another connection
        for number in range(10_000):
            answer = await call(service.world, base(0), f"whsec_{number}")
            assert answer.status == 401
        assert list(witness.execute("PRAGMA data_version")) == [before]
        assert (len(service.queue), service.site.log) == (0, [])
        assert (await call(service.world, base(1), rows[1].webhook_secret)).status == 200
        assert len(service.queue) == 1
        assert list(witness.execute("PRAGMA data_version")) != [before]
        witness.close()

    with service_of(home, 2) as service:
        run(scenario(service))


@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.TIMEOUT, Fault.BUG])
def test_f_75_a_database_that_is_down_is_a_503_or_says_nothing(home: Path, fault: Fault) -> None:
    """The caller is told when to come back, within two seconds, and never the text of an exception."""

    async def scenario(service: Service) -> None:
        [row] = await service.enroll(0)
        loop = asyncio.get_running_loop()
        for method in ("find", "request_recrawl"):
            service.script.arm("sites", fault, times=100, method=method)
            started = loop.time()
            answer = await call(service.world, base(0), row.webhook_secret)
            assert loop.time() - started <= 2
            assert answer.status == (500 if fault is Fault.BUG else 503)
            assert fault is Fault.BUG or answer.headers["retry-after"] == "30"
            assert "canary" not in str(answer.body)
        service.script.disarm()
        await check_invariants(service)

    with service_of(home) as service:
        run(scenario(service))


async def test_f_77_parallel_enrolments_make_one_row_and_keep_its_secret(postgres: Postgres, project: Project) -> None:
    """Eight enrolments of one site at once, on a real database: one row, one new, one secret, one due time."""
    sites = [SupabaseSites(project[1].url, token("service_role")) for _ in range(8)]

    async def enroll(number: int) -> tuple[Row, bool]:
        given = Enrollment(
            base_url="https://docs.example.com",
            options=SiteOptions(max_pages=10 + number),
            webhook_secret=f"whsec_{number}" if number else "",
        )
        return await sites[number].enroll(given)

    answers = await asyncio.gather(*(enroll(number) for number in range(8)))
    for each in sites[1:]:
        each.close()
    rows = await sites[0].list_sites()
    claims = await sites[0].claim_due(limit=10, lease_seconds=60, owner="w")
    sites[0].close()

    assert len(rows) == len(claims) == 1
    assert sum(new for _, new in answers) == 1
    assert rows[0].webhook_secret.startswith("whsec_")
    assert rows[0].options.max_pages in range(10, 18)


def test_f_80_a_deploy_in_the_middle_of_a_tick(home: Path) -> None:
    """The old process goes on with its sites while a new one ticks over the same stores: no site is done twice."""

    async def scenario(old: Service, new: Service) -> None:
        await old.enroll(*range(8))
        started: list[asyncio.Task[Any]] = []

        def hear(name: str, fields: dict[str, Any]) -> None:
            if name == "site_recrawled" and not started:
                started.append(asyncio.ensure_future(run_tick(new.world)))

        old.hearing.append(hear)
        await old.tick()
        await started[0]
        for row in await old.rows():
            assert len(await old.sites.runs(row.id)) == 1
        await check_invariants(old, settled=True, truth={base(n): await old.truth(n) for n in range(8)})

    first = Service(home, site_of(8))
    second = Service(home, first.site)
    try:
        run(scenario(first, second))
    finally:
        first.close()
        second.close()


async def test_f_81_a_schema_that_is_behind_stops_the_tick(home: Path, postgres: Postgres, project: Project) -> None:
    """The last function of the schema is missing: the check says which version it wants, and a tick writes nothing."""
    database, api = project
    service = Service(home, site_of(1))
    sites = SupabaseSites(api.url, token("service_role"))
    await sites.enroll(Enrollment(base_url=base(0), options=SiteOptions(), webhook_secret="whsec_x"))
    before = postgres.rows(database, "SELECT * FROM crawl_sites")
    postgres.execute(
        "DROP FUNCTION public.claim_due_sites(integer, integer, text, integer, integer, integer)", database=database
    )

    with pytest.raises(Misconfigured) as raised:
        await tick(replace(service.world, sites=sites), tick_id="tick")
    sites.close()
    service.close()

    assert "migrat" in str(raised.value)
    assert postgres.rows(database, "SELECT * FROM crawl_sites") == before


def test_f_83_two_stages_on_one_bucket(home: Path) -> None:
    """The bucket is the stage's that published first; the other one publishes nothing, and blames no site for it."""

    async def scenario(service: Service) -> None:
        await take(service.public, "prod")
        await take(service.public, "prod")
        with pytest.raises(Misconfigured) as raised:
            await take(service.public, "dev")
        assert raised.value.code == "foreign_bucket"
        assert "'prod'" in str(raised.value)

        [row] = await service.enroll(0)
        result = await work(service.world, [Message(site_id=row.id)], trouble=str(raised.value))
        assert result.summary.deferred == 1
        after = await service.row(0)
        assert (after.failure_count, after.attempts, service.file(0), service.site.log) == (0, 0, b"", [])
        await check_invariants(service)

    with service_of(home) as service:
        run(scenario(service))


def test_f_83_two_processes_take_a_new_bucket_at_once(home: Path) -> None:
    """Of two stages that start together one gets the bucket, and the other one is refused."""

    async def scenario(service: Service) -> None:
        answers = await asyncio.gather(
            take(service.public, "dev"), take(service.public, "prod"), return_exceptions=True
        )
        assert [type(answer) for answer in answers] == [type(None), Misconfigured]

    with service_of(home) as service:
        run(scenario(service))


def test_an_answer_to_a_webhook_never_names_an_unknown_outcome(home: Path) -> None:
    """A site that is being crawled, paused, or due already: each call has its plain answer."""

    async def scenario(service: Service) -> None:
        [row] = await service.enroll(0)
        seen = []
        seen.append((await call(service.world, base(0), row.webhook_secret)).body["status"])
        await service.sites.update(row.id, status=SiteStatus.PAUSED)
        seen.append((await call(service.world, base(0), row.webhook_secret)).body["status"])
        assert seen == ["already_scheduled", "paused"]
        assert isinstance(await service.sites.request_recrawl(row.id), Requested)

    with service_of(home) as service:
        run(scenario(service))
