"""The contract of both stores: changes announced by webhook, their debounce, and replayed messages."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta

import pytest

from runtime.errors import NotFound
from runtime.models import Outcome, Site, SiteStatus
from tests.runtime.sites.store import START, Store, commit

WEEK = timedelta(days=7)


async def crawled(store: Store, url: str = "https://docs.example.com/") -> Site:
    """A site that was crawled and has nothing to do for a week."""
    return await store.run(await store.enroll(url), next_crawl_at=store.now + WEEK)


async def test_a_request_makes_a_site_due_now_and_its_run_a_forced_one(store: Store) -> None:
    """The answer says when; the claim says that the sitemap is not to be asked."""
    site = await crawled(store)
    now = store.advance(hours=1)
    answer = await store.sites.request_recrawl(site.id)

    assert (site.id, now, True) == (answer.site_id, answer.next_crawl_at, answer.accepted)
    assert now == (await store.sites.get(site.id)).requested_at
    (claim,) = await store.claim_due()
    assert claim.forced
    done = await store.sites.commit_run(claim, commit(next_crawl_at=now + WEEK))
    assert (None, now + WEEK) == (done.requested_at, done.next_crawl_at)


async def test_a_request_never_delays_a_site(store: Store) -> None:
    """A site that is overdue already stays so."""
    site = await store.enroll()
    store.advance(hours=1)

    assert (await store.sites.request_recrawl(site.id)).next_crawl_at == START


async def test_a_request_during_the_run_survives_its_commit(store: Store) -> None:
    """The change may have come after the page was read: a second, forced run follows, at once."""
    site = await crawled(store)
    claim = await store.claim(site)
    now = store.advance(seconds=30)
    await store.sites.request_recrawl(site.id)
    store.advance(seconds=30)
    row = await store.sites.commit_run(claim, commit(next_crawl_at=store.now + WEEK))

    assert (now, now) == (row.requested_at, row.next_crawl_at)
    (again,) = await store.claim_due()
    assert again.forced
    done = await store.sites.commit_run(again, commit(next_crawl_at=store.now + WEEK))
    assert (None, store.now + WEEK) == (done.requested_at, done.next_crawl_at)


async def test_a_request_in_the_very_moment_of_the_claim_is_not_lost(store: Store) -> None:
    """Claims and requests are ordered by the row, not by a clock that may not have moved between them."""
    site = await crawled(store)
    claim = await store.claim(site)
    await store.sites.request_recrawl(site.id)
    row = await store.sites.commit_run(claim, commit(next_crawl_at=START + WEEK))

    assert (row.requested_at, row.next_crawl_at) == (START, START)


async def test_a_burst_is_one_run_now_and_one_after_the_debounce(store: Store) -> None:
    """A thousand calls: the first is accepted, those during its run share the next slot, and that is all."""
    site = await crawled(store)
    first = await store.sites.request_recrawl(site.id, debounce_seconds=300)
    (claim,) = await store.claim_due()
    later = [await store.sites.request_recrawl(site.id, debounce_seconds=300) for _ in range(50)]
    slot = START + timedelta(seconds=300)

    assert first.accepted
    assert {False} == {answer.accepted for answer in later}
    row = await store.sites.commit_run(claim, commit(next_crawl_at=START + WEEK))
    assert slot == row.next_crawl_at
    store.advance(seconds=299)
    assert await store.claim_due() == []
    store.advance(seconds=1)
    (again,) = await store.claim_due()
    done = await store.sites.commit_run(again, commit(run_id="run-2", next_crawl_at=START + WEEK))
    assert (done.requested_at, done.next_crawl_at) == (None, START + WEEK)


async def test_the_shared_slot_is_a_run_of_its_own_for_the_debounce(store: Store) -> None:
    """Right after the deferred run, the next call waits as well: one run in 300 s, whatever the pattern of calls."""
    site = await crawled(store)
    await store.sites.request_recrawl(site.id)
    await store.run(site, next_crawl_at=START + WEEK)
    await store.sites.request_recrawl(site.id)
    store.advance(seconds=300)
    (claim,) = await store.claim_due()
    await store.sites.commit_run(claim, commit(run_id="run-x", next_crawl_at=START + WEEK))
    store.advance(seconds=10)
    answer = await store.sites.request_recrawl(site.id)

    assert (False, START + timedelta(seconds=600)) == (answer.accepted, answer.next_crawl_at)
    assert await store.claim_due() == []


async def test_a_call_within_the_debounce_of_a_finished_run_waits_for_its_end(store: Store) -> None:
    """The site is due when the debounce of the last accepted request ends, not later and not lost."""
    site = await crawled(store)
    await store.sites.request_recrawl(site.id)
    await store.run(site, next_crawl_at=START + WEEK)
    store.advance(seconds=60)
    answer = await store.sites.request_recrawl(site.id)

    assert (False, START + timedelta(seconds=300)) == (answer.accepted, answer.next_crawl_at)
    store.advance(seconds=240)
    (claim,) = await store.claim_due()
    assert claim.forced


async def test_a_call_while_the_first_still_waits_joins_it(store: Store) -> None:
    """The run that has not begun will see this change too: no second one is planned."""
    site = await crawled(store)
    await store.sites.request_recrawl(site.id)
    store.advance(seconds=20)
    answer = await store.sites.request_recrawl(site.id)

    assert (answer.accepted, answer.next_crawl_at) == (False, START)
    (claim,) = await store.claim_due()
    row = await store.sites.commit_run(claim, commit(next_crawl_at=store.now + WEEK))
    assert (None, store.now + WEEK) == (row.requested_at, row.next_crawl_at)


async def test_a_tick_does_not_take_a_slot_early(store: Store) -> None:
    """The slack of a tick is for planned times: the slot of a request keeps two crawls 300 s apart."""
    site = await crawled(store)
    await store.sites.request_recrawl(site.id)
    await store.run(site, next_crawl_at=START + WEEK)
    store.advance(seconds=10)
    await store.sites.request_recrawl(site.id)

    assert await store.claim_due(slack_seconds=300) == []
    store.advance(seconds=290)
    assert len(await store.claim_due(slack_seconds=300)) == 1


async def test_after_the_debounce_a_request_is_accepted_again(store: Store) -> None:
    """Exactly at its end; and a debounce of zero accepts every call."""
    site = await crawled(store)
    assert (await store.sites.request_recrawl(site.id, debounce_seconds=300)).accepted
    await store.run(site)
    store.advance(seconds=300)
    assert (await store.sites.request_recrawl(site.id, debounce_seconds=300)).accepted
    assert (await store.sites.request_recrawl(site.id, debounce_seconds=0)).accepted


async def test_a_failed_run_keeps_the_wish_and_its_own_back_off(store: Store) -> None:
    """The announced change has still not been seen: the retry is forced, and comes when the scheduler says."""
    site = await crawled(store)
    await store.sites.request_recrawl(site.id)
    retry = START + timedelta(minutes=15)
    row = await store.run(site, Outcome.FAILED, next_crawl_at=retry, failure_count=1, error="timeout")

    assert retry == row.next_crawl_at
    store.advance(minutes=15)
    (claim,) = await store.claim_due()
    assert claim.forced


async def test_a_site_that_keeps_failing_is_not_retried_by_each_call(store: Store) -> None:
    """A call shortens the back-off to a quarter of an hour after the failure, and no further."""
    site = await crawled(store)
    await store.run(site, Outcome.FAILED, next_crawl_at=START + timedelta(hours=1), failure_count=1)
    store.advance(seconds=5)
    earliest = START + timedelta(seconds=900)
    answer = await store.sites.request_recrawl(site.id)
    joined = await store.sites.request_recrawl(site.id)

    assert (False, earliest, earliest) == (answer.accepted, answer.next_crawl_at, answer.run_at)
    assert (False, earliest, None) == (joined.accepted, joined.next_crawl_at, joined.run_at)
    store.advance(seconds=894)
    assert await store.claim_due() == []
    store.advance(seconds=1)
    (claim,) = await store.claim_due()
    assert claim.forced


async def test_a_back_off_that_ends_sooner_is_not_lengthened(store: Store) -> None:
    """The planned retry comes first; and after a quarter of an hour a call is accepted at once."""
    site = await crawled(store)
    retry = START + timedelta(seconds=60)
    await store.run(site, Outcome.FAILED, next_crawl_at=retry, failure_count=1)

    assert retry == (await store.sites.request_recrawl(site.id)).next_crawl_at
    other = await crawled(store, "https://other.example/")
    await store.run(other, Outcome.FAILED, next_crawl_at=START + WEEK, failure_count=3)
    now = store.advance(seconds=900)
    answer = await store.sites.request_recrawl(other.id)
    assert (True, now) == (answer.accepted, answer.next_crawl_at)


async def test_a_persons_call_waits_for_nothing(store: Store) -> None:
    """A debounce of zero is accepted in a back-off, and while a later slot is granted already."""
    site = await crawled(store)
    await store.run(site, Outcome.FAILED, next_crawl_at=START + WEEK, failure_count=1)
    await store.sites.request_recrawl(site.id)
    answer = await store.sites.request_recrawl(site.id, debounce_seconds=0)

    assert (answer.accepted, answer.next_crawl_at, answer.run_at) == (True, START, START)


async def test_a_deferred_slot_is_granted_to_one_call(store: Store) -> None:
    """The call that opens the slot learns when its run begins, those that share it that they joined."""
    site = await crawled(store)
    await store.sites.request_recrawl(site.id)
    await store.claim_due()
    answers = [await store.sites.request_recrawl(site.id) for _ in range(3)]

    assert [answer.run_at for answer in answers] == [START + timedelta(seconds=300), None, None]
    assert not any(answer.accepted for answer in answers)


async def test_a_killed_run_of_a_request_is_done_over_without_another_slot(store: Store) -> None:
    """A call after the lease has run out joins the run that will replace the dead one."""
    site = await crawled(store)
    await store.sites.request_recrawl(site.id)
    await store.claim_due(lease_seconds=60)
    store.advance(seconds=61)
    answer = await store.sites.request_recrawl(site.id)

    assert (answer.accepted, answer.next_crawl_at) == (False, START)
    (again,) = await store.claim_due()
    assert again.forced


async def test_a_released_claim_gives_the_wish_back(store: Store) -> None:
    """Nothing was read: the request is as unserved as before."""
    site = await crawled(store)
    await store.sites.request_recrawl(site.id)
    (claim,) = await store.claim_due()
    await store.sites.release(claim)
    store.advance(seconds=5)

    assert (await store.sites.request_recrawl(site.id)).next_crawl_at == START
    (again,) = await store.claim_due()
    assert again.forced


async def test_one_valid_webhook_revives_a_disabled_site(store: Store) -> None:
    """Failures are forgotten and the site is due; the scheduler may start counting again."""
    site = await store.run(
        await store.enroll(), Outcome.FAILED, status=SiteStatus.DISABLED, failure_count=10, error="down"
    )
    answer = await store.sites.request_recrawl(site.id)
    row = await store.sites.get(site.id)

    assert (answer.accepted, answer.next_crawl_at) == (True, START)
    assert (row.status, row.failure_count, row.last_error) == (SiteStatus.ACTIVE, 0, None)


async def test_a_webhook_during_the_last_failing_run_keeps_the_site_alive(store: Store) -> None:
    """The run wants to give up, but the owner has just said that something changed."""
    site = await crawled(store)
    claim = await store.claim(site)
    await store.sites.request_recrawl(site.id)
    row = await store.sites.commit_run(
        claim, commit(Outcome.FAILED, status=SiteStatus.DISABLED, failure_count=10, next_crawl_at=START + WEEK)
    )

    assert (row.status, row.next_crawl_at) == (SiteStatus.ACTIVE, START)


async def test_a_paused_site_remembers_the_wish_and_stays_paused(store: Store) -> None:
    """The owner's pause is stronger than the owner's CI; on resuming, the wish is there."""
    site = await crawled(store)
    await store.sites.update(site.id, status=SiteStatus.PAUSED)
    answer = await store.sites.request_recrawl(site.id)

    assert not answer.accepted
    assert await store.claim_due() == []
    await store.sites.update(site.id, status=SiteStatus.ACTIVE)
    (claim,) = await store.claim_due()
    assert claim.forced


async def test_parallel_requests_are_accepted_once(store: Store) -> None:
    """Of twenty at once, one starts a run."""
    site = await crawled(store)
    answers = await asyncio.gather(*(store.sites.request_recrawl(site.id) for _ in range(20)))

    assert sum(answer.accepted for answer in answers) == 1


async def test_a_message_is_new_once_within_its_time(store: Store) -> None:
    """The second delivery of an id is a replay; of another site, or after the TTL, it is not."""
    site, other = await store.enroll(), await store.enroll("https://other.example/")

    assert await store.sites.remember_webhook(site.id, "msg_1", ttl_seconds=900)
    assert not await store.sites.remember_webhook(site.id, "msg_1", ttl_seconds=900)
    assert await store.sites.remember_webhook(site.id, "msg_2", ttl_seconds=900)
    assert await store.sites.remember_webhook(other.id, "msg_1", ttl_seconds=900)
    store.advance(seconds=899)
    assert not await store.sites.remember_webhook(site.id, "msg_1", ttl_seconds=900)
    store.advance(seconds=1)
    assert await store.sites.remember_webhook(site.id, "msg_1", ttl_seconds=900)


@pytest.mark.parametrize("message_id", ["é" * 300, "'; DROP TABLE crawl_sites; --", "a b\n"])
async def test_a_message_id_is_only_a_text(store: Store, message_id: str) -> None:
    """Whatever a sender puts into the id is compared, not interpreted."""
    site = await store.enroll()

    assert await store.sites.remember_webhook(site.id, message_id)
    assert not await store.sites.remember_webhook(site.id, message_id)
    assert len(await store.sites.list_sites()) == 1


async def test_a_replayed_message_asks_for_nothing(store: Store) -> None:
    """The second delivery within its time leaves the row as it is; for another site, or later, the id is a new one."""
    site, other = await crawled(store), await crawled(store, "https://other.example/")
    first = await store.sites.request_recrawl(site.id, message_id="msg_1", replay_seconds=900)
    await store.run(site, next_crawl_at=START + WEEK)
    now = store.advance(seconds=899)
    before = await store.sites.get(site.id)
    again = await store.sites.request_recrawl(site.id, message_id="msg_1", replay_seconds=900)

    assert (first.accepted, first.replayed) == (True, False)
    assert (again.accepted, again.replayed, again.run_at) == (False, True, None)
    assert before == await store.sites.get(site.id)
    assert (await store.sites.request_recrawl(other.id, message_id="msg_1")).next_crawl_at == now
    now = store.advance(seconds=1)
    assert (await store.sites.request_recrawl(site.id, message_id="msg_1")).next_crawl_at == now


async def test_a_message_is_remembered_only_with_what_it_asks_for(store: Store) -> None:
    """A call that fails leaves no trace: the sender's next try, with the same id, is its first."""
    site = await crawled(store)
    with pytest.raises(NotFound):
        await store.sites.request_recrawl(str(uuid.uuid4()), message_id="msg_1")
    answers = await asyncio.gather(*(store.sites.request_recrawl(site.id, message_id="msg_1") for _ in range(12)))

    assert sum(answer.accepted for answer in answers) == 1
    assert sum(answer.replayed for answer in answers) == 11


async def test_one_of_many_parallel_deliveries_is_the_first(store: Store) -> None:
    """A sender that fires the same message at once from everywhere gets through once."""
    site = await store.enroll()
    answers = await asyncio.gather(*(store.sites.remember_webhook(site.id, "msg_1") for _ in range(12)))

    assert sum(answers) == 1
