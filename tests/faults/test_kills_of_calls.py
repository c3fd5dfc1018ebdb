"""Owners' calls whose process is killed in the middle, and calls that come while a worker is at the site."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import StaleClaim
from runtime.http import Answer, Request
from runtime.management import route
from runtime.models import Outcome, SiteStatus
from tests.faults.child import Job, Workers, site_in
from tests.faults.invariants import check_invariants
from tests.faults.loop import run
from tests.faults.service import DAY, LEASE, START, Service, base, sha
from tests.faults.workers import running_workers

KILLED = -signal.SIGKILL
EARLY, LATER = START + 2 * DAY + timedelta(hours=1), START + 10 * DAY
"""When no site is due yet, and when each is."""

ROLLBACK_POINTS = {
    "claimed": False,
    "return publishing.py put_public": False,
    "published": False,
    "return sqlite_statements.py record": False,
    "committed": True,
}
"""Where a rollback can die -> whether it has taken effect by then. The last but one is inside its transaction."""

UPDATED = "return sqlite.py update"
"""The row has what the call changes; the run that it asks for is not asked for yet."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with running_workers() as made:
        yield made


def opened(home: Path, job: Job, now: datetime) -> Service:
    return Service(home, site_in(job), base=now)


def scene(home: Path, job: Job, now: datetime, scenario: Callable[[Service], Awaitable[Any]]) -> Any:
    """What a scenario gives, with the sites as a job has them."""
    service = opened(home, job, now)

    async def played() -> Any:
        return await scenario(service)

    try:
        return run(played())
    finally:
        service.close()


async def call(service: Service, action: str, body: dict[str, Any] | None = None, method: str = "POST") -> Answer:
    row = await service.row(0)
    raw = b"" if body is None else json.dumps(body).encode()
    return await route(Request(method=method, path=f"/sites/{row.id}{action}", body=raw), service.world)


def prepare(home: Path, *, pages: int = 3) -> tuple[bytes, bytes]:
    """One site with two versions; gives the file of the first and of the second."""
    job = Job(home=str(home), sites=1, pages=pages)

    async def first(service: Service) -> bytes:
        await service.enroll(0)
        await service.tick()
        return service.file(0)

    async def second(service: Service) -> bytes:
        await service.tick()
        return service.file(0)

    old = scene(home, job, START, first)
    new = scene(home, replace(job, version=2), START + 2 * DAY, second)
    assert old != new
    return old, new


@pytest.mark.parametrize("point", ROLLBACK_POINTS)
def test_a_rollback_is_killed(home: Path, workers: Workers, point: str) -> None:
    """It is done and stays done, or it is not done: the next run never makes half of it."""
    old, new = prepare(home)
    job = Job(home=str(home), sites=1, version=2, now=EARLY.isoformat())
    assert workers.run(replace(job, call="POST /rollback", at=point)) == KILLED
    stays = old if ROLLBACK_POINTS[point] else new

    async def scenario(service: Service) -> None:
        await check_invariants(service)
        if point != "committed":  # whatever its plan was, the site is due once the dead caller's lease is over
            summary = await service.tick(after=LEASE)
            assert summary is not None
            assert summary.total == 1
        for _ in range(3):
            await service.sites.request_recrawl((await service.row(0)).id)  # so that the pages are looked at
            await service.tick(after=2 * DAY)
            assert service.file(0) == stays
        assert sha(stays) == (await service.row(0)).latest_llms_hash
        await check_invariants(service, settled=True)
        # Done or not, it can be asked for, and then it holds until the site changes.
        if stays == new:
            assert (await call(service, "/rollback")).status == 200
        service.site.replies = site_in(replace(job, version=3)).replies
        await service.tick(after=2 * DAY)
        assert b"edition 3" in service.file(0)

    scene(home, job, EARLY, scenario)


@pytest.mark.parametrize("point", ["claimed", "return published.py read_published", "return sqlite.py renew_lease"])
def test_a_rollback_is_stopped_for_longer_than_its_lease(home: Path, workers: Workers, point: str) -> None:
    """SIGSTOP, a worker takes the site over and publishes a newer file, SIGCONT: the late rollback changes nothing."""
    prepare(home)
    job = Job(home=str(home), sites=1, version=3, now=LATER.isoformat())
    pid = workers.start(replace(job, call="POST /rollback", at=point, rest=True))
    assert workers.wait(pid) == "stopped"

    async def overtake(service: Service) -> None:
        summary = await service.tick()
        assert summary is not None
        assert summary.updated == 1

    scene(home, job, LATER + LEASE, overtake)
    os.kill(pid, signal.SIGCONT)
    assert workers.wait(pid) == 1, "the caller is told that it failed"

    async def scenario(service: Service) -> None:
        assert b"edition 3" in service.file(0)
        await check_invariants(service, settled=True, truth={base(0): await service.truth(0)})

    scene(home, job, LATER + LEASE, scenario)


def test_a_rollback_holds_whatever_became_of_the_memory(home: Path) -> None:
    """The memory of the runs is a cache: lost, damaged or a run behind, it does not bring the newer file back."""
    old, _ = prepare(home)

    async def scenario(service: Service) -> None:
        behind = await service.states.load((await service.row(0)).id)
        assert (await call(service, "/rollback")).status == 200
        for memory in (behind, b"damaged", None):
            site_id = (await service.row(0)).id
            await (service.states.delete(site_id) if memory is None else service.states.save(site_id, memory))
            await service.tick(after=2 * DAY)
            assert service.file(0) == old
        await check_invariants(service, settled=True)

    scene(home, Job(home=str(home), sites=1, version=2), LATER, scenario)


def test_a_rollback_does_not_hide_a_change_that_was_announced_before(home: Path) -> None:
    """A webhook came, then an operator rolled back, and no crawl in between: the change is still looked at."""
    old, _ = prepare(home)

    async def scenario(service: Service) -> None:
        await service.sites.request_recrawl((await service.row(0)).id)
        service.advance(timedelta(minutes=1))
        assert (await call(service, "/rollback")).status == 200
        assert service.file(0) == old
        assert (await service.row(0)).requested_at is not None
        await service.tick(after=timedelta(minutes=10))
        assert b"edition 3" in service.file(0)
        assert (await service.row(0)).requested_at is None

    scene(home, Job(home=str(home), sites=1, version=3), LATER, scenario)


def collapsed(home: Path) -> tuple[Job, bytes]:
    """A site whose file of eleven pages stays while the site has two; gives the job that has it so, and the file."""
    job = Job(home=str(home), sites=1, pages=12)

    async def grown(service: Service) -> bytes:
        await service.enroll(0)
        await service.tick()
        return service.file(0)

    good = scene(home, job, START, grown)
    shrunk = replace(job, pages=1, version=2, gone=12)

    async def hold(service: Service) -> None:
        await service.tick()
        assert (await service.row(0)).last_outcome is Outcome.HELD
        assert service.file(0) == good

    scene(home, shrunk, START + 2 * DAY, hold)
    return shrunk, good


@pytest.mark.parametrize("point", [UPDATED, "return start.py start_run"])
def test_a_confirmation_is_killed(home: Path, workers: Workers, point: str) -> None:
    """Once the row has it, the next look publishes what is held, though nobody asked for one any more."""
    job, good = collapsed(home)
    at = START + 2 * DAY + timedelta(minutes=30)
    assert workers.run(replace(job, call="POST /confirm", at=point, now=at.isoformat())) == KILLED

    async def scenario(service: Service) -> None:
        assert service.file(0) == good
        await service.tick(after=timedelta(hours=13))
        row = await service.row(0)
        assert (row.last_outcome, row.confirmed) == (Outcome.UPDATED, None)
        assert "an operator confirmed it" in (await service.sites.runs(row.id, limit=1))[0].reason
        await check_invariants(service, settled=True, confirmed={base(0)})

    scene(home, job, at, scenario)


def test_a_confirmation_during_a_run_is_not_lost(home: Path, workers: Workers) -> None:
    """The operator speaks while a worker holds the same result once more: the run after that publishes it."""
    job, good = collapsed(home)
    at = START + 3 * DAY
    pid = workers.start(replace(job, at="surveyed", rest=True, now=at.isoformat()))
    assert workers.wait(pid) == "stopped"

    async def confirm(service: Service) -> None:
        assert (await call(service, "/confirm")).status == 200

    scene(home, job, at, confirm)
    os.kill(pid, signal.SIGCONT)
    assert workers.wait(pid) == 0

    async def scenario(service: Service) -> None:
        await service.tick()
        row = await service.row(0)
        assert (row.last_outcome, row.requested_at) == (Outcome.UPDATED, None)
        assert service.file(0) != good
        await check_invariants(service, settled=True, confirmed={base(0)})

    scene(home, job, at + timedelta(minutes=20), scenario)


@pytest.mark.parametrize("call_", ['PATCH  {"exclude": ["/page-0"]}', "POST /resume"])
def test_a_call_is_killed_before_it_asks_for_a_run(home: Path, workers: Workers, call_: str) -> None:
    """New options, or a site that goes on: the next tick that takes the site sees it, asked for or not."""
    prepare(home)
    job = Job(home=str(home), sites=1, version=2, now=LATER.isoformat())

    async def pause(service: Service) -> None:
        if "resume" in call_:
            assert (await call(service, "/pause")).status == 200

    scene(home, job, LATER, pause)
    assert workers.run(replace(job, call=call_, at=UPDATED)) == KILLED

    async def scenario(service: Service) -> None:
        await service.tick(after=2 * DAY)
        row = await service.row(0)
        assert row.status is SiteStatus.ACTIVE
        assert row.last_checked_at is not None
        assert row.last_checked_at > LATER
        truth = await service.truth(0, exclude=row.options.exclude)
        assert (b"/page-0" in truth) is ("PATCH" not in call_)
        await check_invariants(service, settled=True, truth={base(0): truth})

    scene(home, job, LATER, scenario)


@pytest.mark.parametrize("point", ["claimed", "surveyed", "version_stored", "published"])
@pytest.mark.parametrize("action", ["pause", "resume", "edit", "delete", "rollback", "recrawl"], ids=str)
def test_a_call_comes_while_a_worker_is_at_the_site(home: Path, workers: Workers, point: str, action: str) -> None:
    """The worker is stopped at a step, the call is answered, the worker goes on: both have what they were promised."""
    old, new = prepare(home)
    job = Job(home=str(home), sites=1, version=3, now=LATER.isoformat())
    pid = workers.start(replace(job, at=point, rest=True))
    assert workers.wait(pid) == "stopped"
    seen: list[bytes] = []

    async def act(service: Service) -> int:
        seen.append(service.file(0))
        if action == "edit":
            return (await call(service, "", {"exclude": ["/page-0"]}, "PATCH")).status
        if action == "delete":
            return (await call(service, "", method="DELETE")).status
        try:
            return (await call(service, f"/{action}")).status
        except StaleClaim:
            return 409

    answered = scene(home, job, LATER, act)
    os.kill(pid, signal.SIGCONT)
    assert workers.wait(pid) == 0
    assert answered == (409 if action == "rollback" else 200)

    async def scenario(service: Service) -> None:
        whole = (new, await service.truth(0), await service.truth(0, exclude=("/page-0",)))
        assert service.file(0) in whole, "the file of one moment"
        if action == "delete":
            assert await service.rows() == []
            assert point not in ("claimed", "surveyed") or service.file(0) == seen[0], "no upload after the row is gone"
            await check_invariants(service, settled=True)
            return
        row = await service.row(0)
        assert row.status is (SiteStatus.PAUSED if action == "pause" else SiteStatus.ACTIVE)
        assert row.lease_owner is None
        await service.tick(after=timedelta(minutes=10))
        truth = await service.truth(0, exclude=row.options.exclude)
        await check_invariants(service, settled=True, truth={base(0): truth})

    scene(home, job, LATER, scenario)
    assert old != new
