"""F-33: when nearly all sites of a batch fail alike, the fault is ours, and no site pays for it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from runtime.local import pending
from runtime.models import Outcome, SiteStatus
from runtime.own_fault import FEWEST_SITES, Tally
from runtime.work import work
from tests.faults.invariants import check_invariants
from tests.faults.loop import run
from tests.faults.ports import Fault
from tests.faults.service import DAY, Service, base, site_of
from tests.stand_ins.site import HTML


async def outcomes(service: Service) -> dict[Outcome, int]:
    found = [row.last_outcome for row in await service.rows()]
    return {outcome: found.count(outcome) for outcome in set(found) if outcome is not None}


@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.TIMEOUT])
def test_f_33_a_dead_resolver_of_ours_is_no_sites_failure(home: Path, fault: Fault) -> None:
    """Twelve names cannot be looked up: all are put off, none has failed, it is said once, and soon all is well."""

    async def scenario() -> None:
        service = Service(home, site_of(12, pages=1))
        await service.enroll(*range(12))
        service.script.arm("resolver", fault, times=1_000)
        summary = await service.tick()

        assert summary is not None
        assert (summary.total, summary.deferred, summary.errors, summary.processed) == (12, 12, 0, 0)
        [told] = service.said("own_fault")
        assert told["code"] == "dns_failure"
        assert told["sites"] >= 8
        for row in await service.rows():
            assert (row.failure_count, row.attempts, row.lease_owner, row.last_error) == (0, 0, None, None)
            assert row.next_crawl_at is not None
            assert (row.next_crawl_at - service.now()).total_seconds() <= 600
            [line] = await service.sites.runs(row.id)
            assert "the fault is ours" in line.reason
        await check_invariants(service)
        await service.recover(ticks=1)
        truth = {base(n): await service.truth(n) for n in range(12)}
        await check_invariants(service, settled=True, truth=truth)

    run(scenario())


def test_f_33_failures_from_before_are_neither_added_to_nor_forgotten(home: Path) -> None:
    """A site that was failing keeps its count, its error and since when, through a fault of ours."""

    async def scenario() -> None:
        service = Service(home, site_of(12, pages=1))
        await service.enroll(*range(12))
        alive = dict(service.site.replies)
        service.site.replies = {url: reply for url, reply in alive.items() if not url.startswith(base(3))}
        await service.tick()
        before = await service.row(3)
        assert before.failure_count == 1
        service.script.arm("resolver", Fault.FAIL, times=1_000)
        await asyncio.sleep(60)  # simulated: kept addresses run out
        await service.tick(after=2 * DAY)
        after = await service.row(3)

        assert len(service.said("own_fault")) == 1
        assert (after.failure_count, after.last_error, after.schedule) == (1, before.last_error, before.schedule)

    run(scenario())


def test_f_33_no_further_site_is_started_once_it_is_certain(home: Path) -> None:
    """Of sixty sites only those under way are asked for: the rest of the batch is put off at once."""

    async def scenario() -> None:
        service = Service(home, site_of(60, pages=1))
        await service.enroll(*range(60))
        service.script.arm("resolver", Fault.FAIL, times=1_000)
        await service.tick()

        assert service.script.calls["resolver"] <= 32
        assert await outcomes(service) == {Outcome.DEFERRED: 60}
        assert len(service.said("own_fault")) == 1

    run(scenario())


@pytest.mark.parametrize(
    ("sites", "dead", "ours"),
    [(10, 8, True), (10, 7, False), (16, 13, True), (16, 12, False), (9, 9, False), (1, 1, False)],
)
def test_f_33_it_takes_four_of_five_of_ten_sites(home: Path, sites: int, dead: int, ours: bool) -> None:
    """Below that the failures are the sites' own, and are counted."""

    async def scenario() -> None:
        service = Service(home, site_of(sites, pages=1))
        await service.enroll(*range(sites))
        failing = {f"s{number:02}.example.com" for number in range(dead)}
        service.resolver._inner = _Names(failing)
        await service.tick()

        found = await outcomes(service)
        if ours:  # sites that were not started by then are put off as well
            assert found.keys() == {Outcome.UPDATED, Outcome.DEFERRED}
            assert found[Outcome.DEFERRED] >= dead
        else:
            assert (found.get(Outcome.UPDATED, 0), found[Outcome.FAILED]) == (sites - dead, dead)
        assert len(service.said("own_fault")) == int(ours)
        assert sum(row.failure_count for row in await service.rows()) == (0 if ours else dead)
        await check_invariants(service)

    run(scenario())


class _Names:
    def __init__(self, dead: set[str]) -> None:
        self._dead = dead

    async def resolve(self, host: str, port: int) -> list[str]:
        if host in self._dead:
            raise OSError("no such name")
        return ["93.184.215.14"]


@pytest.mark.parametrize("status", [403, 500, 503])
def test_sites_that_answer_have_failed_by_themselves(home: Path, status: int) -> None:
    """An answer has crossed our network: however many sites say 503, it is theirs."""

    async def scenario() -> None:
        service = Service(home, site_of(12, pages=1))
        await service.enroll(*range(12))
        homes = {base(number) + "/": (status, HTML, b"down") for number in range(12)}
        service.site.replies.update(homes)
        await service.tick()

        assert service.said("own_fault") == []
        assert await outcomes(service) == {Outcome.FAILED: 12}
        assert {row.failure_count for row in await service.rows()} == {1}

    run(scenario())


def test_ten_thousand_sites_do_not_give_up_over_a_week_of_ours(home: Path) -> None:
    """A resolver that is dead for nine days disables nobody."""

    async def scenario() -> None:
        service = Service(home, site_of(12, pages=1))
        await service.enroll(*range(12))
        service.script.arm("resolver", Fault.FAIL, times=100_000)
        for _ in range(30):
            await service.tick(after=DAY / 3)
        assert {(row.status, row.failure_count) for row in await service.rows()} == {(SiteStatus.ACTIVE, 0)}
        assert len(service.said("own_fault")) == 30

    run(scenario())


def test_a_failure_waits_only_as_long_as_it_may_be_ours(home: Path) -> None:
    """As soon as enough sites did well, a failure is committed, and does not wait for the slowest of its batch."""

    async def scenario() -> None:
        service = Service(home, site_of(12, pages=1))
        await service.enroll(*range(12))
        service.resolver._inner = _Names({"s00.example.com"})
        done: list[str] = []
        service.hearing.append(
            lambda name, fields: done.append(fields["base_url"]) if name == "site_recrawled" else None
        )
        await service.dispatch()
        failing = (await service.row(0)).id
        messages = sorted(await pending(service.world), key=lambda message: message.site_id != failing)
        await work(service.world, messages, concurrency=1)
        assert done.index(base(0)) == 3

    run(scenario())


def test_a_tally_counts_hosts_and_not_sites() -> None:
    """Twenty sites of one host are one voice."""
    tally = Tally(20)
    for _ in range(20):
        tally.add("one.example.com", "dns_failure")
    assert tally.found() == ""


def test_a_tally_does_not_believe_the_quickest() -> None:
    """Ten dead names end at once; as long as six other sites are under way, they are ten of sixteen."""
    tally = Tally(100)
    for number in range(16):
        tally.start(f"s{number}.example.com")
    for number in range(10):
        tally.add(f"s{number}.example.com", "dns_failure")
    assert tally.found() == ""
    for number in range(10, 13):
        tally.add(f"s{number}.example.com", "dns_failure")
    assert tally.found() == "dns_failure"


def test_sites_that_were_dead_before_prove_nothing(home: Path) -> None:
    """A batch of dead sites, due because they were dead the last time, is no fault of ours, however many they are."""

    async def scenario() -> None:
        service = Service(home, site_of(12, pages=1))
        await service.enroll(*range(12))
        service.resolver._inner = _Names({f"s{number:02}.example.com" for number in range(9)})
        await service.tick()
        assert sum(row.failure_count for row in await service.rows()) == 9
        service.advance(timedelta(hours=2))
        await service.tick()
        assert sum(row.failure_count for row in await service.rows()) == 18
        assert service.said("own_fault") == []

    run(scenario())


def test_a_tally_compares_codes() -> None:
    """Ten sites that fail in five ways have nothing in common."""
    tally = Tally(10)
    for number in range(FEWEST_SITES):
        tally.add(
            f"s{number}.example.com", ("dns_failure", "connect_failed", "timeout", "tls", "connection_lost")[number % 5]
        )
    assert tally.found() == ""
    assert not tally.may_be_ours("dns_failure")
