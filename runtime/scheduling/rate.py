"""How often something changes, learned from looks at irregular times that only tell whether it changed.

A look that finds a change says "once or more since the last look": the observation is censored (J. Cho and
H. Garcia-Molina, "Estimating frequency of change", TOIT 2003). With Poisson changes its likelihood is 1 - exp(-λτ),
that of a quiet look exp(-λτ). What has to be kept of all looks is therefore the total quiet time, and of the changes
only how often they were found after how long: counts at eight lengths of time. An update is O(1), and the belief is
the Bayesian one.

More changes never lower the believed rate: each change multiplies the likelihood by a function that grows with λ, each
quiet look by one that falls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, expm1, log, log1p, sqrt
from operator import mul

GAPS = tuple(60.0 * 3.0**power for power in range(8))
"""Minutes. A change found after another time counts for the two neighbours, in proportion."""

RATES = tuple(exp(log(1 / 1_576_800) + step * log(1_576_800 / 10) / 47) for step in range(48))
"""Changes a minute, from one in three years to one in ten minutes: where a belief is evaluated."""

PRIOR_SPREAD = 1.6
"""Standard deviation of the logarithm of an unknown rate: 19 of 20 are within a factor of 23 of the guess."""

LEFT_ALONE = 0.3
"""The share of sites that are expected not to change at all: many pages never do while they are watched (D. Fetterly et
al., "A large-scale study of the evolution of web pages", WWW 2003). One change is enough to belong to the others."""

PAGES_A_CHANGE, PAGES_WEIGHT = 2.0, 0.2
"""How many pages a further change touches, and how much of an observation their number is believed to be."""

_LOG_RATES = tuple(log(rate) for rate in RATES)
_FOUND = tuple(tuple(log(-expm1(-rate * gap)) for rate in RATES) for gap in GAPS)
_MOST = 1e9


@dataclass(frozen=True, slots=True)
class Belief:
    """What is believed of a rate: a Gamma distribution, `shape` changes in `minutes` of watching.

    `typical` are the minutes between changes at the geometric mean of the rate: the middle of a wide belief.
    """

    shape: float
    minutes: float
    typical: float

    @property
    def mean(self) -> float:
        """Changes a minute."""
        return self.shape / self.minutes

    @property
    def relative_error(self) -> float:
        """The standard deviation of the rate in units of its mean: 1 is a guess, 0.1 is known well."""
        return 1 / sqrt(self.shape)

    def outlook(self, minutes: float) -> tuple[float, float, float]:
        """The chance that nothing changes in the next `minutes`, how many of them are expected to pass before the
        first change, and how fast the chance falls at their end (-minutes times its derivative).
        """
        step = log1p(minutes / self.minutes)
        unchanged = exp(-self.shape * step)
        power = 1 - self.shape
        fresh = self.minutes * (step if abs(power) < 1e-9 else expm1(power * step) / power)
        return unchanged, fresh, self.shape * minutes / (self.minutes + minutes) * unchanged


@dataclass(frozen=True, slots=True)
class Watched:
    """What was seen so far: `quiet` minutes without a change, and how many changes after how long (`GAPS`).

    `told` counts changes that the site itself dated, one by one; the time they happened in is part of `quiet`.
    """

    quiet: float = 0.0
    found: tuple[float, ...] = (0.0,) * len(GAPS)
    told: float = 0.0

    def after_quiet(self, minutes: float) -> Watched:
        return replace(self, quiet=min(_MOST, self.quiet + max(0.0, minutes)))

    def after_change(self, minutes: float) -> Watched:
        """With a change found `minutes` after the look before; one found at once says as much as after an hour."""
        at = min(max(log(max(minutes, GAPS[0]) / GAPS[0]) / log(3.0), 0.0), len(GAPS) - 1.0)
        left = min(int(at), len(GAPS) - 2)
        found = list(self.found)
        found[left] += 1 - (at - left)
        found[left + 1] += at - left
        return replace(self, found=tuple(found))

    def after_count(self, changes: int, minutes: float) -> Watched:
        """With exactly `changes` changes in `minutes`."""
        return replace(self.after_quiet(minutes), told=self.told + max(0, changes))

    def after_pages(self, pages: int, minutes: float) -> Watched:
        """With a change that touched `pages` pages, found after `minutes`.

        Many changed pages are several changes, or one large one. They count for a small part as changes that were told
        apart, one for the first page and one for each `PAGES_A_CHANGE` more, and for the rest as one censored change.
        """
        changes = 1 + max(0, pages - 1) / PAGES_A_CHANGE
        return self._partly(PAGES_WEIGHT, changes, minutes, minutes)

    def after_newest(self, age: float, minutes: float, trust: float) -> Watched:
        """With a change found after `minutes` that a date believed as far as `trust` says was made `age` minutes ago.

        A date hides earlier edits of its page but no later one: a change at that time and none since, and nothing is
        known of the time before it. What the date is not trusted for is a censored change.
        """
        return self._partly(trust, 1.0, min(max(age, 0.0), minutes), minutes)

    def _partly(self, share: float, changes: float, counted: float, minutes: float) -> Watched:
        """With `changes` told apart in `counted` minutes as `share` of an observation, and as the rest of it a change
        found after `minutes`.
        """
        found = tuple(
            before + (after - before) * (1 - share)
            for before, after in zip(self.found, self.after_change(minutes).found, strict=True)
        )
        return replace(self.after_quiet(counted * share), found=found, told=self.told + share * changes)

    @classmethod
    def of_dates(cls, ages: Sequence[float], minutes: float, half_life: float) -> Watched:
        """What dates tell of the last `minutes`: something changed so many minutes ago (`ages`), and at no other time.

        What is old counts less, half after each `half_life`, as if it had been watched and faded since (`forgetting`).
        """
        decay = log(2) / half_life
        return cls(quiet=-expm1(-decay * minutes) / decay, told=sum(exp(-decay * age) for age in ages))

    def plus(self, other: Watched, share: float) -> Watched:
        """With `share` of what another record holds."""
        found = tuple(mine + share * theirs for mine, theirs in zip(self.found, other.found, strict=True))
        return Watched(self.quiet + share * other.quiet, found, self.told + share * other.told)

    def forgetting(self, kept: float) -> Watched:
        """With only the share `kept` of everything: sites change their habits."""
        return Watched(self.quiet * kept, tuple(count * kept for count in self.found), self.told * kept)

    def belief(self, guess_minutes: float) -> Belief:
        """What this says of the rate, if one change in `guess_minutes` was the guess beforehand.

        The Gamma distribution nearest to the posterior: with its mean, and the mean of its logarithm (T. Minka,
        "Estimating a Gamma distribution", 2002, for the closed form of the shape).
        """
        logs = [start - self.quiet * rate for start, rate in zip(_prior(guess_minutes), RATES, strict=True)]
        if self.told:
            logs = [value + self.told * log_rate for value, log_rate in zip(logs, _LOG_RATES, strict=True)]
        for known, count in zip(_FOUND, self.found, strict=True):
            if count:
                logs = [value + count * log_found for value, log_found in zip(logs, known, strict=True)]
        top = max(logs)
        weights = [exp(value - top) for value in logs]
        total = sum(weights)
        mean = sum(map(mul, weights, RATES)) / total
        mean_log = sum(map(mul, weights, _LOG_RATES)) / total
        gap = max(log(mean) - mean_log, 1e-4)
        shape = (3 - gap + sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
        return Belief(shape, shape / mean, exp(-mean_log))

    def as_numbers(self, name: str) -> dict[str, float]:
        """The numbers to remember, zeros left out."""
        numbers = {f"{name}_quiet": round(self.quiet, 1), f"{name}_told": round(self.told, 4)}
        numbers |= {f"{name}_{gap:.0f}": round(count, 4) for gap, count in zip(GAPS, self.found, strict=True)}
        return {key: value for key, value in numbers.items() if value}

    @classmethod
    def from_numbers(cls, name: str, memory: Mapping[str, float]) -> Watched:
        """What `as_numbers` gave; a number that is missing or not sound is nothing seen."""
        return cls(
            _sound(memory.get(f"{name}_quiet", 0.0)),
            tuple(_sound(memory.get(f"{name}_{gap:.0f}", 0.0)) for gap in GAPS),
            _sound(memory.get(f"{name}_told", 0.0)),
        )


@lru_cache(maxsize=4_096)
def _prior(guess_minutes: float) -> tuple[float, ...]:
    """The logarithm of the prior at `RATES`: log-normal around the guess, and `LEFT_ALONE` at the lowest rate."""
    middle = -log(guess_minutes)
    alive = [exp(-(((log_rate - middle) / PRIOR_SPREAD) ** 2) / 2) for log_rate in _LOG_RATES]
    share = (1 - LEFT_ALONE) / sum(alive)
    return tuple(log(max(share * weight + (0 if at else LEFT_ALONE), 1e-300)) for at, weight in enumerate(alive))


def _sound(value: float) -> float:
    return value if 0 <= value <= _MOST else 0.0
