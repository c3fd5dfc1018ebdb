"""The oracle of the freshness benchmark is as good as it says: no other intervals are worth more, by formula or played."""

from __future__ import annotations

import random

import pytest

from benchmarks.freshness.oracle import Oracle, best, ideal, polled, told
from benchmarks.freshness.policies import LONGEST, SHORTEST, Look, Memory, Policy
from benchmarks.freshness.simulate import run
from benchmarks.freshness.workload import DAY, SimSite, Sitemap, poisson
from runtime.scheduling.value import best_interval
from tests.runtime.scheduling.test_value import Known

GRID = [SHORTEST * (LONGEST / SHORTEST) ** (step / 40) for step in range(41)]


class Every:
    """Intervals chosen by hand: looks, and full readings."""

    def __init__(self, look: float, full: float | None) -> None:
        self.look, self.full = look, full

    def first(self, site: SimSite, memory: Memory, spread: float) -> float:
        del site, memory
        return self.look * spread

    def after(self, site: SimSite, memory: Memory, look: Look) -> tuple[float, bool]:
        return Oracle.after(_With(self.look, self.full), site, memory, look)  # type: ignore[arg-type]


class _With:
    def __init__(self, look: float, full: float | None) -> None:
        self._chosen = look, full

    def _of(self, site: SimSite) -> tuple[float, float | None]:
        del site
        return self._chosen


def fleet(rate: float, sitemap: Sitemap, listed: float, webhook: float) -> list[SimSite]:
    rng = random.Random(3)
    sites = []
    for _ in range(150):
        changes = tuple(poisson(rng, rate, 180 * DAY))
        named = tuple(time for time in changes if rng.random() < listed)
        called = tuple(time for time in changes if rng.random() < webhook)
        sites.append(SimSite("x", rate, changes, sitemap, named, called, webhook, (1,) * len(changes)))
    return sites


@pytest.mark.parametrize("rate", [1 / 700, 1 / DAY, 1 / (9 * DAY), 1 / (200 * DAY)])
@pytest.mark.parametrize("price", [50.0, 1_500.0, 20_000.0])
def test_without_signals_it_is_the_published_optimum(rate: float, price: float) -> None:
    """The same intervals as the rule of Cho and Garcia-Molina, at the same price of a crawl and its look."""
    chosen = ideal(SimSite("x", rate, ()), price)[0]
    rule = best_interval(Known(rate), price, SHORTEST, LONGEST, look=0.02)

    assert polled(rate, 0, price, chosen) == pytest.approx(polled(rate, 0, price, rule), abs=1e-4)


@pytest.mark.parametrize("rate", [1 / 700, 1 / DAY, 1 / (9 * DAY), 1 / (200 * DAY)])
@pytest.mark.parametrize("price", [50.0, 1_500.0, 20_000.0])
def test_no_other_intervals_are_worth_more(rate: float, price: float) -> None:
    """Beside a grid of looks and full readings, for webhooks and for sitemaps that name all changes or some."""
    called = ideal(SimSite("x", rate, (), webhook=0.95), price)[0]
    partly, full = ideal(SimSite("x", rate, (), Sitemap.PART), price)

    assert polled(rate, 0.95 * rate, price, called) >= max(polled(rate, 0.95 * rate, price, at) for at in GRID) - 1e-4
    assert full is not None
    others = (told(rate, 2 / 3, price, look, least) for least in GRID for look in GRID if look <= least)
    assert told(rate, 2 / 3, price, partly, full) >= max(others) - 2e-3


@pytest.mark.parametrize(
    ("sitemap", "listed", "webhook", "look", "full"),
    [(Sitemap.NONE, 0.0, 0.0, 4 * DAY, None), (Sitemap.PART, 2 / 3, 0.0, DAY, 8 * DAY), (Sitemap.NONE, 0, 0.9, 9 * DAY, None)],
)  # fmt: skip
def test_the_formulas_say_what_the_simulation_shows(
    sitemap: Sitemap, listed: float, webhook: float, look: float, full: float | None
) -> None:
    """Freshness less the cost of looks and crawls, within a percent and a half."""
    rate, price = 1 / (5 * DAY), 1_500.0
    policy: Policy = Every(look, full)
    result = run(fleet(rate, sitemap, listed, webhook), policy, days=180)
    played = result.freshness - price * (result.crawls + 0.02 * (result.looks - result.asked)) / result.minutes
    said = polled(rate, rate * webhook, price, look) if full is None else told(rate, listed, price, look, full)

    assert played == pytest.approx(said, abs=0.015)


def test_the_search_finds_a_peak_and_an_edge() -> None:
    """A peak between the bounds to a percent; a bound if the worth only rises or falls."""
    assert best(lambda at: -abs(at - 5_000), LONGEST)[1] == pytest.approx(5_000, rel=0.01)
    assert best(lambda at: at, LONGEST)[1] == LONGEST
    assert best(lambda at: -at, LONGEST)[1] == SHORTEST
