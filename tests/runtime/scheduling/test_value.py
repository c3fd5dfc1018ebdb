"""The best interval at a price, and the price of a budget."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import exp, expm1

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.scheduling.budget import Allowance, next_price, price_for
from runtime.scheduling.rate import Belief, Watched
from runtime.scheduling.value import best_interval, cost, freshness

DAY = 1_440.0
NOW = datetime(2026, 6, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Known:
    """A rate that is known for certain, changes a minute."""

    rate: float

    def outlook(self, minutes: float) -> tuple[float, float, float]:
        expected = self.rate * minutes
        return exp(-expected), -expm1(-expected) / self.rate, expected * exp(-expected)


FIVE = [Known(times / DAY) for times in range(1, 6)]
NEVER = 1e9


def test_the_published_example_is_reproduced() -> None:
    """Five pages that change 1 to 5 times a day, five crawls a day (Cho and Garcia-Molina, TODS 2003, table 2)."""

    def crawls_a_day(price: float) -> list[float]:
        return [DAY / best_interval(page, price, 1, NEVER) for page in FIVE]

    price = price_for(5, lambda price: sum(crawls_a_day(price)))
    optimal = crawls_a_day(price)

    def fresh(frequencies: list[float]) -> float:
        return sum(freshness(page, DAY / times) for page, times in zip(FIVE, frequencies, strict=True)) / 5

    assert [round(times, 2) for times in optimal] == [1.15, 1.36, 1.35, 1.14, 0.0]
    assert fresh([1.0] * 5) == pytest.approx(0.365, abs=5e-4)
    assert fresh([5 * times / 15 for times in range(1, 6)]) == pytest.approx(0.317, abs=5e-4)
    assert fresh(optimal) == pytest.approx(0.374, abs=5e-4)


beliefs = st.builds(
    lambda quiet, told, guess: Watched(quiet=quiet, told=told).belief(guess),
    st.floats(0, 1e6), st.floats(0, 50), st.floats(60, 1e6),
)  # fmt: skip


@given(belief=beliefs, price=st.floats(0.1, 1e6), look=st.floats(0, 0.5), alarm=st.floats(0, 1))
def test_no_other_interval_is_worth_more(belief: Belief, price: float, look: float, alarm: float) -> None:
    """The chosen interval beats every interval of a grid, for any belief, price and cost."""

    def worth(interval: float) -> float:
        return freshness(belief, interval) - price * cost(belief, interval, look=look, alarm=alarm) / interval

    best = best_interval(belief, price, 60, 40_000, look=look, alarm=alarm)

    assert 60 <= best <= 40_000
    grid = [60 * (40_000 / 60) ** (step / 60) for step in range(61)]
    assert worth(best) >= max(map(worth, grid)) - 1e-5 * (1 + price)


@given(belief=beliefs, price=st.floats(0.1, 1e6), dearer=st.floats(1, 100))
def test_a_higher_price_never_shortens_an_interval(belief: Belief, price: float, dearer: float) -> None:
    """So that a price exists for every budget."""
    assert best_interval(belief, price, 60, 40_000) <= best_interval(belief, price * dearer, 60, 40_000) * 1.001


def test_cheap_looks_are_more_frequent() -> None:
    """Where a sitemap answers for a fiftieth of a crawl, it is asked more often."""
    site = Known(1 / (7 * DAY))

    assert best_interval(site, 1_000, 60, NEVER, look=0.02, alarm=0.0) < best_interval(site, 1_000, 60, NEVER) / 3


@given(budget=st.floats(1, 1_000))
def test_the_price_keeps_the_plan_within_the_budget(budget: float) -> None:
    """What is planned at the price is at most the budget, and nearly all of it: a page that is not worth its crawls
    any more drops out at about a tenth of a crawl a day."""

    def planned(price: float) -> float:
        return sum(DAY / best_interval(page, price, 1, NEVER) for page in FIVE)

    spent = planned(price_for(budget, planned))

    assert spent <= budget
    assert spent >= min(budget, planned(1e-3)) - 0.2


def test_a_price_follows_what_is_planned() -> None:
    """Up when too much is planned, down when too little; not by more than a quarter a day; never out of bounds."""
    assert next_price(100, 50, 50) == 100
    assert 100 < next_price(100, 60, 50) < 110
    assert 90 < next_price(100, 40, 50) < 100
    assert next_price(100, 1e9, 1) == 125
    assert next_price(1e-3, 1, 1e9) == 1e-3
    assert next_price(100, 0, 50) == 100


starts = st.lists(st.floats(-200_000, 0), max_size=60).map(
    lambda seconds: [NOW + timedelta(seconds=second) for second in seconds]
)


@given(starts=starts, budget=st.integers(0, 20))
def test_the_budget_of_24_hours_is_never_exceeded(starts: list[datetime], budget: int) -> None:
    """Whatever started lately: what is left and what has started make at most a day's crawls."""
    allowance = Allowance(budget)
    recent = sum(1 for start in starts if start > NOW - timedelta(hours=24))
    free = allowance.next_free(starts, NOW)

    assert allowance.left(starts, NOW) == max(0, budget - recent)
    assert (free == NOW) == (allowance.left(starts, NOW) > 0)
    assert allowance.left(starts, free) > 0 or budget == 0
