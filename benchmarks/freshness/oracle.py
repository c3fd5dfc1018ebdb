"""The oracle: knows every site's rate and what its signals are worth, and spends the budget as well as that allows.

It does not know when the next change comes, and takes all changes for Poisson: of sites that change in bursts or on a
weekday the learned policy can know more. Its bounds, its looks and what they cost are those of the other policies.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, expm1, log

from benchmarks.freshness.policies import LONGEST, SHORTEST, Look, Memory
from benchmarks.freshness.workload import SimSite, Sitemap

LOOK_COST = 0.02
SEARCH, FULL_READINGS = 28, 24
_GOLDEN = (5**0.5 - 1) / 2


def ideal(site: SimSite, price: float) -> tuple[float, float | None]:
    """Minutes between looks and, where a sitemap spares crawls, between full readings."""
    announced = site.rate * site.webhook
    listed = {Sitemap.HONEST: 1.0, Sitemap.PART: 2 / 3}.get(site.sitemap)
    if listed is None:
        return best(lambda interval: polled(site.rate, announced, price, interval), LONGEST)[1], None
    longest = [LONGEST]
    if listed < 1:
        longest = [SHORTEST * (LONGEST / SHORTEST) ** (step / FULL_READINGS) for step in range(1, FULL_READINGS + 1)]
    choices = (
        (*best(lambda look, full=full: told(site.rate, listed, price, look, full), full), full)  # type: ignore[misc]
        for full in longest
    )
    _, look, full = max(choices)
    return look, full


def polled(rate: float, announced: float, price: float, interval: float) -> float:
    """Freshness less cost of a site that is read `interval` minutes after it was last read, for whatever reason.

    A webhook that calls at the rate `announced` has it read for nothing; a renewal argument gives the rest.
    """
    fresh = -expm1(-rate * interval) / rate
    length = -expm1(-announced * interval) / announced if announced else interval
    return (fresh - price * (1 + LOOK_COST) * exp(-announced * interval)) / length


def told(rate: float, listed: float, price: float, look: float, full: float) -> float:
    """Freshness less cost of a site whose sitemap is asked every `look` minutes and names the share `listed` of its
    changes; it is read when the sitemap names one, and `full` minutes after it was last read.
    """
    silent = rate * listed * look
    looks = expm1(-silent * full / look) / expm1(-silent) if silent > 1e-12 else full / look
    fresh = -expm1(-rate * full) / rate
    return (fresh - price * (1 + LOOK_COST * looks)) / (look * looks)


def best(worth: Callable[[float], float], longest: float) -> tuple[float, float]:
    """The greatest worth of an interval between the bounds, and the interval (golden-section search)."""
    low, high = log(SHORTEST), log(longest)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = worth(exp(left)), worth(exp(right))
    for _ in range(SEARCH):
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = worth(exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = worth(exp(right))
    return max((worth(interval), interval) for interval in (exp((low + high) / 2), SHORTEST, longest))


class Oracle:
    """`ideal` as a policy at one price for all sites."""

    def __init__(self, price: float) -> None:
        self.price = price
        self._ideal: dict[int, tuple[float, float | None]] = {}

    def _of(self, site: SimSite) -> tuple[float, float | None]:
        found = self._ideal.get(id(site))
        if found is None:
            found = self._ideal[id(site)] = ideal(site, self.price)
        return found

    def first(self, site: SimSite, memory: Memory, spread: float) -> float:
        return spread * min(memory.interval, self._of(site)[0])

    def after(self, site: SimSite, memory: Memory, look: Look) -> tuple[float, bool]:
        interval, full = self._of(site)
        if full is None:
            return interval, True
        if look.crawled:
            memory.numbers["read"] = look.now
        left = memory.numbers.get("read", 0.0) + full - look.now
        return min(interval, max(SHORTEST, left)), left <= interval
