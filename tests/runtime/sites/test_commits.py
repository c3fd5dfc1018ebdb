"""The contract of both stores: what a finished run writes, and who may write it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from runtime.errors import StaleClaim
from runtime.models import Outcome, Run, SiteStatus
from tests.runtime.sites.store import START, Store, commit

DAY = timedelta(days=1)


async def test_a_commit_writes_the_row_and_the_line_and_frees_the_lease(store: Store) -> None:
    """All that a run learned is in the row, and the same numbers are in `crawl_runs`."""
    site = await store.enroll()
    claim = await store.claim(site)
    now = store.advance(seconds=42)
    done = commit(
        Outcome.UPDATED,
        run_id="0199-run",
        reason="3 pages changed",
        next_crawl_at=now + DAY,
        crawled=True,
        changed=True,
        latest_llms_hash="c" * 64,
        latest_llms_url="https://pub.example/docs.example.com/llms.txt",
        sentinel_url="https://docs.example.com/sitemap.xml",
        sentinel_last_modified=START - DAY,
        avg_change_interval_minutes=123.5,
        counts={"pages": 12, "requests": 15},
        duration_ms=41_900,
    )
    row = await store.sites.commit_run(claim, done)

    assert row == await store.sites.get(site.id)
    assert (now + DAY, now, now, now) == (
        row.next_crawl_at,
        row.last_checked_at,
        row.last_crawled_at,
        row.last_changed_at,
    )
    assert (done.latest_llms_hash, done.latest_llms_url) == (row.latest_llms_hash, row.latest_llms_url)
    assert (done.sentinel_url, START - DAY, 123.5) == (
        row.sentinel_url,
        row.sentinel_last_modified,
        row.avg_change_interval_minutes,
    )
    assert (
        row.last_outcome,
        row.last_error,
        row.failure_count,
        row.lease_owner,
        row.lease_until,
        row.attempts,
        row.generation,
    ) == (Outcome.UPDATED, None, 0, None, None, 0, 1)
    (line,) = await store.sites.runs(site.id)
    assert ("0199-run", site.id, "tick-1", 1, Outcome.UPDATED, "3 pages changed", None) == (
        line.id,
        line.site_id,
        line.tick_id,
        line.generation,
        line.outcome,
        line.reason,
        line.error,
    )
    assert ({"pages": 12, "requests": 15}, "c" * 64, START, now, 41_900) == (
        line.counts,
        line.llms_hash,
        line.started_at,
        line.finished_at,
        line.duration_ms,
    )


async def test_a_skipped_crawl_moves_only_the_time_of_the_check(store: Store) -> None:
    """`last_crawled_at` and `last_changed_at` say when a site was crawled and changed, not when it was looked at."""
    site = await store.run(
        await store.enroll(), crawled=True, changed=True, latest_llms_hash="d" * 64, latest_llms_url="https://f/"
    )
    store.advance(hours=5)
    row = await store.run(site, Outcome.UNCHANGED_SITEMAP)

    assert (START, START, store.now) == (row.last_crawled_at, row.last_changed_at, row.last_checked_at)
    assert (
        row.latest_llms_hash,
        row.latest_llms_url,
        row.last_outcome,
    ) == ("d" * 64, "https://f/", Outcome.UNCHANGED_SITEMAP)


async def test_an_error_is_written_as_given_and_cleared_by_the_next_success(store: Store) -> None:
    """`last_error` is this run's; failures are counted by the caller and stored."""
    site = await store.enroll()
    failed = await store.run(site, Outcome.FAILED, error="dns_failure: no such host", failure_count=3)
    assert (failed.last_error, failed.failure_count) == ("dns_failure: no such host", 3)
    assert (await store.sites.runs(site.id))[0].error == "dns_failure: no such host"

    fine = await store.run(failed)
    assert (fine.last_error, fine.failure_count) == (None, 0)


async def test_a_commit_without_a_plan_leaves_the_site_due(store: Store) -> None:
    """A deferred site keeps its place in the queue, its history and the request that asked for it."""
    site = await store.enroll()
    await store.sites.request_recrawl(site.id)
    (claim,) = await store.claim_due()
    row = await store.sites.commit_run(claim, commit(Outcome.DEFERRED, next_crawl_at=None))

    assert (row.next_crawl_at, row.last_outcome, row.attempts) == (START, Outcome.DEFERRED, 0)
    (again,) = await store.claim_due()
    assert again.forced


async def test_a_commit_can_disable_a_site(store: Store) -> None:
    """The scheduler's decision to give up is in the same write as the failure."""
    row = await store.run(await store.enroll(), Outcome.FAILED, status=SiteStatus.DISABLED, error="gone for a week")

    assert (row.status, row.last_error) == (SiteStatus.DISABLED, "gone for a week")
    assert await store.claim_due(slack_seconds=10**8) == []


async def test_a_pause_during_the_run_survives_it(store: Store) -> None:
    """What the owner decided meanwhile wins over what the run decided."""
    site = await store.enroll()
    claim = await store.claim(site)
    await store.sites.update(site.id, status=SiteStatus.PAUSED)

    assert SiteStatus.PAUSED is (await store.sites.commit_run(claim, commit(status=SiteStatus.DISABLED))).status


async def test_a_stale_commit_writes_nothing(store: Store) -> None:
    """A worker that slept past its lease meets the next generation, and neither row nor history hears of it."""
    site = await store.enroll()
    sleeper = await store.claim(site, lease_seconds=60)
    store.advance(seconds=61)
    current = await store.claim(site, owner="worker-2")
    before = await store.sites.get(site.id)
    with pytest.raises(StaleClaim):
        await store.sites.commit_run(sleeper, commit(latest_llms_hash="e" * 64, next_crawl_at=START + 9 * DAY))

    assert (before, []) == (await store.sites.get(site.id), await store.sites.runs(site.id))
    await store.sites.commit_run(current, commit(run_id="run-2"))
    with pytest.raises(StaleClaim):
        await store.sites.commit_run(sleeper, commit(run_id="run-3"))
    assert [line.id for line in await store.sites.runs(site.id)] == ["run-2"]


async def test_the_fence_is_the_owner_as_well_as_the_generation(store: Store) -> None:
    """A claim that was made up, or belongs to another worker, does not write."""
    from dataclasses import replace

    claim = await store.claim(await store.enroll())
    for forged in (replace(claim, lease_owner="worker-2"), replace(claim, generation=2), replace(claim, generation=0)):
        with pytest.raises(StaleClaim):
            await store.sites.commit_run(forged, commit())


async def test_an_expired_lease_that_nobody_took_still_commits(store: Store) -> None:
    """The work is done and nobody else has begun: to throw it away would help nobody."""
    claim = await store.claim(await store.enroll(), lease_seconds=60)
    store.advance(hours=1)

    assert Outcome.UPDATED is (await store.sites.commit_run(claim, commit())).last_outcome


async def test_a_commit_whose_answer_was_lost_can_be_sent_again(store: Store) -> None:
    """The same run is answered as before and leaves one line; another run of that claim is stale."""
    claim = await store.claim(await store.enroll())
    first = await store.sites.commit_run(claim, commit(run_id="run-1", next_crawl_at=START + DAY))
    again = await store.sites.commit_run(claim, commit(run_id="run-1", next_crawl_at=START + DAY))

    assert first == again
    assert len(await store.sites.runs(claim.site.id)) == 1
    with pytest.raises(StaleClaim):
        await store.sites.commit_run(claim, commit(run_id="run-other"))


async def test_parallel_commits_of_one_claim_leave_one_line(store: Store) -> None:
    """One generation, one line, whoever else says so at the same time."""
    claim = await store.claim(await store.enroll())
    answers = await asyncio.gather(
        *(store.sites.commit_run(claim, commit(run_id=f"run-{number}")) for number in range(8)), return_exceptions=True
    )

    assert sum(isinstance(answer, StaleClaim) for answer in answers) == 7
    assert len(await store.sites.runs(claim.site.id)) == 1


async def test_a_row_deleted_during_the_run_makes_the_claim_stale(store: Store) -> None:
    """The worker learns that its site is gone; nothing comes back to life."""
    claim = await store.claim(await store.enroll())
    await store.sites.delete(claim.site.id)
    with pytest.raises(StaleClaim):
        await store.sites.commit_run(claim, commit())
    with pytest.raises(StaleClaim):
        await store.sites.renew_lease(claim, lease_seconds=60)

    assert await store.sites.list_sites() == []


async def test_runs_page_backwards_in_time(store: Store) -> None:
    """Newest first; `before` is the end of the last line seen, and no two lines of a site end at once."""
    site = await store.enroll()
    for number in range(7):
        await store.run(site, run_id=f"run-{number}")
    seen: list[Run] = []
    while page := await store.sites.runs(site.id, limit=3, before=seen[-1].finished_at if seen else None):
        seen += page

    assert [f"run-{number}" for number in reversed(range(7))] == [line.id for line in seen]
    assert await store.sites.runs(site.id, limit=0) == []


async def test_a_tick_adds_up_from_its_lines(store: Store) -> None:
    """Each run of the tick once, with its outcome and whether the site was crawled; other ticks stay out."""
    made = (
        ("https://a.example/", Outcome.UPDATED, True),
        ("https://b.example/", Outcome.UNCHANGED_SITEMAP, False),
        ("https://c.example/", Outcome.FAILED, True),
    )
    for url, outcome, crawled in made:
        await store.run(await store.enroll(url), outcome, crawled=crawled)
        store.advance(seconds=1)
    await store.run(await store.enroll("https://d.example/"), tick_id="tick-2")
    await store.run(await store.enroll("https://e.example/"), tick_id=None)

    assert [(outcome, crawled) for _, outcome, crawled in made] == await store.sites.tick_outcomes("tick-1")
    assert await store.sites.tick_outcomes("tick-none") == []


async def test_the_schedules_memory_is_in_the_row(store: Store) -> None:
    """A handful of numbers travels with the row; a commit without them leaves them as they are."""
    site = await store.enroll()
    first = await store.sites.commit_run(await store.claim(site), commit(schedule={"rate": 0.25, "slot": 12.0}))
    second = await store.sites.commit_run(await store.claim(first), commit(schedule=None, run_id="0199-second"))

    assert dict(first.schedule) == dict(second.schedule) == {"rate": 0.25, "slot": 12.0}


async def test_a_site_without_a_success_for_long_is_stale(store: Store) -> None:
    """An active site that only fails counts as stale after two of its intervals and a day (2 * 7 + 1 days)."""
    site = await store.enroll()
    failing = commit(Outcome.FAILED, run_id="0199-failed", failure_count=1, next_crawl_at=START + DAY)
    store.advance(seconds=14 * 86_400)
    await store.sites.commit_run(await store.claim(site), failing)
    fresh = (await store.sites.due_summary()).stale
    store.advance(seconds=2 * 86_400)

    assert (fresh, (await store.sites.due_summary()).stale) == (0, 1)


async def test_a_rollback_s_mark_is_as_the_last_commit_gave_it(store: Store) -> None:
    """It is written with the run and goes with the run that does not carry it on; a dead worker leaves it alone."""
    site = await store.enroll()
    await store.sites.commit_run(await store.claim(site), commit(Outcome.UPDATED, changed=True, pinned_over="d" * 64))
    store.advance(days=1)
    marked = await store.claim(site)
    assert marked.site.pinned_over == "d" * 64

    store.advance(days=1)
    after_death = await store.claim(site)
    assert after_death.site.pinned_over == "d" * 64
    assert (await store.sites.commit_run(after_death, commit(Outcome.UNCHANGED_CONTENT))).pinned_over is None


async def test_what_a_person_confirmed_stays_until_a_file_is_published(store: Store) -> None:
    """A run that was under way when the person spoke does not forget it; the next published file uses it up."""
    site = await store.enroll()
    under_way = await store.claim(site)
    word = {"concern": "collapse", "fingerprint": "f" * 64, "entries": 3}
    row = await store.sites.update(site.id, confirmed=word)
    assert (row.confirmed, row.lease_owner) == (word, under_way.lease_owner)

    assert (await store.sites.commit_run(under_way, commit(Outcome.HELD))).confirmed == word
    again = await store.claim(site)
    assert again.site.confirmed == word
    assert (await store.sites.commit_run(again, commit(Outcome.UPDATED, changed=True))).confirmed is None
