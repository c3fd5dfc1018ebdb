"""The simulator that schedules are compared with: its account is right, and the learned policy keeps its promises."""

from __future__ import annotations

from math import exp

import pytest

from benchmarks.freshness.oracle import Oracle
from benchmarks.freshness.policies import Look, Memory, Product, Rule, doubling
from benchmarks.freshness.simulate import run
from benchmarks.freshness.workload import DAY, SimSite, Sitemap, mixed


def test_freshness_is_accounted_to_the_minute() -> None:
    """A change on day 4, looks every 2 days: stale from then until the next look, and as old as that lasts."""
    site = SimSite("one", 1e-9, (4 * DAY,), sizes=(1,))
    starts = []

    def every_two_days(memory: Memory, look: Look) -> float:
        starts.append(look.now)
        return 2 * DAY

    result = run([site], Rule(every_two_days), days=10, interval=2 * DAY)
    stale = next(start for start in starts if start >= 4 * DAY) - 4 * DAY

    assert result.minutes == 10 * DAY
    assert result.fresh == pytest.approx(10 * DAY - stale)
    assert result.aged == pytest.approx(stale**2 / 2)
    assert result.crawls == len(starts)


def test_a_fixed_interval_is_as_fresh_as_the_formula_says() -> None:
    """Steady changes at a known rate: (1 - exp(-r)) / r, within 2 %."""
    sites = [site for site in mixed(4_000, 180, 3) if site.kind == "poisson" and site.rate > 1 / (20 * DAY)]
    result = run(sites, Product("fixed"), days=180)
    expected = sum((1 - exp(-site.rate * 7 * DAY)) / (site.rate * 7 * DAY) for site in sites) / len(sites)

    assert result.freshness == pytest.approx(expected, rel=0.02)
    assert result.crawls / len(sites) == pytest.approx(180 / 7, rel=0.03)


def test_an_honest_sitemap_spares_the_crawls_of_a_quiet_site() -> None:
    """A site that never changes is read once in thirty days; its sitemap is asked in between."""
    site = SimSite("honest", 1e-9, (), Sitemap.HONEST)
    result = run([site], Product("fixed"), days=120)

    assert result.looks >= 16
    assert result.crawls <= 4


def test_the_budget_of_24_hours_is_never_exceeded() -> None:
    """A herd that all wants to be looked at now: the limit holds at every moment, webhooks included."""
    sites = mixed(300, 30, 11)
    result = run(sites, Product("learned", price=1.0), days=30, crawls_a_day=40, price=1.0)

    assert result.busiest <= 40
    assert (result.crawls + result.asked) / 30 <= 40
    assert result.prices[-1] > 10


def test_the_same_seed_gives_the_same_result() -> None:
    """Nothing but the seed decides."""
    one, two = (run(mixed(50, 60, 5), Product("learned", price=1_000.0), days=60, seed=9) for _ in range(2))

    assert (one.fresh, one.crawls, one.looks) == (two.fresh, two.crawls, two.looks)


def test_the_learned_policy_gets_more_out_of_a_crawl() -> None:
    """At one price it comes near the oracle, which knows every rate; doubling and halving spends more for less."""
    sites = mixed(400, 120, 7)
    price = 1_500.0

    def net(freshness: float, crawls: int) -> float:
        return freshness - price / DAY * crawls / 120 / len(sites)

    learned = run(sites, Product("learned", price=price), days=120)
    oracle = run(sites, Oracle(price), days=120)
    other = run(sites, Rule(doubling), days=120)
    fixed = run(sites, Product("fixed"), days=120)

    assert net(learned.freshness, learned.crawls) > 0.96 * net(oracle.freshness, oracle.crawls)
    assert net(learned.freshness, learned.crawls) > net(fixed.freshness, fixed.crawls)
    assert net(learned.freshness, learned.crawls) > net(other.freshness, other.crawls)
