"""Learning a rate of change from looks that only tell whether something changed."""

from __future__ import annotations

import random
from itertools import pairwise
from math import exp, expm1, sqrt
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.scheduling.rate import GAPS, Watched

gaps = st.floats(0.01, 1e6)
looks = st.lists(st.tuples(gaps, st.booleans(), st.booleans()), min_size=1, max_size=30)
guesses = st.floats(60, 1e6)


def watched(history: list[tuple[float, bool]]) -> Watched:
    seen = Watched()
    for gap, changed in history:
        seen = seen.after_change(gap) if changed else seen.after_quiet(gap)
    return seen


@given(history=looks, guess=guesses)
def test_more_observed_change_never_lowers_the_rate(history: list[tuple[float, bool, bool]], guess: float) -> None:
    """Of two histories at the same times, one with changes wherever the other has them and more: it believes in more."""
    fewer = watched([(gap, one) for gap, one, _ in history]).belief(guess)
    more = watched([(gap, one or two) for gap, one, two in history]).belief(guess)

    assert more.typical <= fewer.typical * (1 + 1e-9)
    assert more.mean >= fewer.mean * (1 - 1e-9)


@given(history=looks, guess=guesses)
def test_a_belief_is_always_sound(history: list[tuple[float, bool, bool]], guess: float) -> None:
    """Positive and finite, and memory brings it back."""
    seen = watched([(gap, changed) for gap, changed, _ in history])
    belief = seen.belief(guess)
    again = Watched.from_numbers("x", seen.as_numbers("x")).belief(guess)

    assert 0 < belief.shape < 1e5
    assert 9 < belief.typical < 2e6
    assert again.typical == pytest.approx(belief.typical, rel=1e-2)


@pytest.mark.parametrize("gap", [1.0, 60.0, 100.0, 1_440.0, 40_000.0, 10_000_000.0])
def test_a_change_counts_once_whatever_its_gap(gap: float) -> None:
    """Its weight is split between the two nearest lengths of time."""
    found = Watched().after_change(gap).found

    assert sum(found) == pytest.approx(1)
    assert sum(1 for count in found if count) <= 2


@pytest.mark.parametrize("days_between", [0.5, 3.0, 14.0, 60.0])
def test_the_estimate_converges_about_as_fast_as_theory_allows(days_between: float) -> None:
    """After n looks the root mean square error of the rate's logarithm is within 1.5 times the Cramér-Rao bound.

    A look after τ tells about λ as much as the Fisher information τ² / (exp(λτ) - 1).
    """
    rng = random.Random(5)
    rate = 1 / (days_between * 1_440)
    errors = []
    information = 0.0
    for _ in range(150):
        history, information = [], 0.0
        for _ in range(60):
            gap = rng.choice((0.3, 1.0, 2.0)) / rate
            history.append((gap, rng.random() < -expm1(-rate * gap)))
            information += gap**2 / expm1(rate * gap)
        errors.append(watched(history).belief(10_080).mean / rate - 1)
    bound = 1 / (rate * sqrt(information))

    assert sqrt(mean(error**2 for error in errors)) < 1.5 * bound
    assert abs(mean(errors)) < bound


def test_with_dated_changes_the_rate_is_known_sooner() -> None:
    """Ten changes in ten weeks, told apart, against ten looks that each found something."""
    told, censored = Watched(), Watched()
    for _ in range(10):
        told = told.after_count(1, 10_080)
        censored = censored.after_change(10_080)

    assert told.belief(10_080).relative_error < censored.belief(10_080).relative_error
    assert told.belief(10_080).typical == pytest.approx(10_080, rel=0.2)


def test_many_changed_pages_say_more_changes_than_one_page() -> None:
    """Not as many as there are pages: a release may touch them all."""
    one, many = Watched(), Watched()
    for _ in range(8):
        one = one.after_change(10_080)
        many = many.after_pages(30, 10_080)

    assert many.belief(10_080).typical < one.belief(10_080).typical


def test_what_is_forgotten_returns_to_the_guess() -> None:
    """A busy month counts little years later."""
    busy = watched([(60.0, True)] * 50)

    assert busy.belief(10_080).typical < 200
    assert busy.forgetting(1e-6).belief(10_080).typical == pytest.approx(Watched().belief(10_080).typical, rel=0.01)


@pytest.mark.parametrize("bad", [float("nan"), -5.0, float("inf"), 1e300])
def test_a_spoiled_memory_is_no_memory(bad: float) -> None:
    """Numbers that cannot be are nothing seen."""
    assert Watched.from_numbers("x", {"x_quiet": bad, f"x_{GAPS[0]:.0f}": bad, "x_told": bad}) == Watched()


@given(history=looks, minutes=st.floats(1, 1e6))
def test_the_outlook_of_a_belief_is_consistent(history: list[tuple[float, bool, bool]], minutes: float) -> None:
    """The chance of no change falls with time; the fresh minutes are its integral, so less than all and more than the
    chance times the time; the fall is its derivative."""
    belief = watched([(gap, changed) for gap, changed, _ in history]).belief(10_080)
    unchanged, fresh, falling = belief.outlook(minutes)
    later, later_fresh, _ = belief.outlook(minutes * 1.0001)

    assert 0 <= unchanged <= 1
    assert unchanged * minutes <= fresh * (1 + 1e-6)
    assert fresh <= minutes * (1 + 1e-9)
    assert later <= unchanged * (1 + 1e-12)
    assert later_fresh - fresh == pytest.approx(unchanged * minutes * 1e-4, rel=1e-2, abs=minutes * 1e-9)
    assert falling == pytest.approx((unchanged - later) / 1e-4, rel=1e-2, abs=1e-6)


def test_a_well_known_rate_is_exponential() -> None:
    """With much seen, the outlook is that of a Poisson process."""
    seen = Watched(quiet=100_000.0, told=100.0)
    belief = seen.belief(1_000)
    waits = [belief.outlook(minutes)[0] for minutes in (100.0, 500.0, 2_000.0)]

    assert waits == pytest.approx([exp(-0.1), exp(-0.5), exp(-2.0)], rel=0.06)
    assert all(a > b for a, b in pairwise(waits))


@pytest.mark.parametrize("trust", [0.3, 1.0])
def test_the_newest_date_tells_the_rate_although_edits_hide_each_other(trust: float) -> None:
    """Looks every four days at a site of one page that changes twice a week: the date of its last edit, whatever it
    hides, brings the belief to the true rate."""
    rng, every, gap = random.Random(4), 5_040.0, 5_760.0
    dated = Watched()
    for _ in range(300):
        age = rng.expovariate(1 / every)
        dated = dated.after_newest(age, gap, trust) if age < gap else dated.after_quiet(gap)

    assert dated.belief(10_080).typical == pytest.approx(every, rel=0.15)


@given(history=looks, gap=gaps, age=gaps, trust=st.floats(0, 1))
def test_a_dated_change_never_lowers_the_rate(
    history: list[tuple[float, bool, bool]], gap: float, age: float, trust: float
) -> None:
    """Beside a quiet look of the same length."""
    seen = watched([(minutes, changed) for minutes, changed, _ in history])
    quiet, dated = seen.after_quiet(gap), seen.after_newest(age, gap, trust)

    assert dated.belief(10_080).mean >= quiet.belief(10_080).mean * (1 - 1e-9)
