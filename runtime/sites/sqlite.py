"""`SqliteSites`: the rows in one file, for one machine. The contract is the one of `runtime.registry.Sites`."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from runtime.errors import NotFound
from runtime.models import Budget, Claim, Commit, DueSummary, Outcome, Run, Site, SiteOptions, SiteStatus
from runtime.registry import Enrollment, Requested
from runtime.sites import allowances, rows, spending, transitions
from runtime.sites import sqlite_statements as sql
from runtime.sites.rows import stamp
from runtime.sites.sqlite_file import SqliteFile, translation


class SqliteSites:
    """`clock` is the database clock: the only time that leases, due times and debounces are measured by."""

    def __init__(self, path: Path | str, *, clock: Callable[[], datetime]) -> None:
        self._file = SqliteFile(path)
        self._clock = clock

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    async def enroll(self, enrollment: Enrollment) -> tuple[Site, bool]:
        with self._file.transaction(write=True) as db:
            now = self._clock()
            row = sql.by_url(db, enrollment.base_url)
            if row is not None:
                return rows.site(sql.change(db, row, transitions.enrolled(row, enrollment), now)), False
            site_id = str(uuid.uuid4())
            first = transitions.first_look(site_id, enrollment, now, crowded=sql.is_crowded(db, enrollment.crowd))
            fresh = rows.option_columns(enrollment.options) | {
                "webhook_secret": enrollment.webhook_secret or None,
                "sentinel_url": enrollment.sentinel_url,
                "status": (SiteStatus.ACTIVE if enrollment.enabled else SiteStatus.PAUSED).value,
                "next_crawl_at": first,
            }
            return sql.insert_site(db, site_id, enrollment.base_url, fresh, now), True

    async def get(self, site_id: str) -> Site:
        with self._file.transaction(write=False) as db:
            return rows.site(sql.by_id(db, site_id))

    async def find(self, base_url: str) -> Site | None:
        with self._file.transaction(write=False) as db:
            row = sql.by_url(db, base_url)
            return None if row is None else rows.site(row)

    async def list_sites(self, *, after: str | None = None, limit: int = 100) -> list[Site]:
        with self._file.transaction(write=False) as db:
            return [
                rows.site(row) for row in sql.select(db, sql.LISTED, {"after": after or "", "limit": max(0, limit)})
            ]

    async def update(
        self,
        site_id: str,
        *,
        options: SiteOptions | None = None,
        status: SiteStatus | None = None,
        confirmed: Mapping[str, Any] | None = None,
    ) -> Site:
        with self._file.transaction(write=True) as db:
            now, row = self._clock(), sql.by_id(db, site_id)
            changes = transitions.reoptioned(row, options) if options else {}
            changes |= {"status": status.value} if status else {}
            changes |= {"confirmed": dict(confirmed)} if confirmed else {}
            return rows.site(sql.change(db, row, changes, now))

    async def rotate_secret(self, site_id: str, secret: str, *, overlap_seconds: int) -> Site:
        rows.check_secret(secret)
        with self._file.transaction(write=True) as db:
            now, row = self._clock(), sql.by_id(db, site_id)
            return rows.site(sql.change(db, row, transitions.rotated(row, secret, overlap_seconds, now), now))

    async def delete(self, site_id: str) -> None:
        with self._file.transaction(write=True) as db:
            if not db.execute("DELETE FROM crawl_sites WHERE id = ?", (site_id,)).rowcount:
                raise NotFound("there is no such site")

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
        with self._file.transaction(write=True) as db:
            now = self._clock()
            until = now + timedelta(seconds=slack_seconds)
            bounds = {"now": stamp(now), "due": stamp(until)}
            for row in sql.select(db, sql.EXHAUSTED, bounds):
                sql.quarantine(db, row, now)
            due = sql.select(db, sql.CLAIMABLE, bounds | {"per_host": max(1, per_host), "limit": max(0, limit)})
            due = spending.affordable(due, spending.room(db, crawls_a_day, now), until)
            slot = spending.charge(db, due, crawls_a_day, now)
            leases = [(row, transitions.leased(row, owner, lease_seconds, now, slot)) for row in due]
            return rows.claims([sql.change(db, row, lease, now) for row, lease in leases])

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
        with self._file.transaction(write=True) as db:
            now, row = self._clock(), sql.by_id(db, site_id)
            if row["lease_until"] is not None and row["lease_until"] > stamp(now):
                return None
            if row["attempts"] >= rows.MAX_ATTEMPTS:
                sql.quarantine(db, row, now)
                return None
            spending.check(db, crawls_a_day, now)
            changes = transitions.forced(row, now) if force else {}
            slot = spending.charge(db, [{**row, **changes}], crawls_a_day, now)
            changes |= transitions.leased(row, owner, lease_seconds, now, slot)
            return rows.claim(sql.change(db, row, changes, now))

    async def renew_lease(self, claim: Claim, *, lease_seconds: int) -> Claim:
        rows.check_lease(claim.lease_owner, lease_seconds)
        with self._file.transaction(write=True) as db:
            now, row = self._clock(), sql.held(db, claim)
            if row is None:
                raise rows.stale(claim)
            until = {"lease_until": stamp(now + timedelta(seconds=lease_seconds))}
            return replace(rows.claim(sql.change(db, row, until, now)), forced=claim.forced)

    async def release(self, claim: Claim) -> None:
        with self._file.transaction(write=True) as db:
            row = sql.held(db, claim)
            if row is not None:
                spending.refund(db, row)
                sql.change(db, row, transitions.released(row), self._clock())

    async def commit_run(self, claim: Claim, commit: Commit) -> Site:
        with self._file.transaction(write=True) as db:
            now, row = self._clock(), sql.held(db, claim)
            if row is None:
                if sql.is_committed(db, claim, commit.run_id):
                    return rows.site(sql.by_id(db, claim.site.id))
                raise rows.stale(claim)
            sql.record(db, row, commit, now)
            if spending.cost_nothing(commit):
                spending.refund(db, row)
            return rows.site(sql.change(db, row, transitions.committed(row, commit, now), now))

    async def request_recrawl(
        self, site_id: str, *, debounce_seconds: int = 300, message_id: str | None = None, replay_seconds: int = 900
    ) -> Requested:
        with self._file.transaction(write=True) as db:
            now, row = self._clock(), sql.by_id(db, site_id)
            if message_id is not None and not sql.remember(db, site_id, message_id, replay_seconds, now):
                return Requested(site_id, rows.instant(row["next_crawl_at"]) or now, accepted=False, replayed=True)
            changes, run_at = transitions.requested(row, debounce_seconds, now)
            sql.change(db, row, changes, now)
            accepted = run_at is not None and run_at <= now
            return Requested(site_id, rows.instant(changes["next_crawl_at"]), accepted, run_at)

    async def due_summary(self, *, slack_seconds: int = 0, crawls_a_day: int | None = None) -> DueSummary:
        now = self._clock()
        overdue = stamp(now - timedelta(seconds=slack_seconds))
        with self._file.transaction(write=False) as db:
            bounds = {"now": stamp(now), "due": stamp(now), "overdue": overdue}
            room = spending.bounds(db, crawls_a_day, now)
            return rows.due_summary(sql.select(db, sql.SUMMARY, bounds | room)[0])

    async def budget(self) -> Budget:
        with self._file.transaction(write=False) as db:
            return spending.lately(db, self._clock())

    async def planned_crawls(self) -> float:
        with self._file.transaction(write=False) as db:
            return float(sql.select(db, spending.PLANNED, {})[0]["planned"])

    async def set_price(self, price: float, *, after: datetime | None) -> bool:
        with self._file.transaction(write=True) as db:
            known = {"price": price, "now": stamp(self._clock()), "after": stamp(after) if after else None}
            return db.execute(spending.PRICE, known).rowcount > 0

    async def take_unlock(self, *, limit: int) -> bool:
        with self._file.transaction(write=True) as db:
            return allowances.take_unlock(db, limit, self._clock())

    async def unlocks_taken(self) -> int:
        with self._file.transaction(write=False) as db:
            return allowances.unlocks_taken(db, self._clock())

    async def open_live(self, connection: str, caller: str) -> None:
        with self._file.transaction(write=True) as db:
            allowances.open_live(db, connection, caller, self._clock())

    async def begin_live(self, connection: str, *, at_once: int, lease_seconds: int) -> bool:
        with self._file.transaction(write=True) as db:
            return allowances.begin_live(db, connection, at_once, lease_seconds, self._clock())

    async def end_live(self, connection: str) -> None:
        with self._file.transaction(write=True) as db:
            allowances.end_live(db, connection)

    async def runs(self, site_id: str, *, limit: int = 20, before: datetime | None = None) -> list[Run]:
        bounds = {"id": site_id, "before": stamp(before) if before else None, "limit": max(0, limit)}
        with self._file.transaction(write=False) as db:
            return [rows.run(row) for row in sql.select(db, sql.RUNS, bounds)]

    async def tick_outcomes(self, tick_id: str) -> list[tuple[Outcome, bool]]:
        with self._file.transaction(write=False) as db:
            return [rows.tick_outcome(row) for row in sql.select(db, sql.TICK, {"tick": tick_id})]

    async def remember_webhook(self, site_id: str, message_id: str, *, ttl_seconds: int = 900) -> bool:
        with self._file.transaction(write=True) as db:
            return sql.remember(db, sql.by_id(db, site_id)["id"], message_id, ttl_seconds, self._clock())

    async def database_now(self) -> datetime:
        """The clock that leases and due times are measured by."""
        return self._clock()

    async def check(self) -> None:
        """:raises CorruptState: pages of the file are damaged."""
        with self._file.transaction(write=True) as db:
            damaged = [row for row in sql.select(db, "PRAGMA quick_check(1)", {}) if row["quick_check"] != "ok"]
        if damaged:
            raise translation(self._file.path, "SQLITE_CORRUPT")
