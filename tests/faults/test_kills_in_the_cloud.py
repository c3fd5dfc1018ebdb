"""Killed workers on a real PostgreSQL and a real S3-compatible server: the steps at which the stores differ."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import psycopg
import pytest

from runtime import keys
from runtime.models import Outcome, SiteOptions
from runtime.publish.s3 import S3Publisher, S3States
from runtime.registry import Enrollment
from runtime.sites.supabase import SupabaseSites
from tests.faults.child import KILL_POINTS, Job, Workers, site_in
from tests.faults.invariants import Evidence, check_invariants
from tests.faults.service import PUBLIC, Service, base, sha
from tests.faults.workers import running_workers
from tests.stand_ins.postgres import Postgres
from tests.stand_ins.postgrest import PostgrestServer, token
from tests.stand_ins.s3 import S3Server

KILLED = -signal.SIGKILL
_numbers = count()


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with running_workers() as made:
        yield made


QUIET_LOOKS = 10
"""So often in a row the database has to be found at rest."""


@dataclass
class Cloud:
    """The stores of one test, and the job of a worker on them."""

    postgres: Postgres
    database: str
    sites: SupabaseSites
    publisher: S3Publisher
    states: S3States
    job: Job

    async def enroll(self) -> None:
        for number in range(self.job.sites):
            given = Enrollment(base_url=base(number), options=SiteOptions(), webhook_secret=f"whsec_{number}_secret")
            await self.sites.enroll(given)

    async def let_leases_end(self) -> None:
        """Time passes. What a dead worker had sent is done by then: a renewal under way would outlive this statement."""
        quiet = 0
        while quiet < QUIET_LOOKS:
            quiet = 0 if self.is_busy() else quiet + 1
            await asyncio.sleep(0.02)
        self.sql("UPDATE crawl_sites SET lease_until = now() - interval '1 second' WHERE lease_until IS NOT NULL")

    def is_busy(self) -> bool:
        """Whether a statement of somebody else is under way in the database."""
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND state <> 'idle' AND pid <> pg_backend_pid()"
        )
        return self.postgres.rows(self.database, query, (self.database,)) != [(0,)]

    def make_due(self) -> None:
        self.sql("UPDATE crawl_sites SET next_crawl_at = now() - interval '1 minute'")

    def sql(self, statement: str) -> None:
        self.postgres.execute(statement, database=self.database)

    async def check(self, home: Path, *, settled: bool = False) -> None:
        """The promises; once all is settled, with what the files should be."""
        service = Service(home, site_in(self.job))
        truth = {base(n): await service.truth(n) for n in range(self.job.sites)} if settled else {}
        service.close()
        evidence = Evidence(sites=self.sites, publisher=self.publisher, states=self.states, now=datetime.now(UTC))
        await check_invariants(evidence, settled=settled, truth=truth)

    async def generations(self) -> list[list[int]]:
        rows = await self.sites.list_sites()
        return [[line.generation for line in await self.sites.runs(row.id)] for row in rows]


@pytest.fixture
def cloud(postgres: Postgres, project: tuple[str, PostgrestServer], s3_server: S3Server, home: Path) -> Iterator[Cloud]:
    database, api = project
    bucket = s3_server.make_bucket(f"kills-{next(_numbers)}")
    key = token("service_role")
    job = Job(
        home=str(home),
        lease_seconds=60,
        database_url=api.url,
        database_key=key,
        bucket_url=s3_server.endpoint_url,
        bucket=bucket,
    )
    sites = SupabaseSites(api.url, key)
    publisher = S3Publisher(s3_server.client(), bucket, PUBLIC)
    yield Cloud(postgres, database, sites, publisher, S3States(s3_server.client(), bucket), job)
    sites.close()


@pytest.mark.parametrize("point", ["K1", "K3", "K6", "K7", "K8", "K10"])
def test_a_worker_is_killed_in_an_update(cloud: Cloud, workers: Workers, home: Path, point: str) -> None:
    """SIGKILL at a step of the update: the promises hold at once, and after the lease each site has its one new commit."""

    async def scenario() -> None:
        await cloud.enroll()
        assert workers.run(cloud.job) == 0
        await cloud.check(home, settled=True)
        cloud.make_due()
        cloud.job = replace(cloud.job, version=2)
        assert workers.run(replace(cloud.job, at=KILL_POINTS[point])) == KILLED
        await cloud.check(home)
        await cloud.let_leases_end()
        assert workers.run(cloud.job) == 0
        await cloud.check(home, settled=True)
        assert [len(found) for found in await cloud.generations()] == [2, 2]

    asyncio.run(scenario())


def test_a_worker_is_killed_while_its_commit_is_under_way(cloud: Cloud, workers: Workers, home: Path) -> None:
    """K9: the statement is at the database, its caller dies. It takes effect whole or not at all, and once."""

    async def scenario() -> None:
        cloud.job = replace(cloud.job, sites=1)
        await cloud.enroll()
        with psycopg.connect(cloud.postgres.uri(cloud.database)) as owner:
            pid = workers.start(replace(cloud.job, at=KILL_POINTS["K8"], rest=True))
            assert workers.wait(pid) == "stopped"
            owner.execute("SELECT id FROM crawl_sites FOR UPDATE")  # the commit will have to wait for this
            os.kill(pid, signal.SIGCONT)
            while not waiting(cloud):  # noqa: ASYNC110 - another process is watched
                await asyncio.sleep(0.02)
            os.kill(pid, signal.SIGKILL)
            assert workers.wait(pid) == KILLED
            owner.rollback()
        while waiting(cloud):  # noqa: ASYNC110 - another process is watched
            await asyncio.sleep(0.02)
        await cloud.check(home)
        await cloud.let_leases_end()
        assert workers.run(cloud.job) == 0
        await cloud.check(home, settled=True)
        assert [len(found) for found in await cloud.generations()] == [1]

    asyncio.run(scenario())


def waiting(cloud: Cloud) -> bool:
    """Whether a statement waits for a lock in the test's database."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
    return cloud.postgres.rows(cloud.database, query, (cloud.database,)) != [(0,)]


@pytest.mark.parametrize("point", ["K1", "K7"])
def test_f_10_a_worker_that_was_stopped_beyond_its_lease(
    cloud: Cloud, workers: Workers, home: Path, point: str
) -> None:
    """SIGSTOP, its lease ends, another worker publishes a newer edition, SIGCONT: upload and commit of the old are refused."""

    async def scenario() -> None:
        await cloud.enroll()
        assert workers.run(cloud.job) == 0
        cloud.make_due()
        pid = workers.start(replace(cloud.job, version=2, at=KILL_POINTS[point], rest=True))
        assert workers.wait(pid) == "stopped"
        await cloud.let_leases_end()
        cloud.job = replace(cloud.job, version=3)
        assert workers.run(cloud.job) == 0
        await cloud.check(home, settled=True)
        before = await cloud.generations()
        os.kill(pid, signal.SIGCONT)
        assert workers.wait(pid) == 0
        await cloud.check(home, settled=True)
        assert await cloud.generations() == before == [[3, 1], [3, 1]]

    asyncio.run(scenario())


@pytest.mark.parametrize("point", ["claimed", "published", "committed"])
def test_a_rollback_is_killed(cloud: Cloud, workers: Workers, home: Path, point: str) -> None:
    """SIGKILL in an operator's rollback: it is done and stays done, or the next run makes the row's file public again."""

    async def public() -> bytes:
        stored = await cloud.publisher.read(keys.public(base(0)))
        assert stored is not None
        return stored.body

    async def scenario() -> None:
        cloud.job = replace(cloud.job, sites=1)
        await cloud.enroll()
        assert workers.run(cloud.job) == 0
        old = await public()
        cloud.make_due()
        cloud.job = replace(cloud.job, version=2)
        assert workers.run(cloud.job) == 0
        new = await public()
        assert workers.run(replace(cloud.job, call="POST /rollback", at=point)) == KILLED
        await cloud.check(home)
        assert await public() == (new if point == "claimed" else old)
        await cloud.let_leases_end()
        for _ in range(2):
            cloud.sql("UPDATE crawl_sites SET requested_at = now(), requested_generation = generation")  # look at pages
            cloud.make_due()
            assert workers.run(cloud.job) == 0
            assert await public() == (old if point == "committed" else new)
        [row] = await cloud.sites.list_sites()
        assert row.latest_llms_hash == sha(await public())
        assert (row.pinned_over is None) is (point != "committed")

    asyncio.run(scenario())


def test_a_confirmation_is_killed_before_it_asks_for_a_run(cloud: Cloud, workers: Workers) -> None:
    """The row has the operator's word, which the next look obeys."""

    async def scenario() -> None:
        cloud.job = replace(cloud.job, sites=1, pages=14)
        await cloud.enroll()
        assert workers.run(cloud.job) == 0
        cloud.job = replace(cloud.job, version=2, pages=1, gone=14)
        cloud.make_due()
        assert workers.run(cloud.job) == 0
        [row] = await cloud.sites.list_sites()
        assert row.last_outcome is Outcome.HELD
        assert workers.run(replace(cloud.job, call="POST /confirm", at="return rows.py site", nth=3)) == KILLED
        [row] = await cloud.sites.list_sites()
        assert (row.requested_at, row.confirmed is None) == (None, False)
        cloud.make_due()
        assert workers.run(cloud.job) == 0
        [row] = await cloud.sites.list_sites()
        assert (row.last_outcome, row.confirmed) == (Outcome.UPDATED, None)

    asyncio.run(scenario())
