"""What a contract test holds in its hands: a store, its frozen clock, and short ways to say common things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from runtime.models import Claim, Commit, Outcome, Site, SiteOptions
from runtime.registry import Enrollment, Sites

START = datetime(2026, 12, 2, 12, 0, tzinfo=UTC)


def enrollment(base_url: str = "https://docs.example.com/", **fields: Any) -> Enrollment:
    given: dict[str, Any] = {"options": SiteOptions(), "webhook_secret": "whsec_first", **fields}
    return Enrollment(base_url=base_url, **given)


def commit(outcome: Outcome = Outcome.UPDATED, *, run_id: str = "run-1", **fields: Any) -> Commit:
    given: dict[str, Any] = {"tick_id": "tick-1", "reason": "because", "next_crawl_at": None, **fields}
    return Commit(run_id=run_id, outcome=outcome, **given)


@dataclass
class Store:
    """`move` sets the clock of the database to an instant; no time passes in it by itself."""

    name: str
    sites: Sites
    move: Callable[[datetime], None]
    now: datetime = field(default=START)

    def advance(self, **duration: float) -> datetime:
        self.now += timedelta(**duration)
        self.move(self.now)
        return self.now

    async def enroll(self, base_url: str = "https://docs.example.com/", **fields: Any) -> Site:
        return (await self.sites.enroll(enrollment(base_url, **fields)))[0]

    async def claim(self, site: Site, *, owner: str = "worker-1", lease_seconds: int = 60, **fields: Any) -> Claim:
        claim = await self.sites.claim_site(site.id, owner=owner, lease_seconds=lease_seconds, **fields)
        assert claim is not None
        return claim

    async def claim_due(
        self, limit: int = 100, *, owner: str = "worker-1", lease_seconds: int = 60, **fields: Any
    ) -> list[Claim]:
        return await self.sites.claim_due(limit=limit, owner=owner, lease_seconds=lease_seconds, **fields)

    async def run(self, site: Site, outcome: Outcome = Outcome.UPDATED, **fields: Any) -> Site:
        """Claim and commit, planned for a day later unless told otherwise."""
        claim = await self.claim(site)
        given: dict[str, Any] = {
            "next_crawl_at": self.now + timedelta(days=1),
            "run_id": f"run-{claim.generation}",
            **fields,
        }
        return await self.sites.commit_run(claim, commit(outcome, **given))
