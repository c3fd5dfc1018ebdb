"""The contract of both stores: leases, fairness and quarantine."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from runtime.errors import InputError, StaleClaim
from runtime.models import Claim, Outcome, Site, SiteStatus
from tests.runtime.sites.store import START, Store, commit


async def enroll_in_turn(store: Store, *urls: str) -> list[Site]:
    """Sites that became due one minute after the other."""
    made = []
    for url in urls:
        made.append(await store.enroll(url))
        store.advance(minutes=1)
    return made


async def test_a_claim_is_a_lease_under_a_new_generation(store: Store) -> None:
    """The row carries the lease, the claim says what it was given, and the attempt is counted with it."""
    site = await store.enroll()
    (claim,) = await store.claim_due(owner="tick-7", lease_seconds=330)

    assert (1, "tick-7", START + timedelta(seconds=330), START) == (
        claim.generation,
        claim.lease_owner,
        claim.lease_until,
        claim.claimed_at,
    )
    stored = await store.sites.get(site.id)
    assert stored == claim.site
    assert (1, 1, "tick-7", claim.lease_until) == (
        stored.generation,
        stored.attempts,
        stored.lease_owner,
        stored.lease_until,
    )
    assert not claim.forced


async def test_the_oldest_come_first_and_no_more_than_asked_for(store: Store) -> None:
    """A batch is the longest overdue sites, in order."""
    sites = await enroll_in_turn(store, *(f"https://s{number}.example/" for number in range(5)))

    assert [site.id for site in sites[:2]] == [claim.site.id for claim in await store.claim_due(2)]
    assert [site.id for site in sites[2:]] == [claim.site.id for claim in await store.claim_due(100)]
    assert await store.claim_due(100) == []
    assert await store.claim_due(0) == []


async def test_what_is_not_due_paused_or_disabled_is_left_alone(store: Store) -> None:
    """Only active sites whose time has come are claimed; the slack brings the near future in."""
    future = await store.run(
        await store.enroll("https://future.example/"), next_crawl_at=START + timedelta(seconds=300)
    )
    paused = await store.enroll("https://paused.example/")
    await store.sites.update(paused.id, status=SiteStatus.PAUSED)
    disabled = await store.run(
        await store.enroll("https://off.example/"), status=SiteStatus.DISABLED, next_crawl_at=START
    )

    assert SiteStatus.DISABLED is disabled.status
    assert await store.claim_due() == []
    assert await store.claim_due(slack_seconds=299) == []
    assert [future.id] == [claim.site.id for claim in await store.claim_due(slack_seconds=300)]


async def test_a_leased_site_is_claimed_again_only_when_the_lease_has_run_out(store: Store) -> None:
    """At the very end of the lease the site is free; the new claim has the next generation."""
    await store.enroll()
    await store.claim_due(lease_seconds=60)

    store.advance(seconds=59)
    assert await store.claim_due() == []
    store.advance(seconds=1)
    (again,) = await store.claim_due(owner="worker-2")
    assert (again.generation, again.site.attempts, again.lease_owner) == (2, 2, "worker-2")


async def test_one_host_gets_its_share_of_a_batch(store: Store) -> None:
    """Many sites of one host do not push the others out, however old they are."""
    crowd = await enroll_in_turn(store, *(f"https://crowd.example/{number:02}" for number in range(30)))
    alone = await enroll_in_turn(store, "https://alone.example/", "https://other.example/")

    first = await store.claim_due(10, per_host=1)
    assert [crowd[0].id, alone[0].id, alone[1].id] == [claim.site.id for claim in first]
    second = await store.claim_due(10, per_host=4)
    assert [site.id for site in crowd[1:5]] == [claim.site.id for claim in second]


async def test_a_crowd_larger_than_any_window_starves_nobody(store: Store) -> None:
    """Four hundred older sites of one host, and a batch still reaches everybody else."""
    for number in range(400):
        await store.enroll(f"https://crowd.example/{number:03}")
    store.advance(hours=1)
    for number in range(5):
        await store.enroll(f"https://s{number}.example/")

    hosts = [claim.site.base_url.split("/")[2] for claim in await store.claim_due(6, per_host=1)]
    assert ["crowd.example", *(f"s{number}.example" for number in range(5))] == sorted(hosts)


async def test_parallel_claims_are_disjoint(store: Store) -> None:
    """Eight claimers at once never hold the same site, and together they get all of them."""
    sites = [await store.enroll(f"https://s{number:02}.example/") for number in range(40)]

    async def all_of_one(owner: str) -> list[Claim]:
        taken: list[Claim] = []
        empty = 0
        while empty < 3:
            batch = await store.claim_due(3, owner=owner)
            taken += batch
            empty += not batch
        return taken

    claimed = [
        claim.site.id for taken in await asyncio.gather(*(all_of_one(f"w{n}") for n in range(8))) for claim in taken
    ]
    assert sorted(site.id for site in sites) == sorted(claimed)


async def test_a_named_site_can_be_claimed_before_its_time_but_not_twice(store: Store) -> None:
    """`claim_site` does not ask for the schedule, only whether somebody holds the lease."""
    site = await store.run(await store.enroll())
    claim = await store.claim(site)

    assert not claim.forced
    assert await store.sites.claim_site(site.id, lease_seconds=60, owner="worker-1") is None
    assert await store.sites.claim_site(site.id, lease_seconds=60, owner="worker-2") is None
    store.advance(seconds=60)
    assert (await store.claim(site, owner="worker-2")).generation == claim.generation + 1


async def test_a_forced_claim_stays_forced_for_whoever_has_to_do_it_over(store: Store) -> None:
    """A person's wish is in the row: when the worker dies, the next tick finds it due and forced."""
    site = await store.run(await store.enroll())
    assert (await store.claim(site, force=True, lease_seconds=60)).forced

    store.advance(seconds=61)
    (again,) = await store.claim_due()
    assert again.forced
    done = await store.sites.commit_run(again, commit(next_crawl_at=store.now + timedelta(days=1)))
    assert (None, store.now + timedelta(days=1)) == (done.requested_at, done.next_crawl_at)


async def test_three_claims_without_a_commit_are_quarantine(store: Store) -> None:
    """The fourth claim does not hand out what killed three workers: disabled, the reason said, the attempts kept."""
    poison = await store.enroll("https://poison.example/")
    for _ in range(3):
        assert [poison.id] == [claim.site.id for claim in await store.claim_due(lease_seconds=60)]
        store.advance(seconds=61)
    healthy = await store.enroll("https://healthy.example/")

    assert [healthy.id] == [claim.site.id for claim in await store.claim_due()]
    row = await store.sites.get(poison.id)
    assert (
        row.status,
        row.attempts,
        row.lease_owner,
        row.last_outcome,
    ) == (SiteStatus.DISABLED, 3, None, Outcome.FAILED)
    assert "quarantine" in (row.last_error or "")
    (line,) = await store.sites.runs(poison.id)
    assert (line.outcome, line.generation) == (Outcome.FAILED, 3)
    assert await store.sites.claim_site(poison.id, lease_seconds=60, owner="worker-1") is None
    assert len(await store.sites.runs(poison.id)) == 1


async def test_quarantine_holds_for_claims_by_name_too(store: Store) -> None:
    """A queue that delivers the same message again and again does not get past the third attempt either."""
    site = await store.enroll()
    for _ in range(3):
        await store.claim(site, lease_seconds=60)
        store.advance(seconds=61)

    assert await store.sites.claim_site(site.id, lease_seconds=60, owner="worker-1") is None
    assert SiteStatus.DISABLED is (await store.sites.get(site.id)).status


@pytest.mark.parametrize("revive", ["request", "activate", "enroll"])
async def test_a_quarantined_site_is_revived_on_request(store: Store, revive: str) -> None:
    """A webhook, a person or a new enrolment gives it three fresh attempts, due now."""
    site = await store.enroll()
    for _ in range(4):
        await store.claim_due(lease_seconds=60)
        store.advance(seconds=61)
    assert SiteStatus.DISABLED is (await store.sites.get(site.id)).status

    if revive == "request":
        await store.sites.request_recrawl(site.id)
    elif revive == "activate":
        await store.sites.update(site.id, status=SiteStatus.ACTIVE)
    else:
        await store.enroll()
    (claim,) = await store.claim_due()
    assert (claim.site.status, claim.site.attempts, claim.site.last_error) == (SiteStatus.ACTIVE, 1, None)


async def test_renewing_extends_the_lease_of_its_owner_alone(store: Store) -> None:
    """The owner's lease counts from now; a lost one cannot be renewed."""
    site = await store.enroll()
    claim = await store.claim(site, lease_seconds=60)
    store.advance(seconds=50)
    renewed = await store.sites.renew_lease(claim, lease_seconds=60)

    assert START + timedelta(seconds=110) == renewed.lease_until == (await store.sites.get(site.id)).lease_until
    assert (claim.generation, claim.claimed_at, claim.forced) == (
        renewed.generation,
        renewed.claimed_at,
        renewed.forced,
    )
    store.advance(seconds=61)
    await store.claim(site, owner="worker-2")
    with pytest.raises(StaleClaim):
        await store.sites.renew_lease(renewed, lease_seconds=60)


async def test_renewing_after_a_request_does_not_pretend_that_the_claim_was_forced(store: Store) -> None:
    """A request that came after the claim belongs to the next run."""
    site = await store.enroll()
    claim = await store.claim(site)
    await store.sites.request_recrawl(site.id)

    assert not (await store.sites.renew_lease(claim, lease_seconds=60)).forced


async def test_an_expired_lease_that_nobody_took_can_be_renewed(store: Store) -> None:
    """The fence is generation and owner: being late is no harm while nobody else has begun."""
    claim = await store.claim(await store.enroll(), lease_seconds=60)
    store.advance(seconds=600)

    assert store.now + timedelta(seconds=60) == (await store.sites.renew_lease(claim, lease_seconds=60)).lease_until


async def test_a_released_site_is_due_as_before_and_the_attempt_is_not_counted(store: Store) -> None:
    """A worker that ran out of time gives back what it did not begin, as often as it likes."""
    site = await store.enroll()
    for _ in range(5):
        (claim,) = await store.claim_due()
        await store.sites.release(claim)

    row = await store.sites.get(site.id)
    assert (
        row.attempts,
        row.lease_owner,
        row.lease_until,
        row.next_crawl_at,
        row.status,
    ) == (0, None, None, START, SiteStatus.ACTIVE)


async def test_releasing_a_stale_claim_is_ignored(store: Store) -> None:
    """The lease of the one who took over stays, and a deleted row is no error."""
    site = await store.enroll()
    old = await store.claim(site, lease_seconds=60)
    store.advance(seconds=61)
    new = await store.claim(site, owner="worker-2")
    await store.sites.release(old)

    assert ("worker-2", new.generation) == ((await store.sites.get(site.id)).lease_owner, new.generation)
    await store.sites.delete(site.id)
    await store.sites.release(new)


@pytest.mark.parametrize(("owner", "lease_seconds"), [("worker-1", 0), ("worker-1", -5), ("", 60)])
async def test_a_lease_without_end_or_owner_is_refused(store: Store, owner: str, lease_seconds: int) -> None:
    """No time left means no claim, never a lease that cannot expire (powertools#4759)."""
    site = await store.enroll()
    with pytest.raises(InputError):
        await store.claim_due(owner=owner, lease_seconds=lease_seconds)
    with pytest.raises(InputError):
        await store.sites.claim_site(site.id, owner=owner, lease_seconds=lease_seconds)

    assert (await store.sites.get(site.id)).generation == 0


async def test_the_summary_counts_what_waits(store: Store) -> None:
    """Due is what a claim would get now, overdue what should have been taken `slack` ago; leased sites do not wait."""
    first, second, third = await enroll_in_turn(store, *(f"https://s{number}.example/" for number in range(3)))
    await store.run(await store.enroll("https://later.example/"))
    store.advance(minutes=7)

    summary = await store.sites.due_summary(slack_seconds=9 * 60)
    assert (3, 1, first.next_crawl_at) == (summary.due, summary.overdue, summary.oldest_due_at)
    await store.claim_due(2)
    left = await store.sites.due_summary()
    assert (1, 1, third.next_crawl_at) == (left.due, left.overdue, left.oldest_due_at)
    await store.claim(third)
    assert (
        (none := await store.sites.due_summary()).due,
        none.overdue,
        none.oldest_due_at,
    ) == (0, 0, None)
    assert second.next_crawl_at is not None


@pytest.mark.parametrize(("due", "exhausted", "stuck"), [(10, 10, True), (10, 8, True), (10, 7, False), (9, 9, False)])
async def test_workers_that_do_not_work_quarantine_nobody(store: Store, due: int, exhausted: int, stuck: bool) -> None:
    """Where nearly all due sites were claimed three times for nothing, the claims go on, until somebody mends the workers."""
    await enroll_in_turn(store, *(f"https://dead{number}.example/" for number in range(exhausted)))
    for _ in range(3):
        assert len(await store.claim_due(lease_seconds=60)) == exhausted
        store.advance(seconds=61)
    await enroll_in_turn(store, *(f"https://new{number}.example/" for number in range(due - exhausted)))

    assert len(await store.claim_due(lease_seconds=60)) == (due if stuck else due - exhausted)
    disabled = [site for site in await store.sites.list_sites() if site.status is SiteStatus.DISABLED]
    assert len(disabled) == (0 if stuck else exhausted)
