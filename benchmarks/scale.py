"""A million sites for two weeks: real claims and real schedules on a thinned fleet, unit costs as measured.

    python -m benchmarks.scale                 the table of docs/scale.md
    python -m benchmarks.scale --rows 2000     coarser and quicker

Each row stands for `1,000,000 / rows` sites. Rows are claimed, renewed and committed by `SqliteSites` on a simulated
clock, and `runtime.scheduling.decide` says when each is due again. What is modelled are the workers: so many at once,
each takes a batch, and a batch takes as long as `benchmarks.money` says. The fleet begins with its worst day: all
sites are enrolled, and so due, at once.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.money import CHANGED, Visit, visit_cost
from benchmarks.table import figure
from cdk import prices
from cdk.config import load_stage
from runtime.dispatch import MAX_CLAIMS_PER_TICK
from runtime.errors import StaleClaim
from runtime.models import Claim, Commit, Outcome, SiteOptions
from runtime.registry import Enrollment
from runtime.scheduling import History, ScheduleSettings, decide, spread_of
from runtime.settings import Settings
from runtime.sites.sqlite import SqliteSites

SITES = 1_000_000
START = datetime(2026, 12, 7, tzinfo=UTC)
DAYS = 14
LEASE_SECONDS = 330
CLAIM_BATCH = Settings().claim_batch
QUIET, CHANGED_VISIT = Visit(0.007, 6, 2, 0), Visit(0.030, 23, 2, 3)
"""CPU seconds, requests, objects: the last measurement of `benchmarks.money`."""


@dataclass(frozen=True)
class Plan:
    """What an operator chooses."""

    name: str
    tick: timedelta
    workers: int
    batch: int = 10
    bound: int | None = None
    """Set by hand; by default a stage computes it."""

    @property
    def most_a_tick(self) -> int:
        """`claims_per_tick` of such a stage."""
        seconds = int(self.tick.total_seconds())
        computed = load_stage(
            {
                "schedule": f"rate({seconds // 60} minutes)",
                "workerMaxConcurrency": str(self.workers),
                "workerBatchSize": str(self.batch),
            }
        ).claims_per_tick
        return self.bound or computed

    @property
    def batch_seconds(self) -> float:
        """Cold starts, Supabase and S3 included generously, beside what the sites wait and compute."""
        return 1.0 + max(CHANGED_VISIT.waits, self.batch * CHANGED_VISIT.cpu / 0.5)

    @property
    def sites_a_second(self) -> float:
        return self.workers * self.batch / self.batch_seconds


PLANS = (
    Plan("6 hours, 5 workers (the defaults)", timedelta(hours=6), 5),
    Plan("6 hours, 20 workers (prod)", timedelta(hours=6), 20),
    Plan("1 hour, 20 workers", timedelta(hours=1), 20),
    Plan("1 hour, 20 workers, batch of 50", timedelta(hours=1), 20, batch=50),
    Plan("15 minutes, 20 workers, batch of 50", timedelta(minutes=15), 20, batch=50),
    Plan("15 minutes, 20 workers, 100,000 a tick by hand", timedelta(minutes=15), 20, bound=MAX_CLAIMS_PER_TICK),
)


@dataclass
class Fleet:
    """One plan at work. Times are simulated seconds since the start."""

    plan: Plan
    sites: SqliteSites
    rows: int
    now: float = 0.0
    queue: deque[Claim] = field(default_factory=deque)
    late: list[float] = field(default_factory=list)
    stale: int = 0
    visits: int = 0
    changed: int = 0
    longest_queue: int = 0
    largest_tick: int = 0
    statements: int = 0
    taken_in_after: float = 0.0
    rng: random.Random = field(default_factory=lambda: random.Random(7))

    @property
    def weight(self) -> float:
        """How many sites a row stands for."""
        return SITES / self.rows

    def clock(self) -> datetime:
        return START + timedelta(seconds=self.now)

    async def tick(self) -> None:
        """Claim what is due, as the dispatcher does, up to what it takes in one tick."""
        most, taken = int(self.plan.most_a_tick / self.weight), 0
        while taken < most:
            batch = await self.sites.claim_due(
                limit=min(CLAIM_BATCH, most - taken),
                lease_seconds=LEASE_SECONDS,
                owner=f"tick-{self.now}",
                slack_seconds=300,
            )
            if not batch:
                break
            taken += len(batch)
            self.queue.extend(batch)
        self.statements += round(taken * self.weight / CLAIM_BATCH) + 1
        self.largest_tick = max(self.largest_tick, taken)
        self.longest_queue = max(self.longest_queue, len(self.queue))

    async def work(self, until: float) -> None:
        """Let the workers run until the next tick. A row in the queue stands for many sites, one after another."""
        step = self.weight / self.plan.sites_a_second
        while self.queue and self.now + step <= until:
            self.now += step
            await self.visit(self.queue.popleft())
        self.now = until

    async def visit(self, given: Claim) -> None:
        try:
            claim = await self.sites.renew_lease(given, lease_seconds=LEASE_SECONDS)
        except StaleClaim:
            self.stale += 1
            return
        site = claim.site
        outcome = (
            Outcome.UPDATED if self.rng.random() < CHANGED or not site.last_crawled_at else Outcome.UNCHANGED_SITEMAP
        )
        history = History.of(site, outcome, failures=0, memory=site.schedule)
        decision = decide(history, ScheduleSettings(), self.clock(), spread=spread_of(site.id, claim.generation))
        if site.last_checked_at is not None and site.next_crawl_at is not None:
            self.late.append((self.clock() - site.next_crawl_at).total_seconds())
        else:
            self.taken_in_after = self.now
        commit = Commit(
            run_id=f"{site.id}-{claim.generation}",
            tick_id=None,
            outcome=outcome,
            reason="simulated",
            next_crawl_at=decision.next_crawl_at,
            crawled=outcome is Outcome.UPDATED,
            changed=outcome is Outcome.UPDATED,
            schedule=dict(decision.memory),
        )
        await self.sites.commit_run(claim, commit)
        self.statements += round(2 * self.weight)
        self.visits += 1
        self.changed += outcome is Outcome.UPDATED


async def simulate(plan: Plan, rows: int, folder: Path) -> Fleet:
    fleet: Fleet | None = None
    with SqliteSites(folder / "sites.db", clock=lambda: START if fleet is None else fleet.clock()) as sites:
        fleet = Fleet(plan, sites, rows)
        for number in range(rows):
            await sites.enroll(
                Enrollment(
                    base_url=f"https://site-{number}.example", options=SiteOptions(), webhook_secret="whsec_" + "x" * 32
                )
            )
        while fleet.now < DAYS * 86_400:
            await fleet.tick()
            await fleet.work(fleet.now + plan.tick.total_seconds())
    return fleet


def line(fleet: Fleet) -> str:
    plan, config = fleet.plan, load_stage({})
    late = sorted(fleet.late) or [0.0]
    gigabytes = config.worker_memory_mb / 1024
    costs = [
        visit_cost(visit, CHANGED_VISIT, gigabytes=gigabytes, batch=plan.batch, architecture=config.architecture)
        for visit in (QUIET, CHANGED_VISIT)
    ]
    share = fleet.changed / max(1, fleet.visits)
    month = prices.DAYS_A_MONTH / 7 * SITES * ((1 - share) * costs[0] + share * costs[1])
    cells = [
        plan.name,
        f"{plan.sites_a_second:,.0f}",
        f"{fleet.taken_in_after / 86_400:.1f} days" if fleet.visits >= fleet.rows else "never",
        f"{fleet.largest_tick * fleet.weight:,.0f}",
        f"{fleet.longest_queue * fleet.weight:,.0f}",
        f"{late[len(late) // 2] / 60:,.0f} / {late[int(len(late) * 0.99)] / 60:,.0f} min",
        f"{fleet.statements / (DAYS * 86_400):.1f}",
        f"{fleet.stale * fleet.weight:,.0f}",
        f"{figure(month)}",
    ]
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| tick, workers | sites a second at most | all taken in after | largest tick | longest queue | late, p50 / p99 | "
    "statements a second | claims lost | USD a month |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=5_000)
    given = options.parse_args()
    print(HEAD)
    for plan in PLANS:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            fleet = asyncio.run(simulate(plan, given.rows, Path(folder)))
        print(line(fleet), flush=True)
        assert fleet.visits, f"nothing was done in {time.perf_counter() - began:.0f} s"


if __name__ == "__main__":
    main()
