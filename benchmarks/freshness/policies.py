"""The schedules that are compared, behind one call: what a look saw goes in, the next interval comes out.

`fixed`, `ewma` and `learned` are the product's own code. The others are rules from elsewhere, written from their
descriptions; `scale` stretches all their intervals, so that each can be held to the same number of crawls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from benchmarks.freshness.workload import DAY, SimSite, Sitemap
from runtime.models import Outcome
from runtime.scheduling import History, ScheduleSettings, decide
from runtime.scheduling.past import past_of

START = datetime(2026, 1, 1, tzinfo=UTC)
SHORTEST, LONGEST = 60.0, 28 * DAY


@dataclass(slots=True)
class Look:
    """What the policy is told of a look. Times are minutes."""

    now: float
    changed: bool
    crawled: bool
    says: bool | None
    unlisted: bool
    dated: int | None
    newest: float | None
    pages: int
    announced: bool
    due: float
    spread: float


@dataclass(slots=True)
class Memory:
    """What the row keeps between looks."""

    interval: float
    average: float | None = None
    last_look: float = 0.0
    last_change: float = 0.0
    numbers: dict[str, float] = field(default_factory=dict)


class Policy(Protocol):
    def first(self, site: SimSite, memory: Memory, spread: float) -> float:
        """Minutes from the first file to the next look; `spread` puts sites at different points of their interval."""

    def after(self, site: SimSite, memory: Memory, look: Look) -> tuple[float, bool]:
        """Minutes to the next look, and whether it reads the pages in any case."""


class Product:
    """The product's `decide`, with the row's columns in its `History`."""

    def __init__(self, name: str, *, price: float | None = None, scale: float = 1.0) -> None:
        self.settings = ScheduleSettings(adaptive_policy=name if name != "fixed" else "ewma", price=price)
        self.adaptive = name != "fixed"
        self.scale = scale

    def first(self, site: SimSite, memory: Memory, spread: float) -> float:
        history = History(
            interval_minutes=memory.interval,
            outcome=Outcome.UPDATED,
            adaptive=self.adaptive,
            due_at=START,
            sitemap_says_changed=None if site.sitemap is Sitemap.NONE else True,
            past=past_of(site.dates),
        )
        decision = decide(history, self.settings, START, spread=0.5)
        memory.numbers, memory.average = dict(decision.memory), decision.avg_change_interval_minutes
        return (decision.next_crawl_at - START).total_seconds() / 60 * self.scale * spread

    def after(self, site: SimSite, memory: Memory, look: Look) -> tuple[float, bool]:
        del site
        now = START + timedelta(minutes=look.now)
        outcome = Outcome.UPDATED if look.changed else Outcome.UNCHANGED_CONTENT
        history = History(
            interval_minutes=memory.interval,
            outcome=outcome if look.crawled else Outcome.UNCHANGED_SITEMAP,
            adaptive=self.adaptive,
            avg_change_interval_minutes=memory.average,
            due_at=START + timedelta(minutes=look.due),
            last_checked_at=START + timedelta(minutes=memory.last_look),
            memory=memory.numbers,
            announced=look.announced,
            sitemap_says_changed=look.says,
            unlisted=look.unlisted if look.crawled else None,
            changes=look.dated,
            newest=look.newest,
            pages_changed=look.pages,
        )
        decision = decide(history, self.settings, now, spread=look.spread)
        memory.numbers = dict(decision.memory)
        memory.average = decision.avg_change_interval_minutes
        return (decision.next_crawl_at - now).total_seconds() / 60 * self.scale, decision.full


@dataclass(slots=True)
class Rule:
    """A rule of another system: `step(memory, look)` gives minutes."""

    step: Callable[[Memory, Look], float]
    scale: float = 1.0

    def first(self, site: SimSite, memory: Memory, spread: float) -> float:
        del site
        return spread * memory.interval * self.scale

    def after(self, site: SimSite, memory: Memory, look: Look) -> tuple[float, bool]:
        del site
        return max(SHORTEST, self.step(memory, look) * self.scale), False


def specified_ewma(memory: Memory, look: Look) -> float:
    """The specification's section "Adaptive Scheduling", to the letter: the average moves on a change alone."""
    average = memory.interval if memory.average is None else memory.average
    if look.changed:
        average = 0.5 * (look.now - memory.last_change) + 0.5 * average
    memory.average = average
    return max(60.0, min(10_080.0, average))


def nutch(memory: Memory, look: Look) -> float:
    """Apache Nutch's AdaptiveFetchSchedule: a fifth shorter after a change, two fifths longer after none."""
    interval = memory.interval if memory.average is None else memory.average
    memory.average = min(LONGEST, max(SHORTEST, interval * (0.8 if look.changed else 1.4)))
    return memory.average


def doubling(memory: Memory, look: Look) -> float:
    """Halved after a change, doubled after none."""
    interval = memory.interval if memory.average is None else memory.average
    memory.average = min(LONGEST, max(SHORTEST, interval * (0.5 if look.changed else 2.0)))
    return memory.average


def priced(policy: Product, price: float) -> None:
    """Set the price that a policy of the product goes by."""
    policy.settings = replace(policy.settings, price=price)
