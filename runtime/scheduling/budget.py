"""A deployment's budget of crawls: the price that spends it, and the gate that keeps it.

At one price for all sites the total freshness is greatest (Lagrange; Azar et al., "Tractable near-optimal policies for
crawling", PNAS 2018). The price is one number: it is found once by halving, near-linear in the sites, and afterwards
follows what is planned and spent. No tick computes anything for all sites.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp, log

DAY = timedelta(hours=24)
LOWEST_PRICE, HIGHEST_PRICE = 1e-3, 1e8
STEPS = 40
FOLLOW, MOST_STEP = 1 / 7, 1.25


def price_for(crawls_a_day: float, planned: Callable[[float], float]) -> float:
    """The lowest price at which `planned(price)`, the crawls a day of all sites, is within the budget."""
    low, high = log(LOWEST_PRICE), log(HIGHEST_PRICE)
    for _ in range(STEPS):
        middle = (low + high) / 2
        if planned(exp(middle)) > crawls_a_day:
            low = middle
        else:
            high = middle
    return exp(high)


def next_price(price: float, planned_a_day: float, crawls_a_day: float) -> float:
    """The price for the next day, after `planned_a_day` at this one.

    The price follows slowly, by a seventh of the excess: a site takes it up only at its next look, about a week
    later, and a faster price would swing.
    """
    if planned_a_day <= 0 or crawls_a_day <= 0:
        return price
    step: float = min(MOST_STEP, max(1 / MOST_STEP, (planned_a_day / crawls_a_day) ** FOLLOW))
    return min(HIGHEST_PRICE, max(LOWEST_PRICE, price * step))


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many crawls may still start now: never more than `crawls_a_day` in any 24 hours."""

    crawls_a_day: int

    def left(self, starts: Iterable[datetime], now: datetime) -> int:
        """The crawls left, given when crawls started lately; those before the last 24 hours do not count."""
        recent = sum(1 for start in starts if start > now - DAY)
        return max(0, self.crawls_a_day - recent)

    def next_free(self, starts: Sequence[datetime], now: datetime) -> datetime:
        """When the next crawl may start: now, or when the oldest of a full day's crawls is 24 hours old."""
        recent = sorted(start for start in starts if start > now - DAY)
        if len(recent) < self.crawls_a_day:
            return now
        return recent[-self.crawls_a_day] + DAY if self.crawls_a_day else now + DAY
