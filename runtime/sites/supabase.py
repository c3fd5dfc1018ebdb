"""`SupabaseSites`: the rows in PostgreSQL, behind Supabase's API. The contract is the one of `runtime.registry.Sites`.

Each method is one call of a function in `supabase/migrations`, where the transaction and the clock are.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from runtime.errors import NotFound, StaleClaim
from runtime.models import Budget, Claim, Commit, DueSummary, Outcome, Run, Site, SiteOptions, SiteStatus
from runtime.registry import Enrollment, Requested
from runtime.sites import refusals, rows
from runtime.sites.rpc import Kinds, Rpc
from runtime.sites.supabase_allowances import SupabaseAllowances

if TYPE_CHECKING:
    from postgrest import SyncPostgrestClient

SCHEMA_VERSION = 2
"""What the last of `supabase/migrations` writes into `schema_version`. A newer schema serves older programs."""

T = TypeVar("T")

ROW_OR_NONE = (dict, type(None))


class SupabaseSites(SupabaseAllowances):
    """`url` is the project's, `key` its service role (secret) key; `timeout_seconds` bounds a call with its retries."""

    def __init__(
        self, url: str, key: str, *, client: SyncPostgrestClient | None = None, timeout_seconds: float = 5.0
    ) -> None:
        self._rpc = Rpc(url, key, client=client, timeout_seconds=timeout_seconds)
        self._checked = False

    def close(self) -> None:
        self._rpc.close()

    async def enroll(self, enrollment: Enrollment) -> tuple[Site, bool]:
        answer = await self._once(
            "enroll_site",
            p_base_url=enrollment.base_url,
            p_options=rows.option_columns(enrollment.options),
            p_webhook_secret=enrollment.webhook_secret,
            p_sentinel_url=enrollment.sentinel_url,
            p_enabled=enrollment.enabled,
            p_crowd=enrollment.crowd,
        )
        with rows.readable("the answer to an enrolment"):
            return rows.site(answer["site"]), bool(answer["created"])

    async def get(self, site_id: str) -> Site:
        row = await self._safely("get_site", ROW_OR_NONE, p_site_id=_id(site_id))
        if row is None:
            raise NotFound("there is no such site")
        return rows.site(row)

    async def find(self, base_url: str) -> Site | None:
        row = await self._safely("find_site", ROW_OR_NONE, p_base_url=base_url)
        return rows.site(row) if row else await self._nothing(None)

    async def list_sites(self, *, after: str | None = None, limit: int = 100) -> list[Site]:
        found = await self._safely("list_sites", list, p_after=after, p_limit=limit)
        return [rows.site(row) for row in found] or await self._nothing([])

    async def update(
        self,
        site_id: str,
        *,
        options: SiteOptions | None = None,
        status: SiteStatus | None = None,
        confirmed: Mapping[str, Any] | None = None,
    ) -> Site:
        call: dict[str, Any] = {
            "p_site_id": _id(site_id),
            "p_options": rows.option_columns(options) if options else None,
            "p_status": status,
            "p_confirmed": dict(confirmed) if confirmed else None,
        }
        return rows.site(await self._safely("update_site", **call))

    async def rotate_secret(self, site_id: str, secret: str, *, overlap_seconds: int) -> Site:
        rows.check_secret(secret)
        call: dict[str, Any] = {"p_site_id": _id(site_id), "p_secret": secret, "p_overlap_seconds": overlap_seconds}
        return rows.site(await self._safely("rotate_secret", **call))

    async def delete(self, site_id: str) -> None:
        await self._once("delete_site", bool, p_site_id=_id(site_id))

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
        rows.check_lease(owner, lease_seconds)
        leased = await self._once(
            "claim_due_sites",
            list,
            p_limit=limit,
            p_lease_seconds=lease_seconds,
            p_owner=owner,
            p_per_host=per_host,
            p_slack_seconds=slack_seconds,
            p_crawls_a_day=crawls_a_day,
        )
        return rows.claims(leased) or await self._nothing([])

    async def claim_site(
        self,
        site_id: str,
        *,
        lease_seconds: int,
        owner: str,
        force: bool = False,
        crawls_a_day: int | None = None,
    ) -> Claim | None:
        rows.check_lease(owner, lease_seconds)
        call = {
            "p_site_id": _id(site_id),
            "p_lease_seconds": lease_seconds,
            "p_owner": owner,
            "p_force": force,
            "p_crawls_a_day": crawls_a_day,
        }
        row = await self._once("claim_site", ROW_OR_NONE, **call)
        return None if row is None else rows.claim(row)

    async def renew_lease(self, claim: Claim, *, lease_seconds: int) -> Claim:
        rows.check_lease(claim.lease_owner, lease_seconds)
        row = await self._fenced("renew_lease", claim, p_lease_seconds=lease_seconds)
        return replace(rows.claim(row), forced=claim.forced)

    async def release(self, claim: Claim) -> None:
        await self._fenced("release_claim", claim, bool)

    async def commit_run(self, claim: Claim, commit: Commit) -> Site:
        return rows.site(await self._fenced("commit_run", claim, p_run=rows.commit_columns(commit)))

    async def request_recrawl(
        self, site_id: str, *, debounce_seconds: int = 300, message_id: str | None = None, replay_seconds: int = 900
    ) -> Requested:
        answer = await self._once(
            "request_recrawl",
            p_site_id=_id(site_id),
            p_debounce_seconds=debounce_seconds,
            p_message_id=message_id,
            p_replay_seconds=replay_seconds,
        )
        with rows.readable("the answer to a request"):
            return Requested(
                site_id,
                rows.instant(answer["next_crawl_at"]),
                accepted=bool(answer["accepted"]),
                run_at=rows.instant(answer["run_at"]),
                replayed=bool(answer["replayed"]),
            )

    async def due_summary(self, *, slack_seconds: int = 0, crawls_a_day: int | None = None) -> DueSummary:
        summary = rows.due_summary(
            await self._safely("due_summary", p_slack_seconds=slack_seconds, p_crawls_a_day=crawls_a_day)
        )
        return summary if summary.due else await self._nothing(summary)

    async def budget(self) -> Budget:
        return rows.budget(await self._safely("read_budget"))

    async def planned_crawls(self) -> float:
        return float(await self._safely("planned_crawls", (int, float)))

    async def set_price(self, price: float, *, after: datetime | None) -> bool:
        at = rows.stamp(after) if after else None
        return bool(await self._once("set_price", bool, p_price=price, p_after=at))

    async def runs(self, site_id: str, *, limit: int = 20, before: datetime | None = None) -> list[Run]:
        if not _is_id(site_id):
            return []
        bounds = {"p_limit": limit, "p_before": rows.stamp(before) if before else None}
        return [rows.run(row) for row in await self._safely("list_runs", list, p_site_id=site_id, **bounds)]

    async def tick_outcomes(self, tick_id: str) -> list[tuple[Outcome, bool]]:
        return [rows.tick_outcome(row) for row in await self._safely("tick_outcomes", list, p_tick_id=tick_id)]

    async def remember_webhook(self, site_id: str, message_id: str, *, ttl_seconds: int = 900) -> bool:
        call = {"p_site_id": _id(site_id), "p_message_id": message_id, "p_ttl_seconds": ttl_seconds}
        return bool(await self._once("remember_webhook", bool, **call))

    async def database_now(self) -> datetime:
        """The clock that leases and due times are measured by."""
        found = await self._safely("check_schema")
        with rows.readable("the database's clock"):
            return rows.instant(str(found["now"]))

    async def check(self) -> None:
        """:raises Misconfigured: schema behind, a key without the rights, or rights given to the public keys."""
        wrong = refusals.misinstalled(await self._safely("check_schema"), SCHEMA_VERSION)
        if wrong is not None:
            raise wrong
        self._checked = True

    async def _nothing(self, answer: T) -> T:
        """An answer that says "nothing", believed only after the check: hidden rows look like none."""
        if not self._checked:
            await self.check()
        return answer

    async def _safely(self, function: str, kinds: Kinds = dict, **params: Any) -> Any:
        """A call that does no harm when it is done twice."""
        return await self._rpc.call(function, params, kinds=kinds, repeatable=True)

    async def _once(self, function: str, kinds: Kinds = dict, **params: Any) -> Any:
        """A call that must not be done twice: after a lost answer the caller has to decide."""
        return await self._rpc.call(function, params, kinds=kinds, repeatable=False)

    async def _fenced(self, function: str, claim: Claim, kinds: Kinds = dict, **params: Any) -> Any:
        """A call under a claim. Its fence makes a repetition harmless: it does nothing, or finds its own work done."""
        fence = {"p_site_id": claim.site.id, "p_generation": claim.generation, "p_owner": claim.lease_owner}
        if not _is_id(claim.site.id):
            raise rows.stale(claim)
        try:
            return await self._safely(function, kinds, **fence, **params)
        except StaleClaim:
            pass
        raise rows.stale(claim)


def _id(site_id: str) -> str:
    """What is no UUID cannot be the id of a row, and is not worth asking for."""
    if not _is_id(site_id):
        raise NotFound("there is no such site")
    return site_id


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
