"""What a sitemap's dates tell before the first look, and what they do not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.models import Outcome
from runtime.scheduling import decide
from runtime.scheduling.past import HALF_LIFE_MINUTES, apart, past_of
from runtime.scheduling.rate import Watched
from runtime.scheduling.signals import Knowledge
from tests.runtime.scheduling.test_learned import PRICED, QUIET, SKIPPED, START, UPDATED, WEEK, play, seen

DAY = 1_440.0
YEAR = 365 * DAY


def edited(rng: random.Random, every: float, pages: int) -> list[float]:
    """How long ago each page of a site was edited last: one edit at random every so many minutes, three years long."""
    last = [3 * YEAR] * pages
    age = 3 * YEAR
    while (age := age - rng.expovariate(1 / every)) > 0:
        last[rng.randrange(pages)] = age
    return last


@pytest.mark.parametrize("every", [0.5 * DAY, 3 * DAY, 14 * DAY])
def test_the_rate_of_the_past_is_found(every: float) -> None:
    """Over many sites, the time between changes that the dates tell is the true one within a fifth, although later edits
    of the same pages hide some."""
    rng = random.Random(3)
    pasts = [past_of(edited(rng, every, 100)) for _ in range(60)]
    minutes = sum(past.quiet for past in pasts if past) / sum(past.told for past in pasts if past)

    assert minutes == pytest.approx(every, rel=0.2)


def test_a_site_that_rested_for_half_a_year_is_known_to_be_quiet() -> None:
    """Old dates are no change of late, but they vouch for the time since."""
    past = past_of([300 * DAY + 10 * DAY * page for page in range(40)])

    assert past is not None
    assert past.told == 0
    assert past.quiet > 0.7 * HALF_LIFE_MINUTES


@pytest.mark.parametrize(
    "ages",
    [
        [],
        [5 * DAY],
        [5 * DAY] * 30,
        [0.0] * 30,
        [-600.0] * 30,
        [5 * DAY + page / 20 for page in range(30)],
        [5 * DAY] * 29 + [9 * DAY],
    ],
)
def test_one_date_for_all_pages_tells_nothing(ages: list[float]) -> None:
    """It is the date of a build, or of the request."""
    assert past_of(ages) is None


def test_a_young_site_vouches_for_its_own_time_alone() -> None:
    """Before its oldest page nothing is known."""
    past = past_of([10 * DAY] * 20 + [4 * DAY] * 10 + [DAY])

    assert past is not None
    assert past.quiet <= 10 * DAY
    assert 1.9 < past.told < 2


def test_dates_of_one_edit_count_once() -> None:
    """A post and the lists that name it, written within minutes."""
    assert apart([100.0, 101.0, 104.0, 108.0, 200.0]) == {100.0: 4, 200.0: 1}


@given(ages=st.lists(st.floats(-10_000, 5e6), max_size=60))
def test_any_dates_make_a_sound_belief(ages: list[float]) -> None:
    """Nothing is negative, and no more changes than dates."""
    past = past_of(ages)

    if past is not None:
        assert 0 <= past.told <= len(ages)
        assert 0 <= past.quiet <= 1.5 * HALF_LIFE_MINUTES
        assert past.belief(WEEK).shape > 0


def test_a_lively_past_brings_the_first_looks_closer() -> None:
    """Ten changes in ten days, or none in half a year, before anything was looked at."""

    def next_look(past: Watched | None) -> float:
        first = seen(UPDATED, sitemap_says_changed=True, past=past)
        decision = decide(first, PRICED, START, spread=0)
        return decision.avg_change_interval_minutes or 0.0

    lively, quiet = (Watched.of_dates(*told, HALF_LIFE_MINUTES) for told in (([DAY] * 10, 10 * DAY), ([], YEAR / 2)))

    assert next_look(lively) < next_look(None) / 3
    assert next_look(quiet) > next_look(None) * 3


def test_dates_are_believed_as_the_sitemap_is() -> None:
    """Half at first; more when it has named changes, less when it has hidden some."""
    start = Knowledge.of(play([], sitemap=True)[0].memory).trust
    named = [(DAY, seen(UPDATED, sitemap_says_changed=True, unlisted=False))] * 4
    hidden = [(DAY, seen(UPDATED, sitemap_says_changed=False))] * 4

    assert start == 0.5
    assert Knowledge.of(play(named, sitemap=True)[0].memory).trust > 0.75
    assert Knowledge.of(play(hidden, sitemap=True)[0].memory).trust < 0.25


def test_a_memory_from_before_dates_were_read_stays_what_it_was() -> None:
    """No past is invented for a site that has been looked at."""
    before = play([(WEEK, seen(QUIET))] * 3)[0].memory
    past = Watched(quiet=1.0, told=50.0)
    after = decide(seen(SKIPPED, memory=before, past=past), PRICED, START, spread=0).memory

    assert not any(name.startswith("dated") for name in (*before, *after))


def test_a_failed_first_run_keeps_the_past_for_the_next() -> None:
    """Nothing is remembered of it, so the next run counts as the first."""
    failed = decide(seen(Outcome.HELD, past=Watched(quiet=1.0, told=1.0)), PRICED, START, spread=0)

    assert Knowledge.of(failed.memory) == Knowledge()
