"""The rows of tests/data/safety/clock_cases.jsonl that concern the schedule, each by its id and name.

The other rows belong to the sitemap verdict, the store of sites and the dispatcher, and are tested there.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from statistics import mean
from zoneinfo import ZoneInfo

import pytest

from runtime.models import Outcome
from runtime.scheduling import History, ScheduleSettings, decide, spread_of

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SETTINGS = ScheduleSettings()


def failed(failures: int, **more: object) -> History:
    return History(interval_minutes=1_440, outcome=Outcome.FAILED, failures=failures, **more)  # type: ignore[arg-type]


def test_clk_016_fifth_failure() -> None:
    """The fifth failure in a row is tried again within 480 minutes, anywhere in that range."""
    waits = [
        (decide(failed(5), SETTINGS, NOW, spread=spread_of("s", n)).next_crawl_at - NOW) / timedelta(minutes=1)
        for n in range(500)
    ]

    assert 0 < min(waits) < 20
    assert 460 < max(waits) < 480
    assert mean(waits) == pytest.approx(240, rel=0.1)


def test_clk_017_tenth_failure() -> None:
    """The tenth failure, after seven days of failing, disables the site."""
    memory = {"failing_since": (NOW - timedelta(days=7)).timestamp()}
    decision = decide(failed(10, memory=memory), SETTINGS, NOW, spread=0.5)

    assert decision.disable
    assert decision.reason == "disabled: it failed 10 times in a row over 7 days"


def test_clk_018_success_after_nine() -> None:
    """A success after nine failures is followed by the normal interval."""
    history = History(interval_minutes=1_440, outcome=Outcome.UPDATED, failures=0, memory={"failing_since": 1.0})
    decision = decide(history, SETTINGS, NOW, spread=0)

    assert decision.next_crawl_at == NOW + timedelta(days=1)
    assert "failing_since" not in decision.memory


@pytest.mark.parametrize("outcome", [Outcome.DEFERRED, Outcome.FAILED, Outcome.HELD, Outcome.UNCHANGED_CONTENT])
def test_clk_019_429_with_retry_after_7200(outcome: Outcome) -> None:
    """No look before the time the site asked for, whatever the run came to."""
    history = History(
        interval_minutes=60, outcome=outcome, failures=outcome is Outcome.FAILED, retry_after=NOW + timedelta(hours=2)
    )
    decision = decide(history, SETTINGS, NOW, spread=0)

    assert decision.next_crawl_at == NOW + timedelta(hours=2)
    assert "Retry-After" in decision.reason


def test_clk_020_retry_after_10_years() -> None:
    """A Retry-After of years is believed for seven days."""
    history = failed(1, retry_after=NOW + timedelta(days=3_650))

    assert decide(history, SETTINGS, NOW, spread=0.5).next_crawl_at == NOW + timedelta(days=7)


def test_clk_022_410_on_the_home_page() -> None:
    """An entry page that is gone is a failure; three in a row disable the site."""
    memory: dict[str, float] = {}
    disabled = []
    for failures in (1, 2, 3):
        decision = decide(failed(failures, gone=True, memory=memory), SETTINGS, NOW, spread=0.5)
        memory = dict(decision.memory)
        disabled.append(decision.disable)

    assert disabled == [False, False, True]


def test_clk_022_a_500_between_two_410_starts_the_count_anew() -> None:
    """Only 410 answers in a row count as gone for good."""
    memory: dict[str, float] = {}
    for failures, gone in enumerate([True, True, False, True], 1):
        decision = decide(failed(failures, gone=gone, memory=memory), SETTINGS, NOW, spread=0.5)
        memory = dict(decision.memory)

    assert not decision.disable


@pytest.mark.parametrize("interval", [0, -5, float("nan"), float("inf"), 10**12])
def test_clk_025_interval_0_negative_nan_10_to_the_12(interval: float) -> None:
    """Such an interval is refused at the door; one that got into a row all the same is brought within the bounds."""
    history = History(interval_minutes=interval, outcome=Outcome.UNCHANGED_CONTENT)
    wait = decide(history, SETTINGS, NOW, spread=0).next_crawl_at - NOW

    assert timedelta(minutes=60) <= wait <= timedelta(minutes=525_600)


def test_clk_026_clock_goes_back_1_h_during_a_sweep() -> None:
    """A run that seems to end before it was due still has its next look in the future, one interval away."""
    history = History(
        interval_minutes=360,
        outcome=Outcome.UNCHANGED_CONTENT,
        due_at=NOW,
        last_checked_at=NOW,
        adaptive=True,
    )
    earlier = NOW - timedelta(hours=1)

    assert decide(history, SETTINGS, earlier, spread=0).next_crawl_at == earlier + timedelta(minutes=360)


@pytest.mark.parametrize(
    ("zone", "start"),
    [
        ("Europe/Berlin", datetime(2026, 3, 28, 12, tzinfo=UTC)),
        ("America/New_York", datetime(2026, 10, 31, 12, tzinfo=UTC)),
    ],
    ids=["clk-028 DST forward, Europe/Berlin", "clk-029 DST back"],
)
def test_clk_028_029_intervals_are_real_time_across_dst(zone: str, start: datetime) -> None:
    """Six hours are six hours of real time, also across a change of clocks, and whatever zone `now` is told in."""
    now = start
    memory: dict[str, float] = {}
    due = now
    for _ in range(8):
        history = History(interval_minutes=360, outcome=Outcome.UNCHANGED_CONTENT, due_at=due, memory=memory)
        decision = decide(history, SETTINGS, now.astimezone(ZoneInfo(zone)), spread=0)
        assert decision.next_crawl_at.astimezone(UTC) - now == timedelta(hours=6)
        memory, now = dict(decision.memory), decision.next_crawl_at.astimezone(UTC)
        due = now


def test_clk_031_all_sites_enrolled_in_the_same_minute() -> None:
    """A thousand sites of one minute are spread over a tenth of their interval, by a hash of the site."""
    history = History(interval_minutes=10_080, outcome=Outcome.UPDATED, due_at=NOW)
    waits = sorted(
        (decide(history, SETTINGS, NOW, spread=spread_of(f"site-{n}", 1)).next_crawl_at - NOW) / timedelta(minutes=1)
        for n in range(1_000)
    )

    assert 10_080 * 0.9 <= waits[0] < waits[-1] <= 10_080
    busiest = max(sum(1 for wait in waits if hour <= wait < hour + 60) for hour in range(9_000, 10_081, 60))
    assert busiest < 100
