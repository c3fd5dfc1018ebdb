"""Policies side by side: as they are, and held to the number of crawls that the fixed interval of 7 days takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log
from typing import Any

from benchmarks.freshness.oracle import Oracle
from benchmarks.freshness.policies import Policy, Product, Rule, doubling, nutch, specified_ewma
from benchmarks.freshness.simulate import Result, run
from benchmarks.freshness.workload import DAY, WORKLOADS, SimSite

SAMPLE = 400
LOWEST, HIGHEST = log(1e-3), log(1e8)
"""Sites that a price or a scale is fitted on, before the whole fleet is run with it."""

WEEK = 7 * DAY
FIXED = {"fixed 7 days": WEEK, "fixed 3 days": 3 * DAY, "fixed 1 day": DAY}
SCALES, PRICES = (0.25, 0.5, 1.0, 2.0, 4.0), (100.0, 400.0, 1_200.0, 3_000.0, 8_000.0)

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


def _fixed(scale: float) -> Policy:
    return Product("fixed", scale=scale)


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


@dataclass(frozen=True, slots=True)
class Task:
    """One part of a comparison, done by itself in any process: the sites are made anew from their seed."""

    workload: str
    count: int
    days: float
    seed: int
    part: str
    name: str

    def sites(self, most: int | None = None) -> list[SimSite]:
        return _sites(self.workload, self.count, self.days, self.seed)[:most]

    def run(self) -> Any:
        return PARTS[self.part](self)


Each = Callable[[Callable[[Task], Any], Iterable[Task]], Iterable[Any]]
"""`map`, or that of a pool of processes."""


@lru_cache(maxsize=1)
def _sites(workload: str, count: int, days: float, seed: int) -> list[SimSite]:
    return WORKLOADS[workload](count, days, seed)


def compare(
    workload: str, count: int, days: float, seed: int, say: Callable[[str], None], each: Each = map
) -> Comparison:
    """Run everything on one workload."""
    others = list(OTHERS)
    tasks = [Task(workload, count, days, seed, AT_THE_BUDGET, name) for name in (PRICED, *reversed(others), "oracle")]
    tasks += [Task(workload, count, days, seed, AS_IT_IS, name) for name in reversed([*FIXED, *others])]
    tasks += [Task(workload, count, days, seed, AS_FRESH, name) for name in FIXED]
    found: dict[tuple[str, str], Any] = {}
    for task, result in zip(tasks, each(Task.run, tasks), strict=True):
        found[task.part, task.name] = result
        for line in result if task.part != AS_FRESH else ():
            say(f"{workload}: {line.name}: {line.result.freshness:.4f} fresh, {line.crawls_a_day:.0f} crawls a day")
    fixed = found[AS_IT_IS, "fixed 7 days"]
    as_they_are = [line for name in ("fixed 7 days", "fixed 1 day", *others) for line in found[AS_IT_IS, name]]
    at_the_budget = [*fixed, *(line for name in (*others, PRICED, "oracle") for line in found[AT_THE_BUDGET, name])]
    equal = {name: found[AS_FRESH, name] for name in FIXED}
    return Comparison(workload, count, days, fixed[0].crawls_a_day, as_they_are, at_the_budget, equal)


def _as_it_is(task: Task) -> list[Line]:
    interval = FIXED.get(task.name)
    policy = OTHERS[task.name](1.0) if interval is None else Product("fixed")
    return [Line(task.name, run(task.sites(), policy, days=task.days, interval=interval or WEEK), task.days)]


def _at_the_budget(task: Task) -> list[Line]:
    """A policy fitted on the first sites, then run on all; the priced one also with a limit on any 24 hours."""
    make: Scaled = {PRICED: _learned, "oracle": Oracle}.get(task.name) or OTHERS[task.name]
    sample, sites, days = task.sites(SAMPLE), task.sites(), task.days
    value = fitted(make, sample, days, run(sample, Product("fixed"), days=days).crawls / days)
    lines = [Line(task.name, run(sites, make(value), days=days), days)]
    if task.name == PRICED:
        fixed = run(sites, Product("fixed"), days=days)
        whole = (fixed.crawls + fixed.asked) / days
        held = run(sites, Product("learned", price=value), days=days, crawls_a_day=whole, price=value)
        lines.append(Line(BUDGETED, held, days))
    return lines


def _as_fresh(task: Task) -> tuple[float, ...]:
    sample = task.sites(SAMPLE)
    same = run(sample, Product("fixed"), days=task.days, interval=FIXED[task.name])
    return tuple(_equal(sample, task.days, same, make) for make in (_learned, Oracle))


def _equal(sites: Sequence[SimSite], days: float, fixed: Result, make: Callable[[float], Policy]) -> float:
    """The share of a fixed interval's crawls with which a priced policy is as fresh."""
    crawls: list[float] = []

    def fresher(price: float) -> float:
        result = run(sites, make(price), days=days)
        crawls.append(result.crawls)
        return 5 * (result.freshness - fixed.freshness)

    root(fresher, 1_000.0, 2.5e-3)
    return crawls[-1] / fixed.crawls


def curves(workload: str, count: int, days: float, seed: int, each: Each = map) -> dict[str, list[tuple[float, float]]]:
    """Freshness over crawls a day and site, for each policy at several scales or prices."""
    names = ["fixed", *(name for name in OTHERS if not name.startswith("learned")), "learned", "oracle"]
    tasks = [Task(workload, count, days, seed, CURVE, name) for name in names]
    return dict(zip(names, each(Task.run, tasks), strict=True))


def _curve(task: Task) -> list[tuple[float, float]]:
    own: dict[str, Scaled] = {"fixed": _fixed, "learned": _learned, "oracle": Oracle}
    make: Scaled = own.get(task.name) or OTHERS[task.name]
    values = PRICES if task.name in ("learned", "oracle") else SCALES
    results = [run(task.sites(), make(value), days=task.days) for value in values]
    return sorted((result.crawls / task.days / task.count, result.freshness) for result in results)


AT_THE_BUDGET, AS_IT_IS, AS_FRESH, CURVE = "at the budget", "as it is", "as fresh", "curve"
PARTS: dict[str, Callable[[Task], Any]] = {
    AT_THE_BUDGET: _at_the_budget, AS_IT_IS: _as_it_is, AS_FRESH: _as_fresh, CURVE: _curve,
}  # fmt: skip
