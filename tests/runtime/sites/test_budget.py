"""The budget of crawls in both stores: what is charged, what is given back, who goes first, and that it always holds."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier

import pytest

from runtime.errors import BudgetSpent
from runtime.models import Budget, Outcome, SiteOptions
from tests.runtime.sites.store import START, Store, commit
from tests.stand_ins.postgres import Postgres
from tests.stand_ins.postgrest import PostgrestServer

DAY = timedelta(days=1)


async def fleet(store: Store, size: int, **options: float) -> list[str]:
    """Sites that are all due, the first for the longest."""
    ids = []
    for number in range(size):
        site = await store.enroll(f"https://{number:03}.example", options=SiteOptions(**options))  # type: ignore[arg-type]
        ids.append(site.id)
        store.advance(seconds=1)
    return ids


async def charged(store: Store) -> int:
    return (await store.sites.budget()).crawls


async def test_no_more_sites_are_claimed_than_the_day_has_crawls(store: Store) -> None:
    """Nine of ten are for the schedule; what is left out stays due, and is claimed when the first are a day old."""
    ids = await fleet(store, 12)
    first = await store.claim_due(crawls_a_day=10)
    assert [claim.site.id for claim in first] == ids[:9]
    assert await store.claim_due(crawls_a_day=10) == []
    assert (await store.sites.due_summary()).due == 3
    for claim in first:
        await store.sites.commit_run(claim, commit(crawled=True, run_id=claim.site.id, next_crawl_at=None))

    store.advance(hours=23)
    assert await store.claim_due(crawls_a_day=10) == []
    store.advance(hours=1)
    assert len(await store.claim_due(crawls_a_day=10)) == 9


async def test_what_waits_for_the_budget_is_not_late(store: Store) -> None:
    """Nobody could have taken it: it is counted by itself. What was asked for waits only when nothing is left at all."""
    ids = await fleet(store, 30)
    store.advance(hours=1)

    async def summary(crawls_a_day: int | None) -> tuple[int, int, int, bool]:
        found = await store.sites.due_summary(slack_seconds=60, crawls_a_day=crawls_a_day)
        return found.due, found.over_budget, found.overdue, found.oldest_due_at is None

    assert await summary(20) == (30, 0, 30, False), "there is room, and no tick came: all of them are late"
    assert len(await store.claim_due(crawls_a_day=20, lease_seconds=3_600)) == 18
    assert await summary(None) == (12, 0, 12, False)
    assert await summary(20) == (12, 12, 0, True)
    assert await summary(18) == (12, 12, 0, True)
    assert await summary(21) == (12, 0, 12, False), "a larger budget, and a tick could have taken one more"

    for site_id in ids[25:28]:
        await store.sites.request_recrawl(site_id)
    store.advance(minutes=2)
    asked = await store.sites.due_summary(slack_seconds=60, crawls_a_day=20)
    assert (asked.due, asked.over_budget, asked.overdue) == (12, 9, 3)
    assert asked.oldest_due_at is not None
    assert asked.oldest_due_at > START

    assert len(await store.claim_due(crawls_a_day=20, lease_seconds=3_600)) == 2
    assert await summary(20) == (10, 10, 0, True), "the last tenth is used as well"
    store.advance(hours=24)
    assert (await summary(20))[1:3] == (0, 30), "a day later the leases and the charges are over"


async def test_the_last_tenth_is_for_sites_that_were_asked_for(store: Store) -> None:
    """A webhook goes before all that is merely due, also when the schedule has used its part; then it is refused too."""
    ids = await fleet(store, 30)
    assert len(await store.claim_due(crawls_a_day=20)) == 18
    for site_id in ids[25:28]:
        await store.sites.request_recrawl(site_id)
        store.advance(seconds=1)

    asked = await store.claim_due(crawls_a_day=20)

    assert [claim.site.id for claim in asked] == ids[25:27]
    assert all(claim.forced for claim in asked)
    assert await store.claim_due(crawls_a_day=20) == []
    assert await store.sites.budget() == Budget(crawls=20, asked=2)


async def test_a_webhook_goes_first_without_a_budget_too(store: Store) -> None:
    """It does not wait behind a backlog, nor take more than its host's share."""
    ids = await fleet(store, 6)
    await store.sites.request_recrawl(ids[4])

    assert [claim.site.id for claim in await store.claim_due(2)] == [ids[4], ids[0]]
    assert (await store.sites.budget()).crawls == 0


async def test_a_spent_budget_refuses_a_single_claim(store: Store) -> None:
    """A person is told; the row is as it was, with its request and its attempts."""
    site = await store.enroll()
    other = await store.enroll("https://other.example")
    assert await store.sites.claim_site(other.id, lease_seconds=60, owner="w", crawls_a_day=1)
    before = await store.sites.get(site.id)

    for force in (False, True):
        with pytest.raises(BudgetSpent):
            await store.sites.claim_site(site.id, lease_seconds=60, owner="w", force=force, crawls_a_day=1)

    assert await store.sites.get(site.id) == before
    assert await store.sites.claim_site(site.id, lease_seconds=60, owner="w", crawls_a_day=2)


@pytest.mark.parametrize(
    ("outcome", "crawled", "left"),
    [
        (Outcome.UPDATED, True, 1), (Outcome.UNCHANGED_CONTENT, True, 1), (Outcome.UNCHANGED_CONTENT, False, 1),
        (Outcome.FAILED, True, 1), (Outcome.UNCHANGED_SITEMAP, False, 0), (Outcome.FAILED, False, 0),
        (Outcome.DEFERRED, False, 0),
    ],
)  # fmt: skip
async def test_a_run_that_read_no_page_gives_its_crawl_back(
    store: Store, outcome: Outcome, crawled: bool, left: int
) -> None:
    """Also hours later, when another slot is counted in; a second commit of the same run gives nothing back."""
    await store.enroll()
    (claim,) = await store.claim_due(crawls_a_day=5, lease_seconds=90_000)
    store.advance(hours=2)
    await store.enroll("https://other.example")
    await store.claim_due(crawls_a_day=5)
    assert await charged(store) == 2
    for _ in range(2):
        await store.sites.commit_run(claim, commit(outcome, crawled=crawled))

    assert await charged(store) == 1 + left


async def test_an_untouched_claim_is_given_back_once(store: Store) -> None:
    """A release is refunded; a stale one is not."""
    await store.enroll()
    (claim,) = await store.claim_due(crawls_a_day=5)
    assert await charged(store) == 1
    await store.sites.release(claim)
    await store.sites.release(claim)

    assert await charged(store) == 0


async def test_a_dead_workers_crawl_stays_charged(store: Store) -> None:
    """Nobody knows how far it came, so both of two claims count."""
    await store.enroll()
    await store.claim_due(crawls_a_day=5, lease_seconds=60)
    store.advance(seconds=61)
    (again,) = await store.claim_due(crawls_a_day=5)
    await store.sites.commit_run(again, commit(Outcome.UNCHANGED_SITEMAP))

    assert await charged(store) == 1


async def test_a_claim_of_no_budget_gives_nothing_back(store: Store) -> None:
    """A run that began before the budget was set does not make room in it."""
    first = await store.enroll()
    free = await store.claim(first)
    await store.enroll("https://other.example")
    assert len(await store.claim_due(crawls_a_day=5)) == 1
    await store.sites.commit_run(free, commit(Outcome.UNCHANGED_SITEMAP))

    assert await charged(store) == 1


async def test_the_most_valuable_go_first_when_not_all_can(store: Store) -> None:
    """Weight times lateness decides: a site of weight ten that is late for a minute goes before one late for five."""
    ids = []
    for number, weight in enumerate([1.0, 1.0, 10.0, 0.5]):
        ids.append((await store.enroll(f"https://{number}.example", options=SiteOptions(weight=weight))).id)
        store.advance(minutes=2)

    assert [claim.site.id for claim in await store.claim_due(crawls_a_day=1)] == [ids[2]]
    assert [claim.site.id for claim in await store.claim_due(crawls_a_day=2)] == [ids[0]]


async def test_no_twenty_four_hours_exceed_the_budget(store: Store) -> None:
    """Two weeks of ticks, webhooks, refunds and dead workers at random: every window of a day has 20 crawls at most."""
    chance = random.Random(10)
    ids = await fleet(store, 40)
    started: list[datetime] = []
    for tick in range(120):
        store.advance(minutes=chance.choice([7, 60, 180, 360]))
        for _ in range(chance.randrange(4)):
            await store.sites.request_recrawl(chance.choice(ids), debounce_seconds=0)
        claims = await store.claim_due(chance.choice([3, 100]), crawls_a_day=20)
        for number, claim in enumerate(claims):
            end = chance.choice(["crawled", "crawled", "quiet", "dead"])
            if end != "quiet":
                started.append(claim.claimed_at)
            if end != "dead":
                outcome = Outcome.UNCHANGED_CONTENT if end == "crawled" else Outcome.UNCHANGED_SITEMAP
                again = store.now + timedelta(hours=chance.choice([2, 8]))
                done = commit(outcome, crawled=end == "crawled", run_id=f"{tick}-{number}", next_crawl_at=again)
                await store.sites.commit_run(claim, done)
    busiest = max(sum(at - DAY < other <= at for other in started) for at in started)

    assert 15 <= busiest <= 20


async def test_a_price_is_set_once_by_whoever_read_the_last_one(store: Store) -> None:
    """Of two ticks that adapt the price of the same day, the second finds it done."""
    assert await store.sites.budget() == Budget()
    assert await store.sites.set_price(100.0, after=None)
    assert not await store.sites.set_price(200.0, after=None)
    store.advance(days=1)
    assert await store.sites.set_price(110.0, after=START)
    assert not await store.sites.set_price(120.0, after=START)

    assert await store.sites.budget() == Budget(price=110.0, priced_at=START + DAY)


async def test_planned_crawls_are_those_of_the_schedules_else_of_the_intervals(store: Store) -> None:
    """A site without a memory counts with its interval, a paused one not at all."""
    assert await store.sites.planned_crawls() == 0
    await store.enroll(options=SiteOptions(recrawl_interval_minutes=720))
    learned = await store.enroll("https://learned.example")
    await store.run(learned, schedule={"crawls_a_day": 0.25})
    await store.enroll("https://paused.example", enabled=False)

    assert await store.sites.planned_crawls() == 2.25


def test_two_dispatchers_at_once_do_not_spend_a_crawl_twice(
    postgres: Postgres, project: tuple[str, PostgrestServer]
) -> None:
    """Eight connections claim at the same moment, again and again: together they get what the budget has."""
    import psycopg

    database, _ = project
    postgres.execute(
        "INSERT INTO crawl_sites (base_url, next_crawl_at) "
        "SELECT 'https://' || n || '.example', now() - interval '1 hour' FROM generate_series(1, 400) n",
        database=database,
    )
    together = Barrier(8)

    def claim(name: int) -> int:
        taken = 0
        with psycopg.connect(postgres.uri(database), autocommit=True) as owner:
            for _ in range(20):
                together.wait()
                call = "SELECT jsonb_array_length(claim_due_sites(5, 60, %s, 1, 0, 100))"
                row = owner.execute(call, (f"worker-{name}",)).fetchone()
                assert row is not None
                taken += row[0]
        return taken

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(claim, range(8))) == 90
    assert postgres.rows(database, "SELECT sum(crawls) FROM crawl_spending") == [(90,)]
