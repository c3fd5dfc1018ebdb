"""The rows, as the use cases ask for them: one contract, one test-suite, two stores.

All calls are coroutines. A store reads its own clock ("the database clock") for leases, due times and debounces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from runtime.models import Budget, Claim, Commit, DueSummary, Outcome, Run, Site, SiteOptions, SiteStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrollment:
    """A checked request to keep a site. `base_url` is canonical; an existing row keeps its secret and history.

    `crowd`: while so many active sites wait for their first look, a new one gets a place of its own within the next
    day, or its interval if that is shorter (`sites.rows.place_of`); None: a new site is due at once.
    """

    base_url: str
    options: SiteOptions
    webhook_secret: str = field(repr=False)
    sentinel_url: str | None = None
    enabled: bool = True
    crowd: int | None = None


@dataclass(frozen=True, slots=True)
class Requested:
    """The answer to a webhook.

    `next_crawl_at` is when the site will be crawled. `run_at` is when the run begins that this call was granted, now or
    later; None when it joins one that is planned, or the site is paused. `accepted`: it begins now. `replayed`: the
    message was seen before, and nothing was done.
    """

    site_id: str
    next_crawl_at: datetime
    accepted: bool
    run_at: datetime | None = None
    replayed: bool = False


class Sites(Protocol):
    """The rows. One contract, one test-suite, two stores."""

    def close(self) -> None:
        """Let go of the file or the connections."""

    async def enroll(self, enrollment: Enrollment) -> tuple[Site, bool]:
        """Insert, or update the options of the row with this base_url; the flag says whether it is new.

        A new row is due at once, but in a crowd. An existing one keeps secret, history and schedule (sooner of the two
        intervals).
        """

    async def get(self, site_id: str) -> Site:
        """:raises NotFound: there is no such row."""

    async def find(self, base_url: str) -> Site | None:
        """The row of a canonical base URL."""

    async def list_sites(self, *, after: str | None = None, limit: int = 100) -> list[Site]:
        """Rows in order of base_url, those after `after` (a base_url)."""

    async def update(
        self,
        site_id: str,
        *,
        options: SiteOptions | None = None,
        status: SiteStatus | None = None,
        confirmed: Mapping[str, Any] | None = None,
    ) -> Site:
        """Change options or status, or note what a person confirmed. Activating a row clears its failures and makes it
        due at once.
        """

    async def rotate_secret(self, site_id: str, secret: str, *, overlap_seconds: int) -> Site:
        """Set a new webhook secret; the old one stays valid for `overlap_seconds`."""

    async def delete(self, site_id: str) -> None:
        """:raises NotFound: there is no such row."""

    async def claim_due(
        self,
        *,
        limit: int,
        lease_seconds: int,
        owner: str,
        per_host: int = 1,
        slack_seconds: int = 0,
        crawls_a_day: int | None = None,
    ) -> list[Claim]:
        """Lease up to `limit` due active sites, those that were asked for first, then the oldest, at most `per_host` of
        one host.

        With `crawls_a_day` every claim is charged, and no more are charged in any 24 hours. The last tenth is kept for
        sites that were asked for. Where not all may be claimed, those of the oldest go first whose weight times
        lateness is the greatest. A run that read no page, and a released claim, is given back.

        A site claimed three times without a commit is quarantined: disabled with a reason, and not returned; unless
        four of five of ten or more due sites are in that state, which says that the workers do not work.
        """

    async def claim_site(
        self,
        site_id: str,
        *,
        lease_seconds: int,
        owner: str,
        force: bool = False,
        crawls_a_day: int | None = None,
    ) -> Claim | None:
        """Lease one site whether due or not; None while somebody else holds it.

        :raises NotFound: there is no such row.
        :raises BudgetSpent: `crawls_a_day` crawls were charged in the last 24 hours; the row is as it was.
        """

    async def renew_lease(self, claim: Claim, *, lease_seconds: int) -> Claim:
        """:raises StaleClaim: the lease is no longer ours."""

    async def release(self, claim: Claim) -> None:
        """Give an untouched claim back: due as before, attempt not counted. A stale claim is ignored."""

    async def commit_run(self, claim: Claim, commit: Commit) -> Site:
        """Write the row and the run in one step, fenced by generation and lease; free the lease.

        A request that came after `claim.claimed_at` survives: the row stays due for it.

        :raises StaleClaim: the lease was lost; nothing was written.
        """

    async def request_recrawl(
        self, site_id: str, *, debounce_seconds: int = 300, message_id: str | None = None, replay_seconds: int = 900
    ) -> Requested:
        """A change was announced: due now, unless one was accepted within the debounce (then due after it).

        A site that is failing is due 900 s after its last failure at the earliest. A debounce of 0 is a person's call,
        which waits for neither. A `message_id` is remembered in the same step for `replay_seconds`, within which it
        does nothing a second time. Revives a disabled site. :raises NotFound: there is no such row.
        """

    async def due_summary(self, *, slack_seconds: int = 0, crawls_a_day: int | None = None) -> DueSummary:
        """With a budget, the sites that wait for nothing else are counted by themselves."""

    async def budget(self) -> Budget:
        """What was charged in the last 24 hours (slots of ten minutes, whole), and the price."""

    async def planned_crawls(self) -> float:
        """Crawls a day that the active sites are expected to cost: what their schedules remember, else their intervals.

        Reads every active row: once a day is often enough.
        """

    async def set_price(self, price: float, *, after: datetime | None) -> bool:
        """Set the price; false if somebody set another since `after`, the `priced_at` that was read."""

    async def take_unlock(self, *, limit: int) -> bool:
        """Count one page of the unlocker in this month (UTC), before it is asked for; false, and nothing counted, where
        the deployment has asked for `limit` already.
        """

    async def unlocks_taken(self) -> int:
        """Pages of the unlocker that were counted in this month."""

    async def open_live(self, connection: str, caller: str) -> None:
        """Note whose connection it is: `caller` is a digest of the key that let it in. Kept for a day."""

    async def begin_live(self, connection: str, *, at_once: int, lease_seconds: int) -> bool:
        """Whether the live crawl of a connection may begin: fewer than `at_once` of its caller are under way. A crawl
        whose worker has died counts until its lease is over; asked again for its own connection it takes its place.
        """

    async def end_live(self, connection: str) -> None:
        """The crawl of a connection is over; harmless when it is over already."""

    async def runs(self, site_id: str, *, limit: int = 20, before: datetime | None = None) -> list[Run]: ...

    async def tick_outcomes(self, tick_id: str) -> list[tuple[Outcome, bool]]:
        """The outcome, and whether it was crawled, of every run of one tick."""

    async def remember_webhook(self, site_id: str, message_id: str, *, ttl_seconds: int = 900) -> bool:
        """True the first time a message id is seen for a site within the TTL: the replay guard."""

    async def database_now(self) -> datetime:
        """The clock that leases, due times and debounces are measured by."""

    async def check(self) -> None:
        """:raises Misconfigured: schema behind, wrong key, missing grants. :raises StoreDown: no answer."""
