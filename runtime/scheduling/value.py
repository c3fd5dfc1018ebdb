"""How long to wait for the next look: the interval at which one more look would not be worth its price.

A site that changes at rate λ and is read every τ is up to date for the share F(τ) = (1 - exp(-λτ)) / λτ of the time
(J. Cho and H. Garcia-Molina, "Effective page refresh policies for web crawlers", TODS 2003). With looks 1/τ that cost
K(τ) each, the best τ under a budget maximises F(τ) - price × K(τ)/τ for every site, at one common price: the minutes
of staleness that a crawl has to save to be worth it. Uncertain rates need no other rule: F is averaged over the belief.
"""

from __future__ import annotations

from math import exp, log
from typing import Protocol


class Change(Protocol):
    """What has to be known of a rate: `Belief` is one; a rate known for certain is another."""

    def outlook(self, minutes: float) -> tuple[float, float, float]:
        """The chance S that nothing changes in the next `minutes`, how many of them are expected to pass before the
        first change, and how fast the chance falls at their end (-minutes × S').
        """


STEPS = 18
"""Halvings of the range on a logarithmic scale: from an hour to a month is halved to a ten-thousandth."""


def freshness(change: Change, interval: float) -> float:
    """The share of the time that a copy is up to date which is read every `interval` minutes."""
    return change.outlook(interval)[1] / interval


def cost(change: Change, interval: float, *, look: float, alarm: float) -> float:
    """Crawls that one look costs, on average.

    :param look: what asking costs when the answer is "unchanged", in crawls (a conditional request or two).
    :param alarm: how likely a look crawls although nothing changed; 1 where nothing cheap can be asked.
    """
    quiet = change.outlook(interval)[0]
    return look + (1 - quiet) + alarm * quiet


def best_interval(
    change: Change, price: float, shortest: float, longest: float, *, look: float = 0.0, alarm: float = 1.0
) -> float:
    """The interval (minutes) of the greatest freshness less cost, between two bounds.

    The gain of looking a little more often is negative for short intervals and positive for long ones, with one
    change of sign (the terms of its derivative change sign once in the order of their rates), so halving finds it.
    """
    if _gain(change, price, longest, look, alarm) <= 0:
        return longest
    if _gain(change, price, shortest, look, alarm) >= 0:
        return shortest
    low, high = log(shortest), log(longest)
    for _ in range(STEPS):
        middle = (low + high) / 2
        if _gain(change, price, exp(middle), look, alarm) > 0:
            high = middle
        else:
            low = middle
    return exp((low + high) / 2)


def _gain(change: Change, price: float, interval: float, look: float, alarm: float) -> float:
    """The derivative of freshness less cost with respect to the number of looks f = 1/τ.

    d/df [f G(1/f) - price f K(1/f)] = G - τS - price (K - τK'), G being the fresh minutes and K the cost of a look,
    look + 1 - (1 - alarm) S.
    """
    unchanged, fresh, falling = change.outlook(interval)
    marginal = look + 1 - (1 - alarm) * (unchanged + falling)
    return fresh - interval * unchanged - price * marginal
