"""Killed workers in numbers: many sites, every kill point, many seeds; after each the promises are looked at.

One run is one real process over all the sites, which ends itself (SIGKILL) or is stopped beyond its lease (SIGSTOP) at
the n-th time that a place is passed; the seed chooses n, and whether the sites are new or have a file already.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from tests.faults.child import KILL_POINTS, Job, Workers, site_in
from tests.faults.invariants import check_invariants
from tests.faults.loop import run
from tests.faults.service import DAY, LEASE, START, Service, base

KILLED = -signal.SIGKILL
PAGES = 2
MEMORY = Path("/dev/shm")
STOPPING = ("K1", "K4", "K6", "K7", "K8")
"""Where a worker is stopped in every fifth seed, while another one does its work anew."""


@dataclass
class Tally:
    """What the runs came to. `problems` are broken promises; `unserved` the runs that the time did not allow."""

    runs: int = 0
    killed: int = 0
    stopped: int = 0
    commits: int = 0
    unserved: int = 0
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0


@contextmanager
def memory_folder() -> Iterator[Path]:
    """A folder in memory where there is one: the stores sync every write, and nobody pulls the plug here."""
    parent = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="soak-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def soak_kills(workers: Workers, *, sites: int, seeds: int, until: float) -> Tally:
    """Every kill point with every seed, as long as `time.monotonic()` is below `until`."""
    tally, started = Tally(), time.monotonic()
    with memory_folder() as folder:
        prepared = {first: _prepared(folder, sites, first=first) for first in (True, False)}
        truths = {version: _truth(folder, sites, version) for version in (1, 2, 3)}
        for seed in range(seeds):
            for point in KILL_POINTS:
                if time.monotonic() > until:
                    tally.unserved += 1
                    continue
                home = folder / "home"
                shutil.copytree(prepared[seed % 2 == 0], home)
                try:
                    _one(workers, home, point, seed, sites, truths, tally)
                except AssertionError as error:
                    tally.problems.append(f"{point}, seed {seed}: {str(error)[:500]}")
                finally:
                    shutil.rmtree(home)
                tally.runs += 1
    tally.seconds = time.monotonic() - started
    return tally


def _one(
    workers: Workers,
    home: Path,
    point: str,
    seed: int,
    sites: int,
    truths: Mapping[int, dict[str, bytes]],
    tally: Tally,
) -> None:
    first = seed % 2 == 0
    chance = random.Random(f"{point}/{seed}")
    now = START + (1 if first else 9) * DAY  # a first run of many is spread over a day, and the next is a week later
    job = Job(
        home=str(home),
        sites=sites,
        pages=PAGES,
        version=1 if first else 2,
        at=KILL_POINTS[point],
        nth=1 if point == "K11" else chance.randint(1, sites),
        rest=point in STOPPING and seed % 5 == 4,
        now=now.isoformat(),
    )
    pid = workers.start(job)
    ended = workers.wait(pid)
    assert ended == ("stopped" if job.rest else KILLED), f"the worker ended with {ended}"
    now += LEASE + timedelta(seconds=1)
    if job.rest:
        job = replace(job, version=job.version + 1)
    service = Service(home, site_in(replace(job, at="")), base=now)
    try:
        run(check_invariants(service))
        run(service.tick())
        if job.rest:
            os.kill(pid, signal.SIGCONT)
            ended = workers.wait(pid)
            assert ended == 0, f"the worker that was stopped ended with {ended}"
            tally.stopped += 1
        else:
            tally.killed += 1
        run(check_invariants(service, settled=True))
        tally.commits += run(_committed_once(service, sites, before=0 if first else 1, truths=truths, job=job))
    finally:
        service.close()


async def _committed_once(
    service: Service, sites: int, *, before: int, truths: Mapping[int, dict[str, bytes]], job: Job
) -> int:
    """How many sites have exactly one new line; each has to, with the file that its site should have."""
    rows = await service.sites.list_sites(limit=sites + 1)
    assert len(rows) == sites, f"{sites - len(rows)} rows are lost"
    for row in rows:
        lines = len(await service.sites.runs(row.id)) - before
        assert lines == 1, f"{row.base_url}: {lines} commits instead of one"
        stored = await service.public.read(f"{row.base_url.removeprefix('https://')}/llms.txt")
        assert stored is not None, f"{row.base_url}: no file"
        allowed = [truths[job.version][row.base_url]]
        if job.rest:  # what the stopped worker had committed before is not due again, and keeps its edition
            allowed.append(truths[job.version - 1][row.base_url])
        assert stored.body in allowed, f"{row.base_url}: another file than it should be"
    return sites


def _prepared(folder: Path, sites: int, *, first: bool) -> Path:
    """The stores of enrolled sites; with a published file each unless it is to be their first run."""
    home = folder / f"prepared-{first}"
    service = Service(home, site_in(Job(home=str(home), sites=sites, pages=PAGES)))

    async def scenario() -> None:
        # With a daily interval a few would be due again, rightly, by the time the lease is over.
        await service.enroll(*range(sites), recrawlIntervalMinutes=10_080)
        if not first:
            await service.tick(after=DAY)

    run(scenario())
    service.close()
    return home


def _truth(folder: Path, sites: int, version: int) -> dict[str, bytes]:
    home = folder / f"truth-{version}"
    service = Service(home, site_in(Job(home=str(home), sites=sites, pages=PAGES, version=version)))

    async def scenario() -> dict[str, bytes]:
        return {base(number): await service.truth(number) for number in range(sites)}

    found = run(scenario())
    service.close()
    return found


def soak_kills_in_the_cloud(workers: Workers, *, sites: int, seeds: int, until: float) -> Tally:
    """The same on a real PostgreSQL and a real S3-compatible server, with their own clocks. K9 is inside of a statement
    there; the tests of the fault matrix end a worker while its commit waits for a lock.
    """
    from runtime.publish.s3 import S3Publisher, S3States
    from runtime.sites.supabase import SupabaseSites
    from tests.faults.service import PUBLIC
    from tests.faults.test_kills_in_the_cloud import Cloud
    from tests.stand_ins import s3
    from tests.stand_ins.postgres import running_postgres
    from tests.stand_ins.postgrest import running_postgrest, token

    tally, started = Tally(), time.monotonic()
    points = [point for point in KILL_POINTS if point != "K9"]
    with memory_folder() as folder, running_postgres() as postgres:
        server = s3.start(folder)
        try:
            for number, (seed, point) in enumerate((seed, point) for seed in range(seeds) for point in points):
                if time.monotonic() > until:
                    tally.unserved += 1
                    continue
                database, bucket = postgres.create(), server.make_bucket(f"soak-{number}")
                with running_postgrest(postgres.uri(database, user="authenticator")) as api:
                    key = token("service_role")
                    rows = SupabaseSites(api.url, key, timeout_seconds=20)
                    stores = (S3Publisher(server.client(), bucket, PUBLIC), S3States(server.client(), bucket))
                    job = Job(
                        home=str(folder / f"home-{number}"),
                        sites=sites,
                        pages=PAGES,
                        database_url=api.url,
                        database_key=key,
                        bucket_url=server.endpoint_url,
                        bucket=bucket,
                    )
                    cloud = Cloud(postgres, database, rows, *stores, job)
                    try:
                        asyncio.run(_one_in_the_cloud(workers, cloud, folder, point, seed, tally))
                    except AssertionError as error:
                        tally.problems.append(f"cloud, {point}, seed {seed}: {str(error)[:500]}")
                    finally:
                        rows.close()
                postgres.drop(database)
                tally.runs += 1
        finally:
            server.kill()
    tally.seconds = time.monotonic() - started
    return tally


async def _one_in_the_cloud(  # type: ignore[no-untyped-def]  # Cloud is imported where it is needed
    workers: Workers, cloud, folder: Path, point: str, seed: int, tally: Tally
) -> None:
    sites = cloud.job.sites
    await cloud.enroll()
    cloud.make_due()
    nth = 1 if point == "K11" else random.Random(f"{point}/{seed}").randint(1, sites)
    ended = workers.run(replace(cloud.job, at=KILL_POINTS[point], nth=nth))
    assert ended == KILLED, f"the worker ended with {ended}"
    tally.killed += 1
    await cloud.check(folder / "looking")
    await cloud.let_leases_end()
    ended = workers.run(cloud.job)
    assert ended == 0, f"the worker after it ended with {ended}"
    await cloud.check(folder / "looking", settled=True)
    lines = await cloud.generations()
    assert [len(found) for found in lines] == [1] * sites, f"commits a site: {lines}"
    tally.commits += sites
