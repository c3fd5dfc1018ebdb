"""Policies side by side: as they are, and held to the number of crawls that the fixed interval of 7 days takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log

from benchmarks.freshness.oracle import Oracle
from benchmarks.freshness.policies import Policy, Product, Rule, doubling, nutch, specified_ewma
from benchmarks.freshness.simulate import Result, run
from benchmarks.freshness.workload import DAY, WORKLOADS, SimSite

SAMPLE = 200
LOWEST, HIGHEST = log(1e-3), log(1e8)
"""Sites that a price or a scale is fitted on, before the whole fleet is run with it."""

PRICED = "learned, at one price"
BUDGETED = "learned, no 24 hours above it"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table."""

    name: str
    result: Result
    days: float

    @property
    def crawls_a_day(self) -> float:
        """Crawls of the schedule; those that a webhook asked for are the same for all."""
        return self.result.crawls / self.days


@dataclass(frozen=True, slots=True)
class Comparison:
    """All lines of a workload. `budget` is crawls a day; `equal` says, for a fixed interval, what share of its crawls
    the learned policy and the oracle need to be as fresh.
    """

    workload: str
    sites: int
    days: float
    budget: float
    as_they_are: list[Line]
    at_the_budget: list[Line]
    equal: dict[str, tuple[float, ...]]

    def share_of_oracle(self, name: str) -> float:
        by_name = {line.name: line.result.freshness for line in self.at_the_budget}
        return by_name[name] / by_name["oracle"]


Scaled = Callable[[float], Policy]


def _learned(price: float) -> Policy:
    return Product("learned", price=price)


OTHERS: dict[str, Scaled] = {
    "the specification's EWMA, as written": lambda scale: Rule(specified_ewma, scale),
    "Nutch AdaptiveFetchSchedule": lambda scale: Rule(nutch, scale),
    "doubling and halving": lambda scale: Rule(doubling, scale),
    "ewma": lambda scale: Product("ewma", scale=scale),
    "learned, without a budget": lambda scale: Product("learned", scale=scale),
}


def root(value: Callable[[float], float], start: float, tolerance: float) -> float:
    """Where a falling function of the logarithm of a price or a scale is zero: secants, kept within a bracket."""
    low, high, at, slope = LOWEST, HIGHEST, log(start), -0.6
    before: tuple[float, float] | None = None
    for _ in range(14):
        found = value(exp(at))
        if abs(found) <= tolerance:
            return exp(at)
        low, high = (at, high) if found > 0 else (low, at)
        if before is not None:
            slope = (found - before[1]) / (at - before[0])
        before = at, found
        at += max(-2.0, min(2.0, found / min(2.0, max(0.05, -slope))))
        if not low < at < high:
            at = (low + high) / 2
    return exp(at)


def fitted(make: Callable[[float], Policy], sites: Sequence[SimSite], days: float, crawls_a_day: float) -> float:
    """The scale or price with which `sites` take `crawls_a_day`, to a tenth of a percent."""

    def excess(scale: float) -> float:
        return log(run(sites, make(scale), days=days).crawls / days / crawls_a_day)

    return root(excess, 1_000.0 if make in (_learned, Oracle) else 1.2, 1e-3)


def compare(workload: str, count: int, days: float, seed: int, say: Callable[[str], None]) -> Comparison:
    """Run everything on one workload."""
    sites = WORKLOADS[workload](count, days, seed)
    sample = sites[: min(SAMPLE, count)]

    def line(name: str, policy: Policy, **more: float | None) -> Line:
        made = Line(name, run(sites, policy, days=days, **more), days)  # type: ignore[arg-type]
        say(f"{workload}: {name}: {made.result.freshness:.4f} fresh, {made.crawls_a_day:.0f} crawls a day")
        return made

    fixed = line("fixed 7 days", Product("fixed"))
    budget = fixed.crawls_a_day
    share = run(sample, Product("fixed"), days=days).crawls / days
    as_they_are = [fixed, line("fixed 1 day", Product("fixed"), interval=DAY)]
    as_they_are += [line(name, make(1.0)) for name, make in OTHERS.items()]
    at_the_budget = [fixed]
    for name, make in OTHERS.items():
        at_the_budget.append(line(name, make(fitted(make, sample, days, share))))
    price = fitted(_learned, sample, days, share)
    at_the_budget.append(line(PRICED, Product("learned", price=price)))
    whole = budget + fixed.result.asked / days
    at_the_budget.append(line(BUDGETED, Product("learned", price=price), crawls_a_day=whole, price=price))
    at_the_budget.append(line("oracle", Oracle(fitted(Oracle, sample, days, share))))
    equal: dict[str, tuple[float, ...]] = {}
    for name, interval in (("fixed 7 days", 7 * DAY), ("fixed 3 days", 3 * DAY), ("fixed 1 day", DAY)):
        same = run(sample, Product("fixed"), days=days, interval=interval)
        equal[name] = tuple(_equal(sample, days, same, make) for make in (_learned, Oracle))
        say(f"{workload}: as fresh as {name} with {equal[name][0]:.1%} of its crawls, the oracle {equal[name][1]:.1%}")
    return Comparison(workload, count, days, budget, as_they_are, at_the_budget, equal)


def _equal(sites: Sequence[SimSite], days: float, fixed: Result, make: Callable[[float], Policy]) -> float:
    """The share of a fixed interval's crawls with which a priced policy is as fresh."""
    crawls: list[float] = []

    def fresher(price: float) -> float:
        result = run(sites, make(price), days=days)
        crawls.append(result.crawls)
        return 5 * (result.freshness - fixed.freshness)

    root(fresher, 1_000.0, 2.5e-3)
    return crawls[-1] / fixed.crawls


def curves(workload: str, count: int, days: float, seed: int) -> dict[str, list[tuple[float, float]]]:
    """Freshness over crawls a day and site, for each policy at several scales or prices."""
    sites = WORKLOADS[workload](count, days, seed)

    def points(make: Callable[[float], Policy], values: Sequence[float]) -> list[tuple[float, float]]:
        results = [run(sites, make(value), days=days) for value in values]
        return sorted((result.crawls / days / count, result.freshness) for result in results)

    scales = (0.25, 0.5, 1.0, 2.0, 4.0)
    found = {"fixed": points(lambda scale: Product("fixed", scale=scale), scales)}
    found |= {name: points(make, scales) for name, make in OTHERS.items() if not name.startswith("learned")}
    prices = (100.0, 400.0, 1_200.0, 3_000.0, 8_000.0)
    found["learned"] = points(_learned, prices)
    found["oracle"] = points(Oracle, prices)
    return found
