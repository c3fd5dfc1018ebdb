"""The learned policy: what it believes of sites, signals and prices, and what it makes of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.models import Outcome
from runtime.scheduling import History, ScheduleSettings, decide
from runtime.scheduling.learned import longest_of
from runtime.scheduling.rate import Watched
from runtime.scheduling.signals import Knowledge
from runtime.scheduling.value import best_interval
from runtime.verdicts import Decision

START = datetime(2026, 1, 1, tzinfo=UTC)
WEEK = 10_080.0
LEARNED = ScheduleSettings(adaptive_policy="learned")
PRICED = ScheduleSettings(adaptive_policy="learned", price=1_500.0)
UPDATED, QUIET, SKIPPED = Outcome.UPDATED, Outcome.UNCHANGED_CONTENT, Outcome.UNCHANGED_SITEMAP


def seen(outcome: Outcome, **more: object) -> History:
    return History(interval_minutes=WEEK, outcome=outcome, adaptive=True, **more)  # type: ignore[arg-type]


def play(
    looks: list[tuple[float, History]], settings: ScheduleSettings = LEARNED, *, sitemap: bool = False
) -> tuple[Decision, float]:
    """Look at a site after each of the given minutes; the last decision, and the minutes until its next look."""
    now = START
    first = seen(UPDATED, sitemap_says_changed=True if sitemap else None)
    decision = decide(first, settings, now, spread=0)
    for minutes, history in looks:
        now += timedelta(minutes=minutes)
        decision = decide(replace(history, memory=decision.memory), settings, now, spread=0)
    return decision, (decision.next_crawl_at - now).total_seconds() / 60


minutes = st.floats(1, 60_000)
outcomes = st.sampled_from([UPDATED, QUIET])


@given(looks=st.lists(st.tuples(minutes, st.booleans(), st.booleans()), max_size=25))
def test_more_observed_change_never_lengthens_the_interval(looks: list[tuple[float, bool, bool]]) -> None:
    """Two histories with looks at the same times, one with changes wherever the other has them and some more."""
    fewer = [(gap, seen(UPDATED if one else QUIET)) for gap, one, _ in looks]
    more = [(gap, seen(UPDATED if one or two else QUIET)) for gap, one, two in looks]

    assert play(more)[1] <= play(fewer)[1] * (1 + 1e-6) + 0.01


@given(looks=st.lists(st.tuples(minutes, st.booleans(), st.booleans()), max_size=20))
def test_the_same_holds_where_the_sitemap_tells(looks: list[tuple[float, bool, bool]]) -> None:
    """With a sitemap that names every change and nothing else, the expected time between changes goes the same way; a
    full reading that is due may still bring a quiet site's next look forward."""

    def told(changed: bool) -> History:
        outcome = UPDATED if changed else SKIPPED
        return seen(outcome, sitemap_says_changed=changed, unlisted=False if changed else None)

    fewer = [(gap, told(one)) for gap, one, _ in looks]
    more = [(gap, told(one or two)) for gap, one, two in looks]

    one, other = (play(history, sitemap=True)[0].avg_change_interval_minutes for history in (more, fewer))
    assert one is not None
    assert other is not None
    assert one <= other * (1 + 1e-6)


@given(
    looks=st.lists(
        st.tuples(
            st.floats(-50_000, 100_000),
            st.sampled_from(Outcome),
            st.sampled_from([None, True, False]),
            st.booleans(),
            st.integers(0, 50),
        ),
        max_size=20,
    ),
    price=st.none() | st.floats(0.01, 1e7),
    interval=st.sampled_from([60.0, 360.0, WEEK, 43_200.0, 525_600.0]),
)
def test_bounds_hold_for_every_history(
    looks: list[tuple[float, Outcome, bool | None, bool, int]], price: float | None, interval: float
) -> None:
    """Any order of outcomes, signals and clock jumps: an hour at least, and at most the longest interval."""
    settings = ScheduleSettings(adaptive_policy="learned", price=price)
    now, memory = START, {}  # type: ignore[var-annotated]
    for gap, outcome, says, announced, pages in looks:
        now += timedelta(minutes=gap)
        history = History(
            interval_minutes=interval, outcome=outcome, adaptive=True, sitemap_says_changed=says, announced=announced,
            pages_changed=pages, memory=memory, last_checked_at=START,
        )  # fmt: skip
        decision = decide(history, settings, now, spread=0.5)
        wait = (decision.next_crawl_at - now).total_seconds() / 60
        if outcome in (UPDATED, QUIET, SKIPPED):
            assert 60 - 1e-6 <= wait <= longest_of(history) + 1e-6
        memory = dict(decision.memory)


@pytest.mark.parametrize("spoiled", [float("nan"), float("-inf"), -1.0, 1e300])
def test_a_spoiled_memory_is_harmless(spoiled: float) -> None:
    """Numbers that cannot be count as nothing known."""
    memory = dict.fromkeys(
        ["looked_at", "read_at", "seen_quiet", "seen_60", "asked", "wrong", "silent", "found"], spoiled
    )
    decision = decide(seen(QUIET, memory=memory), LEARNED, START, spread=0)

    assert timedelta(hours=1) <= decision.next_crawl_at - START <= timedelta(days=28)


def test_a_new_site_is_looked_at_after_the_owners_interval() -> None:
    """Nothing is known yet, and there is no sitemap to ask."""
    assert play([])[1] == pytest.approx(WEEK, rel=0.03)


def test_a_new_site_with_a_sitemap_is_looked_at_within_a_day() -> None:
    """One cheap look tells what the sitemap is worth."""
    assert play([], sitemap=True)[1] == 1_440


def test_a_quiet_site_is_looked_at_less_and_less() -> None:
    """Up to four of the owner's intervals."""
    waits = [play([(WEEK, seen(QUIET))] * count)[1] for count in range(14)]

    assert waits == sorted(waits)
    assert waits[-1] > 2 * WEEK


def test_a_lively_site_is_looked_at_more_and_more() -> None:
    """Changes at every look bring the next one closer."""
    waits = [play([(1_440.0, seen(UPDATED))] * count)[1] for count in range(1, 15)]

    assert waits == sorted(waits, reverse=True)
    assert waits[-1] < WEEK / 3


def test_a_sitemap_that_tells_the_truth_is_asked_often() -> None:
    """Looks that cost a fiftieth of a crawl come more often than crawls would; the crawls follow the changes."""
    honest = [(1_440.0, seen(SKIPPED, sitemap_says_changed=False))] * 6
    honest += [(1_440.0, seen(UPDATED, sitemap_says_changed=True, unlisted=False))]
    plain = [(1_440.0, seen(QUIET))] * 6 + [(1_440.0, seen(UPDATED))]

    assert play(honest * 2, sitemap=True)[1] < play(plain * 2)[1] / 2


def test_a_sitemap_that_cries_wolf_is_not_believed() -> None:
    """One that says "changed" at every look saves nothing, and is treated as none."""
    wolf = [(WEEK, seen(QUIET, sitemap_says_changed=True))] * 6
    decision, wait = play(wolf, sitemap=True)
    plain = play([(WEEK, seen(QUIET))] * 6)[1]

    assert Knowledge.of(decision.memory).alarm > 0.7
    assert wait == pytest.approx(plain, rel=0.15)


def test_a_frozen_sitemap_is_found_out() -> None:
    """Full readings that find changes it did not name make the next ones come as often as a change a week is worth."""
    quiet = [(WEEK, seen(SKIPPED, sitemap_says_changed=False))] * 4
    caught = [(WEEK, seen(UPDATED, sitemap_says_changed=False))] * 4
    trusting, wary = (play(looks, PRICED, sitemap=True)[0] for looks in (quiet, quiet + caught))

    assert wary.memory["crawls_a_day"] > 2 * trusting.memory["crawls_a_day"]
    weekly = best_interval(Watched(quiet=1e3 * WEEK, told=1e3).belief(WEEK), 1_500.0, 60, WEEK)
    assert wary.memory["crawls_a_day"] == pytest.approx(1_440 / weekly, rel=0.2)
    due = play([*quiet, *caught, (5_000.0, seen(SKIPPED, sitemap_says_changed=False))], PRICED, sitemap=True)[0]
    assert due.full
    assert due.memory["full"] == 1
    assert "reads the pages, whatever the sitemap says" in due.reason


def test_a_site_covered_by_webhooks_is_polled_rarely() -> None:
    """Changes that were announced say nothing about those that are not; looks that find nothing do."""
    covered = [(3_000.0, seen(UPDATED, announced=True)), (3_000.0, seen(QUIET))] * 8
    uncovered = [(3_000.0, seen(UPDATED)), (3_000.0, seen(QUIET))] * 8
    decision, wait = play(covered)

    assert wait > 3 * play(uncovered)[1]
    assert "its webhook announces 100% of its changes" in decision.reason


def test_webhooks_that_stop_are_noticed() -> None:
    """Changes found without a call bring the polling back."""
    covered = [(3_000.0, seen(UPDATED, announced=True)), (3_000.0, seen(QUIET))] * 4
    lost = [(3_000.0, seen(UPDATED))] * 4

    assert play(covered + lost)[1] < play(covered)[1] / 2


def test_the_first_file_is_no_change() -> None:
    """There was nothing that the first look could have differed from."""
    knowledge = Knowledge.of(play([])[0].memory)

    assert knowledge.found == 0
    assert knowledge.seen.found == (0.0,) * 8


def test_held_and_failed_runs_teach_nothing() -> None:
    """What is known before such a run is known after it."""
    before = play([(WEEK, seen(UPDATED)), (WEEK, seen(QUIET))])[0]
    for outcome in (Outcome.HELD, Outcome.FAILED, Outcome.DEFERRED):
        history = seen(outcome, memory=before.memory, failures=int(outcome is Outcome.FAILED))
        after = decide(history, LEARNED, START + timedelta(weeks=3), spread=0)
        assert Knowledge.of(after.memory) == Knowledge.of(before.memory)


def test_under_a_price_hopeless_sites_give_way() -> None:
    """A site that changes faster than a crawl pays for waits; one that changes now and then does not."""
    hopeless = [(360.0, seen(UPDATED, changes=12, sitemap_says_changed=True, unlisted=False))] * 12
    worthwhile = [(WEEK, seen(UPDATED)), (WEEK, seen(QUIET)), (WEEK, seen(QUIET))] * 3

    assert play(hopeless, PRICED, sitemap=True)[1] > play(worthwhile, PRICED)[1]


def test_a_heavier_site_is_looked_at_more_often() -> None:
    """Its freshness counts more under the same price."""
    looks = [(WEEK, seen(UPDATED)), (WEEK, seen(QUIET))] * 3
    heavy = [(gap, replace(history, weight=4.0)) for gap, history in looks]

    assert play(heavy, PRICED)[1] < play(looks, PRICED)[1]


def test_the_reason_can_be_read() -> None:
    """Rate, certainty, signals, price and time, in words."""
    looks = [(1_440.0, seen(SKIPPED, sitemap_says_changed=False))] * 8
    reason = play([*looks, (60.0, seen(UPDATED, announced=True))], PRICED, sitemap=True)[0].reason

    assert reason.startswith("it changed; changes are found about every ")
    assert "its webhook announces 100% of its changes" in reason
    assert "its sitemap spares 99% of needless crawls" in reason
    assert "a crawl has to save 25 h of staleness" in reason
    assert "the next look is in " in reason


def test_what_a_site_is_planned_to_cost_are_its_crawls_alone() -> None:
    """Looks that an honest sitemap answers are no crawls, however many: a quiet site plans only its full readings."""
    now = START
    decision = decide(seen(UPDATED, sitemap_says_changed=True), PRICED, now, spread=0)
    for day in range(60):
        now += timedelta(days=1)
        read = day % 20 == 19
        history = seen(QUIET if read else SKIPPED, sitemap_says_changed=False, memory=decision.memory)
        decision = decide(history, PRICED, now, spread=0)

    looks_a_day = timedelta(days=1) / (decision.next_crawl_at - now)
    assert looks_a_day > 0.1
    assert decision.memory["crawls_a_day"] == pytest.approx(1 / 25, rel=0.4)


def test_the_memory_is_a_handful_of_numbers() -> None:
    """However long a site is watched."""
    looks = [(float(gap), seen(UPDATED if gap % 3 else QUIET)) for gap in range(60, 40_000, 400)]
    memory = play(looks)[0].memory

    assert len(memory) <= 22
    assert all(isinstance(value, float) for value in memory.values())
