"""The n-th call of every port fails, for n = 1, 2, 3 … until a tick completes without having met the fault.

The way of SQLite's out-of-memory tests. After each fault the promises hold, and once time has passed the file is what it
would have been without it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runtime.models import Outcome, SiteStatus
from runtime.web.names import PIN_SECONDS
from tests.faults.invariants import check_invariants
from tests.faults.loop import run
from tests.faults.ports import FAULTS_OF, PORTS, Fault
from tests.faults.service import DAY, Service, base, site_of, titles, write

MOST_CALLS = 60
CASES = [pytest.param(port, fault, id=f"{port}-{fault.name.lower()}") for port in PORTS for fault in FAULTS_OF[port]]


async def one_fault(home: Path, port: str, fault: Fault, nth: int, *, first: bool) -> bool:
    """A tick with one fault, and what comes after it; gives whether the fault was met at all."""
    service = Service(home, site_of(1, pages=2))
    try:
        await service.enroll(0)
        if not first:
            await service.tick()
            write(service.site, 0, titles(0, version=2, count=2), dated="2026-06-01")
            service.advance(2 * DAY)
            await asyncio.sleep(2 * PIN_SECONDS)  # simulated: names are looked up anew
        truth = {base(0): await service.truth(0)}
        service.script.arm(port, fault, nth)
        await service.tick()
        await check_invariants(service)
        await service.recover(ticks=2)
        await check_invariants(service, settled=True, truth=truth)
        row = await service.row(0)
        assert (row.status, row.failure_count) == (SiteStatus.ACTIVE, 0)
    finally:
        service.close()
    return service.script.struck > 0


def until_it_completes(home: Path, port: str, fault: Fault, *, first: bool) -> int:
    for nth in range(1, MOST_CALLS):
        if not run(one_fault(home / str(nth), port, fault, nth, first=first)):
            return nth - 1
    raise AssertionError(f"more than {MOST_CALLS} calls of {port}")


@pytest.mark.parametrize(("port", "fault"), CASES)
def test_any_call_of_a_first_run_may_go_wrong(home: Path, port: str, fault: Fault) -> None:
    """A new site gets its file, whichever call of its first run has a fault."""
    assert until_it_completes(home, port, fault, first=True) >= 1


@pytest.mark.parametrize(("port", "fault"), CASES)
def test_any_call_of_an_update_may_go_wrong(home: Path, port: str, fault: Fault) -> None:
    """A published file is replaced by the right one, and never by another, whichever call of the update has a fault."""
    assert until_it_completes(home, port, fault, first=False) >= 1


@pytest.mark.parametrize(("port", "fault"), [case for case in CASES if Fault.REFUSED not in case.values])
def test_a_fault_at_one_site_is_nothing_to_another(home: Path, port: str, fault: Fault) -> None:
    """Whatever goes wrong in the work on one site, the other one of the tick is finished, unless nothing could be.

    Only wrong credentials stop a tick: they are wrong for every site.
    """

    async def tick(nth: int) -> bool:
        service = Service(home / str(nth), site_of(2, pages=1))
        try:
            await service.enroll(0, 1)
            service.script.arm(port, fault, nth)
            await service.tick()
            await check_invariants(service)
            if service.script.struck and not unready(service):
                runs = [await service.sites.runs(row.id) for row in await service.rows()]
                good = [found for found in runs if found and found[0].outcome is Outcome.UPDATED]
                assert good, f"{port} {fault} {nth}: {runs}"
        finally:
            service.close()
        return service.script.struck > 0

    for nth in range(1, MOST_CALLS):
        if not run(tick(nth)):
            return
    raise AssertionError(f"more than {MOST_CALLS} calls of {port}")


def unready(service: Service) -> bool:
    """Whether the fault hit the tick itself, before any site, or the queue between the two."""
    return not service.said("step") or service.script.port == "queue"
