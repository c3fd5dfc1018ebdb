"""The world in which a schedule is judged: sites change, looks are due, a budget lets crawls start."""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.freshness.policies import Look, Memory, Policy, Product, priced
from benchmarks.freshness.workload import DAY, SimSite
from runtime.scheduling.budget import next_price
from runtime.scheduling.decide import PLANNED

MONTH = 30 * DAY
WEBHOOK_MINUTES = 2.0
STALE_MINUTES = 30 * DAY
"""The product reads a site in full every 30 days, or four intervals, whatever its sitemap says."""

TARGET = 0.985
"""The share of the budget that the price aims at; the rest is for days that are busier than planned."""

CRAWL_BYTES, LOOK_BYTES = 1_000_000, 5_000


@dataclass(slots=True)
class Result:
    """Sums over all sites: minutes fresh and stale, the integral of age, crawls, looks, the busiest 24 hours.

    `crawls` are those that the schedule chose, `asked` those that a webhook asked for; `by_kind` has fresh minutes, all
    minutes and crawls of each kind of site.
    """

    minutes: float = 0.0
    fresh: float = 0.0
    aged: float = 0.0
    crawls: int = 0
    asked: int = 0
    looks: int = 0
    busiest: int = 0
    by_kind: dict[str, list[float]] = field(default_factory=dict)
    prices: list[float] = field(default_factory=list)
    months: list[list[float]] = field(default_factory=list)

    @property
    def freshness(self) -> float:
        """The share of the time that a published file equals its site."""
        return self.fresh / self.minutes

    @property
    def mean_age_hours(self) -> float:
        """How long ago the first change was that a file lacks, averaged over all files and all times."""
        return self.aged / self.minutes / 60

    @property
    def bytes_read(self) -> int:
        return (self.crawls + self.asked) * CRAWL_BYTES + self.looks * LOOK_BYTES


@dataclass(slots=True)
class _Row:
    site: SimSite
    memory: Memory
    due: float
    full: bool = False
    version: int = 0
    looked: float = 0.0
    read: float = 0.0
    planned: float = 0.0


def run(
    sites: Sequence[SimSite],
    policy: Policy,
    *,
    days: float,
    interval: float = 7 * DAY,
    seed: int = 1,
    crawls_a_day: float | None = None,
    price: float | None = None,
) -> Result:
    """Let `days` pass.

    :param crawls_a_day: never more crawls start in any 24 hours, those included that a webhook asks for; what is due
        beyond it waits, webhooks first.
    :param price: with a budget, the learned policy's first price; it then follows what is planned, once a day.
    """
    rng = random.Random(seed)
    end, result = days * DAY, Result(minutes=len(sites) * days * DAY)
    rows, queue = _enrolled(sites, policy, interval, rng)
    starts: deque[float] = deque()
    tomorrow, asked = DAY, 0
    while queue:
        now, number, version, announced = heapq.heappop(queue)
        if now >= end:
            break
        row = rows[number]
        if not announced and version != row.version:
            continue
        while now >= tomorrow:
            tomorrow += DAY
            if price is not None and crawls_a_day is not None and isinstance(policy, Product):
                room = TARGET * crawls_a_day - (result.asked - asked)
                price, asked = next_price(price, sum(row.planned for row in rows), room), result.asked
                priced(policy, price)
                result.prices.append(price)
        while starts and starts[0] <= now - DAY:
            starts.popleft()
        if crawls_a_day is not None and len(starts) >= int(crawls_a_day):
            free = starts[0] + DAY + (1e-6 if announced else 2e-6)  # a webhook goes first
            heapq.heappush(queue, (free, number, version, announced))
            continue
        if _look(row, policy, now, announced=announced, rng=rng, result=result):
            starts.append(now)
            result.busiest = max(result.busiest, len(starts))
        row.version += 1
        heapq.heappush(queue, (row.due, number, row.version, False))
    for row in rows:
        _read(row, end, result)
    return result


def _enrolled(
    sites: Sequence[SimSite], policy: Policy, interval: float, rng: random.Random
) -> tuple[list[_Row], list[tuple[float, int, int, bool]]]:
    """The rows at the start, and the queue of what is to come: looks, and the calls of webhooks."""
    rows: list[_Row] = []
    queue: list[tuple[float, int, int, bool]] = []
    for number, site in enumerate(sites):
        memory = Memory(interval)
        wait = policy.first(site, memory, rng.random())
        rows.append(_Row(site, memory, wait))
        queue.append((wait, number, 0, False))
        queue += [(time + WEBHOOK_MINUTES, number, -1, True) for time in site.announced]
    heapq.heapify(queue)
    return rows, queue


def _look(row: _Row, policy: Policy, now: float, *, announced: bool, rng: random.Random, result: Result) -> bool:
    """One look at a site: the sitemap first, the pages if it says so, or if they must be read; then the next one."""
    site, memory = row.site, row.memory
    says = site.sitemap_says(row.looked, now)
    stale = now - row.read >= max(STALE_MINUTES, 4 * memory.interval)
    crawled = announced or row.full or stale or says is not False
    result.looks += 1
    changed, unlisted, pages = False, False, 0
    if crawled:
        result.asked += announced
        result.crawls += not announced
        result.by_kind.setdefault(site.kind, [0.0, 0.0, 0.0])[2] += not announced
        changed = site.first_change_after(row.read) <= now
        pages = site.pages_between(row.read, now)
        unlisted = site.unlisted_between(row.read, now)
        _read(row, now, result)
    dated = site.dated_between(row.looked, now)
    newest = site.newest_between(row.looked, now)
    look = Look(
        now,
        changed,
        crawled,
        says,
        unlisted,
        dated,
        newest,
        pages,
        announced,
        now if announced else row.due,
        rng.random(),
    )
    wait, row.full = policy.after(site, memory, look)
    if changed:
        memory.last_change = now
    memory.last_look = row.looked = now
    row.due = now + wait
    row.planned = memory.numbers.get(PLANNED, DAY / wait)
    return crawled


def _read(row: _Row, now: float, result: Result) -> None:
    """Account for the time since the last reading: fresh until the first change, ageing from then on."""
    first = min(row.site.first_change_after(row.read), now)
    result.fresh += first - row.read
    result.aged += (now - first) ** 2 / 2
    month = int(row.read // MONTH)
    while month * MONTH < now:
        while len(result.months) <= month:
            result.months.append([0.0, 0.0])
        start, end = max(row.read, month * MONTH), min(now, (month + 1) * MONTH)
        result.months[month][0] += max(0.0, min(first, end) - start)
        result.months[month][1] += end - start
        month += 1
    kind = result.by_kind.setdefault(row.site.kind, [0.0, 0.0, 0.0])
    kind[0] += first - row.read
    kind[1] += now - row.read
    row.read = now
