"""Many sites at once: a bulk enrolment, an outage, a budget. The clock is simulated; what a worker does is a commit."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtime.commitment import commitment
from runtime.dispatch import STOP_MARGIN_SECONDS, Tick, tick
from runtime.enroll import CROWD, enroll
from runtime.judgement import Survey
from runtime.local import pending
from runtime.models import Claim, Outcome
from runtime.ports import Message, World
from runtime.publish.folder import FolderPublisher, FolderStates
from runtime.queues.memory import MemoryQueue
from runtime.scheduling.decide import PLANNED
from runtime.settings import Settings
from runtime.sites.rows import place_of
from runtime.sites.sqlite import SqliteSites
from runtime.state import SiteState
from runtime.verdicts import Unknown
from tests.stand_ins.site import Site

START = datetime(2026, 6, 1, tzinfo=UTC)
HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(days=7)


@dataclass
class Fleet:
    """Many sites, a clock, ticks; each claimed site is found as `outcome_of` says and committed at once."""

    home: Path
    now: datetime = START
    started: list[datetime] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    world: World = field(init=False)
    sites: SqliteSites = field(init=False)

    def __post_init__(self) -> None:
        self.sites = SqliteSites(self.home / "sites.db", clock=lambda: self.now)
        self.world = World(
            web=Site({}).client(),
            sites=self.sites,
            publisher=FolderPublisher(self.home / "published", "https://files.example.org"),
            states=FolderStates(self.home / "states"),
            queue=MemoryQueue(),
            events=self,
            clock=lambda: self.now,
            settings=Settings(),
        )

    def event(self, name: str, **fields: Any) -> None:
        """Nobody listens."""

    def configure(self, **settings: Any) -> None:
        self.world = replace(self.world, settings=Settings(**settings))

    async def enroll(self, count: int, **options: Any) -> None:
        known = len(await self.rows())
        for number in range(known, known + count):
            await enroll(self.world, {"url": f"https://site-{number}.example.com", **options})

    async def rows(self) -> list[Any]:
        return await self.sites.list_sites(limit=100_000)

    def outcome_of(self, claim: Claim) -> Outcome:
        """Every site changes about every third look."""
        digits = int(claim.site.id[-4:], 16) + claim.generation
        return Outcome.UPDATED if digits % 3 == 0 else Outcome.UNCHANGED_CONTENT

    async def tick(self, *, after: timedelta = timedelta()) -> Tick:
        self.now += after
        done = await tick(self.world, tick_id=f"tick-{self.now}", remaining_seconds=1e6)
        while messages := await pending(self.world):
            for message in messages:
                assert message.claim is not None
                await self.commit(message.claim)
        return done

    async def commit(self, claim: Claim) -> None:
        claim = await self.sites.renew_lease(claim, lease_seconds=330)
        self.started.append(claim.claimed_at)
        self.order.append(claim.site.base_url)
        seen = Survey(
            outcome=self.outcome_of(claim), reason="seen", state=SiteState(), verdict=Unknown(""), asked_for_all=True
        )
        price = (await self.sites.budget()).price
        made = commitment(
            claim, seen, now=self.now, run_id=str(claim.generation), tick_id=None, url=None, duration_ms=1,
            settings=self.world.settings, price=price,
        )  # fmt: skip
        await self.sites.commit_run(claim, replace(made, crawled=True))

    def busiest(self, span: timedelta) -> int:
        """The most crawls that started in any stretch of that length."""
        starts, most, first = sorted(self.started), 0, 0
        for last, at in enumerate(starts):
            while starts[first] <= at - span:
                first += 1
            most = max(most, last - first + 1)
        return most


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path)
    yield made
    made.sites.close()


async def test_a_single_site_and_a_few_are_due_at_once(fleet: Fleet) -> None:
    """Nobody waits for the first file because of a rule against crowds."""
    await fleet.enroll(CROWD)

    assert {row.next_crawl_at for row in await fleet.rows()} == {START}


async def test_a_bulk_enrolment_is_spread_and_stays_spread(fleet: Fleet) -> None:
    """Six hundred sites at once: the first hundred now, the others at their places of the day; and their second looks
    all over the interval, not on the same day of the week."""
    await fleet.enroll(600)
    rows = await fleet.rows()
    later = [row for row in rows if row.next_crawl_at > START]
    assert len(later) == 500
    assert all(row.next_crawl_at == START + DAY * place_of(row.id) for row in later)
    hours = Counter((row.next_crawl_at - START) // (3 * HOUR) for row in later)
    assert set(hours) == set(range(8))
    assert max(hours.values()) < 2 * 500 / 8

    while fleet.now < START + DAY + HOUR:
        await fleet.tick(after=HOUR)
    assert len(fleet.started) >= 600

    seconds = [row for row in await fleet.rows() if row.id in {row.id for row in later}]
    days = Counter((row.next_crawl_at - START) // DAY for row in seconds)
    assert set(days) <= set(range(9))
    assert max(days.values()) < 500 / 3
    assert len(days) >= 6


async def test_a_site_enrolled_by_hand_after_the_crowd_is_served_at_once(fleet: Fleet) -> None:
    """The crowd is those who wait for their first look; when they have had it, there is none."""
    await fleet.enroll(CROWD)
    await fleet.tick()
    await fleet.enroll(1)

    assert [row.next_crawl_at for row in await fleet.rows() if row.last_checked_at is None] == [fleet.now]


async def test_an_outage_is_made_good_at_a_bounded_rate_oldest_first_webhooks_before_all(fleet: Fleet) -> None:
    """A fortnight without a tick: each tick takes what workers keep up with, and the sites do not come back as a herd."""
    fleet.configure(claims_per_tick=50)
    for _ in range(4):
        await fleet.enroll(75)
        while any(row.last_checked_at is None for row in await fleet.rows()):
            await fleet.tick(after=HOUR)
    before = {row.base_url: row.next_crawl_at for row in await fleet.rows()}
    fleet.now += 2 * WEEK
    fleet.started.clear()
    fleet.order.clear()
    (last,) = [row for row in await fleet.rows() if row.next_crawl_at == max(before.values())]
    await fleet.sites.request_recrawl(last.id)

    sizes = []
    while (await fleet.sites.due_summary()).due:
        sizes.append((await fleet.tick(after=HOUR)).total)

    assert sizes == [50] * 6
    assert fleet.order[0] == last.base_url
    assert fleet.order[1:] == sorted((url for url in before if url != last.base_url), key=lambda url: before[url])
    again = Counter((row.next_crawl_at - fleet.now) // HOUR for row in await fleet.rows())
    assert max(again.values()) <= 60


@pytest.mark.parametrize("schedule", ["fixed", "learned"])
async def test_a_budget_holds_for_weeks_and_the_price_brings_plan_and_budget_together(
    fleet: Fleet, schedule: str
) -> None:
    """Eighty sites that would like a crawl a day, and twenty crawls: never more in any 24 hours; webhooks are served at
    once; under the learned policy the price then leaves little for the gate to refuse."""
    fleet.configure(crawls_a_day=20, schedule=schedule)
    await fleet.enroll(80, recrawlIntervalMinutes=1_440)
    refused: list[int] = []
    for number in range(4 * 60):
        if number > 100 and number % 12 == 0:
            row = (await fleet.rows())[number % 80]
            await fleet.sites.request_recrawl(row.id)
            await fleet.tick(after=6 * HOUR)
            assert row.base_url in fleet.order[-20:]
        else:
            await fleet.tick(after=6 * HOUR)
        refused.append((await fleet.sites.due_summary()).due)

    assert fleet.busiest(DAY) <= 20
    assert len(fleet.started) > (0.85 if schedule == "fixed" else 0.7) * 20 * 60
    budget, rows = await fleet.sites.budget(), await fleet.rows()
    assert budget.price is not None
    if schedule == "learned":
        assert 15 < sum(row.schedule[PLANNED] for row in rows) < 21
        assert max(refused[-40:]) < 20
    else:
        assert min(refused[-40:]) > 40, "a fixed schedule has no price: the gate alone keeps the budget"


@dataclass
class Down:
    """A queue that takes nothing."""

    asked: int = 0

    async def send(self, messages: Sequence[Message]) -> list[Message]:
        self.asked += len(messages)
        return list(messages)


async def test_what_cannot_be_queued_is_due_again_at_once(fleet: Fleet) -> None:
    """Every claim is given back, its attempt not counted; the next tick takes all of them."""
    await fleet.enroll(40)
    fleet.now += DAY
    queue, fleet.world = fleet.world.queue, replace(fleet.world, queue=Down())
    done = await tick(fleet.world, tick_id="down")
    assert (done.total, done.unqueued) == (0, 40)
    assert {site.attempts for site in await fleet.sites.list_sites()} == {0}

    fleet.world = replace(fleet.world, queue=queue)
    assert (await tick(fleet.world, tick_id="up")).total == 40


@pytest.mark.parametrize("seconds", [0.0, 5.0, STOP_MARGIN_SECONDS])
async def test_a_tick_without_time_claims_nothing(fleet: Fleet, seconds: float) -> None:
    """What it claimed now could not be sent any more."""
    await fleet.enroll(5)

    assert (await tick(fleet.world, tick_id="late", remaining_seconds=seconds)).total == 0


async def test_half_of_a_ticks_time_is_for_the_messages(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims that take a second each end after half of the time; what was claimed is queued."""
    await fleet.enroll(40)
    fleet.now += DAY
    fleet.world = replace(fleet.world, settings=replace(fleet.world.settings, claim_batch=1))
    loop, passed = asyncio.get_running_loop(), [0.0]
    claim, real = fleet.sites.claim_due, loop.time

    async def slow(**wanted: Any) -> list[Claim]:
        passed[0] += 1
        return await claim(**wanted)

    monkeypatch.setattr(fleet.sites, "claim_due", slow)
    monkeypatch.setattr(loop, "time", lambda: real() + passed[0])
    done = await tick(fleet.world, tick_id="slow", remaining_seconds=30 + STOP_MARGIN_SECONDS)

    assert 14 <= done.total <= 15
    assert len(await pending(fleet.world)) == done.total
