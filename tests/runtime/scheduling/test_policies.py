"""The fixed and the EWMA policy, back-off, patience: bounds and directions for every history."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.models import Outcome, Site, SiteOptions
from runtime.scheduling import History, ScheduleSettings, decide, spread_of
from runtime.verdicts import Decision

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
QUIET, CHANGED = Outcome.UNCHANGED_CONTENT, Outcome.UPDATED
SETTINGS = ScheduleSettings()

minutes = st.floats(-1e7, 1e7)
times = st.none() | st.builds(lambda m: NOW + timedelta(minutes=m), minutes)
numbers = st.floats() | st.floats(0, 1e6)
histories = st.builds(
    History,
    interval_minutes=st.integers(60, 525_600) | numbers,
    outcome=st.sampled_from(Outcome),
    adaptive=st.booleans(),
    avg_change_interval_minutes=st.none() | numbers,
    due_at=times,
    last_checked_at=times,
    last_crawled_at=times,
    last_changed_at=times,
    failures=st.integers(0, 2_000),
    gone=st.booleans(),
    retry_after=times,
    memory=st.dictionaries(st.sampled_from(["slot", "failing_since", "gone_in_a_row", "other"]), numbers),
)
spreads = st.floats(0, 1, exclude_max=True)


def in_minutes(decision: Decision, now: datetime = NOW) -> float:
    return (decision.next_crawl_at - now).total_seconds() / 60


def adaptive(interval: float, outcome: Outcome, *, average: float | None = None, ago: float = 0.0) -> History:
    return History(
        interval_minutes=interval,
        outcome=outcome,
        adaptive=True,
        avg_change_interval_minutes=average,
        last_checked_at=NOW - timedelta(minutes=ago),
    )


@given(history=histories, spread=spreads)
def test_the_next_look_is_in_bounds_for_every_history(history: History, spread: float) -> None:
    """Always after now; never later than the longest of the owner's interval, 7 days (adaptive, Retry-After) or a day
    (back-off); and after a look that said something never sooner than an hour, less the fixed policy's tenth."""
    wait = in_minutes(decide(history, SETTINGS, NOW, spread=spread))

    longest = max(history.interval, 10_080)
    assert 0 < wait <= longest + 1e-6  # a timedelta counts in microseconds
    if not history.failures and history.outcome in (QUIET, CHANGED, Outcome.UNCHANGED_SITEMAP):
        assert wait >= 60 - 1e-6 if history.adaptive else wait >= 54 - 1e-6


@given(history=histories, spread=spreads)
def test_a_change_never_leads_to_a_longer_interval_than_quiet(history: History, spread: float) -> None:
    """Of two histories that differ in their last outcome alone, the one that saw a change looks again no later."""
    changed = decide(replace(history, outcome=CHANGED), SETTINGS, NOW, spread=spread)
    quiet = decide(replace(history, outcome=QUIET), SETTINGS, NOW, spread=spread)

    assert changed.next_crawl_at <= quiet.next_crawl_at


@given(history=histories, spread=spreads)
def test_a_change_shortens_and_quiet_does_not(history: History, spread: float) -> None:
    """Within the bounds the EWMA goes down on a change and up on quiet, whatever the clocks say."""
    history = replace(history, adaptive=True, failures=0, avg_change_interval_minutes=1_000.0, interval_minutes=1_440)
    changed = decide(replace(history, outcome=CHANGED), SETTINGS, NOW, spread=spread)
    quiet = decide(replace(history, outcome=QUIET), SETTINGS, NOW, spread=spread)

    assert changed.avg_change_interval_minutes is not None
    assert quiet.avg_change_interval_minutes is not None
    assert 60 <= changed.avg_change_interval_minutes < 1_000 <= quiet.avg_change_interval_minutes <= 10_080


@given(history=histories, spread=spreads, jump=st.floats(-1e6, 1e6))
def test_clocks_that_disagree_do_no_harm(history: History, spread: float, jump: float) -> None:
    """Whatever the skew between the times of a row and ours, the average stays within its bounds."""
    now = NOW + timedelta(minutes=jump)
    average = decide(history, SETTINGS, now, spread=spread).avg_change_interval_minutes

    assert average is None or 60 <= average <= history.longest


@pytest.mark.parametrize("interval", [60, 360, 1_440, 10_080, 43_200])
def test_six_quiet_looks_grow_to_the_longest_interval(interval: int) -> None:
    """From any interval, six looks in a row that find nothing lead to 7 days, or to the owner's longer choice."""
    now = NOW
    average: float | None = None
    waits: list[float] = []
    for generation in range(7):
        history = History(
            interval_minutes=interval,
            outcome=QUIET,
            adaptive=True,
            avg_change_interval_minutes=average,
            last_checked_at=now - timedelta(minutes=waits[-1] if waits else interval),
        )
        decision = decide(history, SETTINGS, now, spread=spread_of("site", generation))
        average = decision.avg_change_interval_minutes
        waits.append(in_minutes(decision, now))
        now = decision.next_crawl_at

    longest = max(interval, 10_080)
    assert 0.9 * longest <= waits[-1] <= longest
    assert average == longest


def test_a_site_that_always_changes_is_looked_at_every_hour() -> None:
    """Changes at every look bring the interval down to the floor, and never below it."""
    average: float | None = 10_080
    for _ in range(30):
        decision = decide(adaptive(10_080, CHANGED, average=average, ago=average or 0), SETTINGS, NOW, spread=0.99)
        average = decision.avg_change_interval_minutes

    assert average == 60
    assert in_minutes(decision) == 60


def test_thirty_days_are_not_clamped_to_seven() -> None:
    """An owner's longer interval is the upper bound of the adaptive policy."""
    decision = decide(adaptive(43_200, QUIET, average=43_200, ago=43_200), SETTINGS, NOW, spread=0)

    assert in_minutes(decision) == 43_200


def test_a_fixed_interval_leaves_the_average_alone() -> None:
    """The fixed policy has no opinion about the average: the column stays."""
    decision = decide(History(interval_minutes=360, outcome=CHANGED), SETTINGS, NOW, spread=0.5)

    assert decision.avg_change_interval_minutes is None
    assert decision.reason == "every 6 h, as chosen"


def _fixed_runs(interval: int, tick: int, ticks: int) -> list[float]:
    """Minutes between runs of a site under a tick of `tick` minutes with EventBridge's delay of up to a minute."""
    due, runs = NOW, []
    memory: dict[str, float] = {}
    for number in range(ticks):
        now = NOW + timedelta(minutes=number * tick, seconds=7 * number % 60)
        if due <= now:
            runs.append(now)
            history = History(interval_minutes=interval, outcome=QUIET, due_at=due, memory=memory)
            decision = decide(history, SETTINGS, now, spread=spread_of("site", number))
            due, memory = decision.next_crawl_at, dict(decision.memory)
    return [(b - a).total_seconds() / 60 for a, b in pairwise(runs)]


def test_six_hours_under_a_six_hour_tick_are_six_hours() -> None:
    """An interval of one tick runs at every tick: no run is late because the one before was (interval aliasing)."""
    gaps = _fixed_runs(360, 360, 400)

    assert len(gaps) == 399
    assert max(gaps) < 362


@pytest.mark.parametrize(("interval", "tick"), [(360, 5), (1_440, 360), (10_080, 360), (60, 1), (500, 360)])
def test_the_mean_interval_is_the_owners(interval: int, tick: int) -> None:
    """Over many runs the fixed policy keeps the chosen interval to within 2 %, under any tick."""
    gaps = _fixed_runs(interval, tick, 60 * max(interval, tick) // tick + 1)

    assert sum(gaps) / len(gaps) == pytest.approx(interval, rel=0.02)


def test_after_an_outage_slots_start_anew() -> None:
    """A run that is later than a whole interval does not try to catch up."""
    late = History(interval_minutes=360, outcome=QUIET, due_at=NOW - timedelta(days=3), memory={"slot": 0.0})

    assert in_minutes(decide(late, SETTINGS, NOW, spread=0)) == 360


def test_a_webhook_run_starts_a_new_interval() -> None:
    """A run before its slot counts from its own time."""
    slot = NOW + timedelta(days=5)
    forced = History(interval_minutes=10_080, outcome=CHANGED, due_at=NOW, memory={"slot": slot.timestamp()})

    assert in_minutes(decide(forced, SETTINGS, NOW, spread=0)) == 10_080


def test_a_held_result_is_looked_at_again_within_a_day_or_so() -> None:
    """A hold that later crawls can end does not wait for the owner's thirty days."""
    decision = decide(History(interval_minutes=43_200, outcome=Outcome.HELD), SETTINGS, NOW, spread=0.5)

    assert 720 <= in_minutes(decision) <= 800


def test_a_success_forgets_the_failures_before_it() -> None:
    """What a failing site remembers is gone after the first success; other memories stay."""
    memory = {"failing_since": 1.0, "gone_in_a_row": 2.0, "slot": 5.0}
    decision = decide(History(interval_minutes=60, outcome=Outcome.HELD, memory=memory), SETTINGS, NOW, spread=0.5)

    assert decision.memory == {"slot": 5.0}


def test_ten_failures_in_a_hurry_do_not_disable_a_site() -> None:
    """Ten failures count only after seven days: an afternoon's outage gives up nobody."""
    memory = {"failing_since": (NOW - timedelta(days=6)).timestamp()}
    history = History(interval_minutes=60, outcome=Outcome.FAILED, failures=40, memory=memory)

    assert not decide(history, SETTINGS, NOW, spread=0.5).disable


def test_failures_are_remembered_from_the_first() -> None:
    """The time of the first failure of a row of them stays until a success."""
    memory: dict[str, float] = {}
    now = NOW
    for failures in range(1, 30):
        history = History(interval_minutes=60, outcome=Outcome.FAILED, failures=failures, memory=memory)
        decision = decide(history, SETTINGS, now, spread=0.9)
        memory = dict(decision.memory)
        now = decision.next_crawl_at
        assert memory["failing_since"] == NOW.timestamp()
        if decision.disable:
            break

    assert failures >= 10
    assert now - NOW >= timedelta(days=7)
    assert decision.reason.startswith("disabled: it failed")


def test_the_history_of_a_row_has_its_numbers() -> None:
    """`History.of` reads the row as it was claimed, and takes this run's outcome."""
    site = Site(
        id="1",
        base_url="https://example.com",
        options=SiteOptions(recrawl_interval_minutes=1_440, adaptive=True),
        next_crawl_at=NOW,
        last_checked_at=NOW - timedelta(days=1),
        avg_change_interval_minutes=500.0,
    )
    history = History.of(site, CHANGED, failures=0, memory={"slot": 1.0})

    assert (history.interval, history.adaptive, history.due_at) == (1_440, True, NOW)
    assert history.minutes_since_look(NOW) == 1_440
    assert history.avg_change_interval_minutes == 500.0


@given(st.text(max_size=40), st.integers(0, 10**9))
def test_spreads_are_in_range_and_repeatable(site_id: str, generation: int) -> None:
    """The same site and run always have the same spread, in [0, 1)."""
    assert 0 <= spread_of(site_id, generation) < 1
    assert spread_of(site_id, generation) == spread_of(site_id, generation)


@given(failures=st.integers(1, 12), spread=spreads)
def test_a_failing_site_waits_its_share_of_a_doubling_time(failures: int, spread: float) -> None:
    """Full jitter: anything from a minute to 15 minutes doubled by each failure, so that sites that failed together do
    not come back together.
    """
    history = History(interval_minutes=10_080, outcome=Outcome.FAILED, failures=failures, last_checked_at=NOW)
    ceiling = min(10_080.0, 15 * 2.0**failures)

    wait = in_minutes(decide(history, SETTINGS, NOW, spread=spread))

    assert wait == pytest.approx(max(1.0, spread * ceiling), rel=1e-6)
