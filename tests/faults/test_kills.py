"""Workers that are killed at each step of a run, or stopped for longer than their lease: real processes, real stores."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from runtime.enroll import enroll
from runtime.models import Outcome, SiteStatus
from tests.faults.child import KILL_POINTS, Job, Workers, site_in
from tests.faults.invariants import check_invariants
from tests.faults.loop import run
from tests.faults.service import DAY, LEASE, START, Service, base
from tests.faults.workers import running_workers

KILLED = -signal.SIGKILL
SITES = 2


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with running_workers() as made:
        yield made


def opened(home: Path, job: Job, now: datetime) -> Service:
    return Service(home, site_in(job), base=now)


def prepare(home: Path, *, first: bool) -> datetime:
    """Enrolled sites, and a published file each unless it is to be their first run; gives the time of the next tick."""
    service = opened(home, Job(home=str(home)), START)

    async def scenario() -> None:
        await service.enroll(*range(SITES))
        if not first:
            await service.tick()

    run(scenario())
    service.close()
    return START if first else START + 2 * DAY


def versions(home: Path) -> int:
    return len(list((home / "published").rglob("versions/*.txt")))


@pytest.mark.parametrize("first", [True, False], ids=["first run", "update"])
@pytest.mark.parametrize("point", KILL_POINTS)
def test_a_worker_is_killed(home: Path, workers: Workers, point: str, first: bool) -> None:
    """SIGKILL at K1 to K11: what is there is whole and true, the lease brings the sites back, and nothing is done twice."""
    now = prepare(home, first=first)
    version = 1 if first else 2
    before = versions(home)
    job = Job(home=str(home), version=version, at=KILL_POINTS[point], now=now.isoformat())
    assert workers.run(job) == KILLED

    service = opened(home, job, now)

    async def scenario() -> None:
        await check_invariants(service)
        committed = [row.base_url for row in await service.rows() if row.lease_owner is None]
        assert len(committed) == {"K10": 1, "K11": SITES}.get(point, 0)
        # Before the lease is over nobody may touch the sites of the dead worker.
        await service.tick()
        assert service.site.log == []
        await service.tick(after=LEASE)
        for row in await service.rows():
            runs = await service.sites.runs(row.id)
            assert len(runs) == (1 if first else 2)
            asked = f"{row.base_url}/robots.txt" in service.site.log
            assert asked is (row.base_url not in committed)
        truth = {base(n): await service.truth(n) for n in range(SITES)}
        await check_invariants(service, settled=True, truth=truth)

    run(scenario())
    service.close()
    assert versions(home) == before + SITES, "one new version a site, whenever its worker died"


@pytest.mark.parametrize("point", ["K3"])
def test_f_25_a_quiet_site_whose_worker_is_killed_is_due_again(home: Path, workers: Workers, point: str) -> None:
    """Killed between the sitemap's verdict and the commit: nothing has changed, and the site is looked at again."""
    now = prepare(home, first=False)
    service = opened(home, Job(home=str(home)), now)
    before = {row.base_url: (row.latest_llms_hash, row.next_crawl_at) for row in run(service.rows())}
    service.close()
    job = Job(home=str(home), at=KILL_POINTS[point], now=now.isoformat())
    assert workers.run(job) == KILLED

    service = opened(home, job, now)

    async def scenario() -> None:
        rows = await service.rows()
        assert {row.base_url: (row.latest_llms_hash, row.next_crawl_at) for row in rows} == before
        summary = await service.tick(after=LEASE)
        assert summary is not None
        assert (summary.total, summary.unchanged, summary.processed) == (SITES, SITES, 0)
        await check_invariants(service, settled=True)

    run(scenario())
    service.close()


def test_f_55_killed_between_upload_and_commit(home: Path, workers: Workers) -> None:
    """The next run has the same bytes and the same hash, makes one commit, and stores no second version."""
    now = prepare(home, first=False)
    job = Job(home=str(home), sites=SITES, version=2, at=KILL_POINTS["K8"], now=now.isoformat())
    assert workers.run(job) == KILLED
    service = opened(home, job, now)
    [published] = [n for n in range(SITES) if b"edition 2" in service.file(n)]
    body, stored = service.file(published), versions(home)

    async def scenario() -> None:
        await service.tick(after=LEASE)
        row = await service.row(published)
        assert (service.file(published), row.last_outcome) == (body, Outcome.UPDATED)
        assert versions(home) == stored + SITES - 1
        await check_invariants(service, settled=True)

    run(scenario())
    service.close()


@pytest.mark.parametrize("point", ["K10", "K11"])
def test_f_69_killed_after_the_commit(home: Path, workers: Workers, point: str) -> None:
    """A committed site is not crawled again, though its summary was never written: the counts are in its line."""
    now = prepare(home, first=True)
    job = Job(home=str(home), sites=1, at=KILL_POINTS[point], now=now.isoformat())
    service = opened(home, job, now)
    run(service.sites.delete(run(service.row(1)).id))
    service.close()
    assert workers.run(job) == KILLED

    service = opened(home, job, now)

    async def scenario() -> None:
        await service.tick(after=LEASE)
        assert service.site.log == []
        [line] = await service.sites.runs((await service.row(0)).id)
        assert (line.outcome, line.counts["pages"]) == (Outcome.UPDATED, 4)
        assert line.tick_id is not None
        outcomes = await service.sites.tick_outcomes(line.tick_id)
        assert outcomes == [(Outcome.UPDATED, True)]
        await check_invariants(service, settled=True)

    run(scenario())
    service.close()


def test_f_20_a_poison_site_is_put_aside_after_three_dead_workers(home: Path, workers: Workers) -> None:
    """A site that kills whoever works on it: three workers die, then it is disabled with a reason, and the rest goes on."""
    poison = 0
    now = prepare(home, first=True)
    deaths = 0
    for attempt in range(6):
        at = now + attempt * (LEASE + timedelta(seconds=1))
        service = opened(home, Job(home=str(home)), at)
        row = run(service.row(poison))
        service.close()
        if row.status is SiteStatus.DISABLED:
            break
        job = Job(home=str(home), at="request /page-1", nth=1, now=at.isoformat())
        deaths += workers.run(job) == KILLED
    service = opened(home, Job(home=str(home)), now + DAY)

    async def scenario() -> None:
        rows = await service.rows()
        assert deaths == 3
        assert {row.status for row in rows} == {SiteStatus.DISABLED}
        assert all(row.last_error and "quarantined" in row.last_error for row in rows)
        # A person, or the site's own CI, gives it three more.
        await service.sites.request_recrawl(rows[0].id)
        summary = await service.tick()
        assert summary is not None
        assert summary.updated == 1
        await check_invariants(service)

    run(scenario())
    service.close()


@pytest.mark.parametrize("point", ["K1", "K4", "K6", "K7", "K8"])
def test_f_10_a_worker_that_was_stopped_for_longer_than_its_lease(home: Path, workers: Workers, point: str) -> None:
    """SIGSTOP, another worker takes the site over and publishes a newer edition, SIGCONT: the stale one changes nothing."""
    now = prepare(home, first=False)
    job = Job(home=str(home), version=2, at=KILL_POINTS[point], rest=True, now=now.isoformat())
    pid = workers.start(job)
    assert workers.wait(pid) == "stopped"

    later = now + LEASE + timedelta(seconds=1)
    service = opened(home, Job(home=str(home), version=3), later)
    summary = run(service.tick())
    assert summary is not None
    assert summary.updated == SITES
    newer = [service.file(number) for number in range(SITES)]
    os.kill(pid, signal.SIGCONT)
    assert workers.wait(pid) == 0

    async def scenario() -> None:
        assert [service.file(number) for number in range(SITES)] == newer
        for row in await service.rows():
            assert [line.generation for line in await service.sites.runs(row.id)] == [3, 1]
        await check_invariants(service, settled=True, truth={base(n): await service.truth(n) for n in range(SITES)})

    run(scenario())
    service.close()


def test_f_10_a_stale_worker_does_not_mix_its_section_files_into_a_newer_file(home: Path, workers: Workers) -> None:
    """A file in several parts: the stale worker finds the first of them changed, and writes none."""
    first = Job(home=str(home), sites=1, pages=1_000)
    service = opened(home, first, START)

    async def begin() -> None:
        await service.enroll(0, maxPages=10_000)
        await service.tick()

    run(begin())
    service.close()
    now = START + 2 * DAY
    pid = workers.start(replace(first, version=2, at=KILL_POINTS["K7"], rest=True, now=now.isoformat()))
    assert workers.wait(pid) == "stopped"
    service = opened(home, replace(first, version=3), now + LEASE + timedelta(seconds=1))
    summary = run(service.tick())
    assert summary is not None
    assert summary.updated == 1
    run(check_invariants(service, settled=True))
    os.kill(pid, signal.SIGCONT)
    assert workers.wait(pid) == 0
    run(check_invariants(service, settled=True))
    service.close()


def test_f_79_killed_in_its_first_run_and_enrolled_again(home: Path, workers: Workers) -> None:
    """A file was uploaded, then the worker and the row are gone: enrolling again works, and the left file is taken over."""
    now = prepare(home, first=True)
    job = Job(home=str(home), at=KILL_POINTS["K8"], now=now.isoformat())
    assert workers.run(job) == KILLED
    service = opened(home, Job(home=str(home), version=2), now)

    async def scenario() -> None:
        for row in await service.rows():
            await service.sites.delete(row.id)
        assert any(service.file(number) for number in range(SITES))
        again, new = await enroll(service.world, {"url": base(0)})
        assert new
        await service.enroll(1)
        await service.tick()
        assert (await service.sites.get(again.id)).last_outcome is Outcome.UPDATED
        truth = {base(n): await service.truth(n) for n in range(SITES)}
        await check_invariants(service, settled=True, truth=truth)

    run(scenario())
    service.close()


def test_a_worker_without_a_kill_point_ends_by_itself(home: Path, workers: Workers) -> None:
    """The harness's own check: such a worker finishes its tick and exits with 0."""
    now = prepare(home, first=True)
    job = Job(home=str(home), now=now.isoformat())
    assert workers.run(job) == 0
    service = opened(home, job, now)
    run(check_invariants(service, settled=True, truth={base(n): run(service.truth(n)) for n in range(SITES)}))
    service.close()
