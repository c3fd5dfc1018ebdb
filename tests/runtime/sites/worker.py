"""A worker process for the tests that kill: claims, works, commits, and says what it does, one thing a line.

    python -m tests.runtime.sites.worker URL KEY NAME LEASE_SECONDS MOST WORK_SECONDS [late]

It has MOST sites in hand at most. The work takes WORK_SECONDS at most, drawn at random; with `late`, every first
attempt takes longer than its lease. It never ends by itself.
"""

from __future__ import annotations

import asyncio
import random
import sys
from datetime import timedelta

from runtime.errors import StaleClaim
from runtime.models import Claim, Commit, Outcome
from runtime.sites.supabase import SupabaseSites

IDLE_SECONDS = 0.05
WATCH_SECONDS = 0.3
TIMEOUT_SECONDS = 30.0


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


class Work:
    """The work on one site. A first attempt can be `late`: it ends only when another worker has taken the site over."""

    def __init__(self, sites: SupabaseSites, longest: float, late: bool) -> None:
        self._sites, self._longest, self._late = sites, longest, late
        self._overtaken = asyncio.Condition()
        self._generations: dict[str, int] = {}

    async def watch(self) -> None:
        """Look at the rows now and then, for all that are waiting to be overtaken."""
        while self._late:
            await asyncio.sleep(WATCH_SECONDS)
            async with self._overtaken:
                self._generations = {site.id: site.generation for site in await self._sites.list_sites(limit=1000)}
                self._overtaken.notify_all()

    async def on(self, claim: Claim) -> None:
        if self._late and claim.site.attempts == 1:
            async with self._overtaken:
                await self._overtaken.wait_for(lambda: self._generations.get(claim.site.id, 0) > claim.generation)
        else:
            await asyncio.sleep(random.random() * self._longest)
        done = Commit(
            run_id=f"{claim.lease_owner}-{claim.generation}",
            tick_id="kill-test",
            outcome=Outcome.UPDATED,
            reason="worked",
            next_crawl_at=claim.claimed_at + timedelta(days=1),
            crawled=True,
            changed=True,
        )
        try:
            await self._sites.commit_run(claim, done)
        except StaleClaim:
            say("stale")
        else:
            say("committed")


async def main(url: str, key: str, name: str, lease: str, most: str, longest: str, late: str = "") -> None:
    sites = SupabaseSites(url, key, timeout_seconds=TIMEOUT_SECONDS)
    work = Work(sites, float(longest), bool(late))
    tasks = {asyncio.create_task(work.watch())} if late else set[asyncio.Task[None]]()
    watchers = len(tasks)
    while True:
        claims = []
        if room := int(most) - len(tasks) + watchers:
            claims = await sites.claim_due(limit=room, lease_seconds=int(lease), owner=name, per_host=10)
        if claims:
            say(f"claimed {len(claims)}")
            tasks |= {asyncio.create_task(work.on(claim)) for claim in claims}
        if not tasks:
            await asyncio.sleep(IDLE_SECONDS)
            continue
        done, tasks = await asyncio.wait(tasks, timeout=IDLE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
