"""The statements that `SqliteSites` is made of. Names of columns come from our own code, never from a caller."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from runtime.errors import NotFound
from runtime.models import Claim, Commit, Outcome, Site
from runtime.sites import rows, transitions
from runtime.sites.rows import Row, stamp
from runtime.sites.transitions import Changes

# A tick may take a planned time a little early, but not the slot of a request, which keeps crawls apart.
DUE = """status = 'active' AND next_crawl_at <= :due AND (lease_until IS NULL OR lease_until <= :now)
    AND (next_crawl_at <= :now OR next_crawl_at IS NOT request_due_at)"""
# Where nearly all due sites are exhausted, it is the workers that do not work, and no site is to blame.
STUCK = f"""(SELECT count(*) >= 10 AND count(*) FILTER (WHERE attempts >= {rows.MAX_ATTEMPTS}) >= 0.8 * count(*)
    FROM crawl_sites WHERE {DUE})"""  # noqa: S608 - constants
EXHAUSTED = f"SELECT * FROM crawl_sites WHERE {DUE} AND attempts >= {rows.MAX_ATTEMPTS} AND NOT {STUCK}"  # noqa: S608 - constants
# Whoever asked for a crawl is not kept waiting by those that are merely due.
ASKED = f"coalesce(request_due_at <= :now AND next_crawl_at <= :now AND attempts < {rows.MAX_ATTEMPTS}, 0)"
TURN = "asked DESC, CASE WHEN asked THEN request_due_at ELSE next_crawl_at END, next_crawl_at, id"
CLAIMABLE = f"""
    SELECT * FROM (
        SELECT *, row_number() OVER (PARTITION BY host ORDER BY {TURN}) AS place
        FROM (SELECT *, {ASKED} AS asked FROM crawl_sites WHERE {DUE})
    ) WHERE place <= :per_host ORDER BY {TURN} LIMIT :limit
"""  # noqa: S608 - constants
NEWCOMERS = """
    SELECT count(*) AS waiting FROM (
        SELECT 1 FROM crawl_sites WHERE last_checked_at IS NULL AND status = 'active' LIMIT :crowd
    )
"""
SUMMARY = f"""
    SELECT count(*) AS due, count(*) FILTER (WHERE waits) AS over_budget,
           count(*) FILTER (WHERE NOT waits AND next_crawl_at < :overdue) AS overdue,
           min(next_crawl_at) FILTER (WHERE NOT waits) AS oldest_due_at,
           (SELECT count(*) FROM crawl_sites WHERE failure_count > 0 AND status = 'active'
            AND julianday(coalesce(last_success_at, created_at))
                < julianday(:now) - 1 - 2 * recrawl_interval_minutes / 1440.0) AS stale
    FROM (
        SELECT next_crawl_at, coalesce(:left <= CASE WHEN {ASKED} THEN 0 ELSE :kept END, 0) AS waits
        FROM crawl_sites WHERE {DUE}
    )
"""  # noqa: S608 - constants
LISTED = "SELECT * FROM crawl_sites WHERE base_url > :after ORDER BY base_url LIMIT :limit"
RUNS = """
    SELECT * FROM crawl_runs WHERE site_id = :id AND (:before IS NULL OR finished_at < :before)
    ORDER BY finished_at DESC LIMIT :limit
"""
LINE = "SELECT id FROM crawl_runs WHERE site_id = :site AND generation = :generation"
SEEN = "SELECT 1 FROM webhook_messages WHERE site_id = :site_id AND message_id = :message_id"
TICK = "SELECT outcome, crawled FROM crawl_runs WHERE tick_id = :tick ORDER BY finished_at, site_id"


def select(db: sqlite3.Connection, query: str, bounds: Mapping[str, Any]) -> list[Row]:
    return [dict(row) for row in db.execute(query, bounds)]


def by_url(db: sqlite3.Connection, base_url: str) -> Row | None:
    return next(iter(select(db, "SELECT * FROM crawl_sites WHERE base_url = :url", {"url": base_url})), None)


def by_id(db: sqlite3.Connection, site_id: str) -> Row:
    """:raises NotFound: there is no such row."""
    found = select(db, "SELECT * FROM crawl_sites WHERE id = :id", {"id": site_id})
    if not found:
        raise NotFound("there is no such site")
    return found[0]


def insert(db: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> None:
    names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    db.execute(f"INSERT INTO {table} ({names}) VALUES ({values})", _texts(row))  # noqa: S608 - our names


def is_crowded(db: sqlite3.Connection, crowd: int | None) -> bool:
    """Whether as many active sites wait for their first look as make a crowd."""
    return crowd is not None and select(db, NEWCOMERS, {"crowd": crowd})[0]["waiting"] >= crowd


def insert_site(db: sqlite3.Connection, site_id: str, base_url: str, columns: Mapping[str, Any], now: datetime) -> Site:
    """A new row."""
    fixed = {"id": site_id, "base_url": base_url, "host": rows.host_of(base_url)}
    insert(db, "crawl_sites", {**fixed, **columns, **dict.fromkeys(("created_at", "updated_at"), stamp(now))})
    return rows.site(by_id(db, fixed["id"]))


def change(db: sqlite3.Connection, row: Row, changes: Changes, now: datetime) -> Row:
    """Set columns of one site; gives the row as it is then. No columns, no write."""
    if not changes:
        return row
    site_id = row["id"]
    given = _texts(transitions.settled(row, changes, now) | {"updated_at": stamp(now)})
    assignments = ", ".join(f"{name} = :{name}" for name in given)
    db.execute(f"UPDATE crawl_sites SET {assignments} WHERE id = :id", {**given, "id": site_id})  # noqa: S608 - ours
    return by_id(db, site_id)


def held(db: sqlite3.Connection, claim: Claim) -> Row | None:
    """The row of a claim, while generation and owner are still the claim's. An expired lease nobody took is held."""
    found = select(db, "SELECT * FROM crawl_sites WHERE id = :id", {"id": claim.site.id})
    ours = [row for row in found if (row["generation"], row["lease_owner"]) == (claim.generation, claim.lease_owner)]
    return ours[0] if ours else None


def is_committed(db: sqlite3.Connection, claim: Claim, run_id: str) -> bool:
    """Whether this very run was written before, and only the answer was lost."""
    lines = select(db, LINE, {"site": claim.site.id, "generation": claim.generation})
    return any(line["id"] == run_id for line in lines)


def record(db: sqlite3.Connection, row: Row, commit: Commit, now: datetime) -> None:
    """Write the line of a run, later than the site's line before it, and drop what is older than a year."""
    newest = "SELECT max(finished_at) AS at FROM crawl_runs WHERE site_id = :id"
    last = rows.instant(select(db, newest, {"id": row["id"]})[0]["at"])
    finished = max(now, last + timedelta(microseconds=1)) if last else now
    names = ("tick_id", "outcome", "reason", "error", "crawled", "changed", "counts", "duration_ms")
    columns = rows.commit_columns(commit)
    line = {"site_id": row["id"], "generation": row["generation"], "id": commit.run_id}
    line |= {name: columns[name] for name in names}
    line |= {"llms_hash": commit.latest_llms_hash, "started_at": row["claimed_at"], "finished_at": stamp(finished)}
    insert(db, "crawl_runs", line)
    kept = {"id": row["id"], "kept": stamp(now - timedelta(days=rows.RUNS_KEPT_DAYS))}
    db.execute("DELETE FROM crawl_runs WHERE site_id = :id AND finished_at < :kept", kept)


def quarantine(db: sqlite3.Connection, row: Row, now: datetime) -> None:
    """Disable a site that was claimed too often without a commit, with one line that says so."""
    why = Commit(
        run_id=f"quarantine-{row['generation']}",
        tick_id=None,
        outcome=Outcome.FAILED,
        reason=rows.QUARANTINE,
        error=rows.QUARANTINE,
        next_crawl_at=None,
    )
    if not select(db, LINE, {"site": row["id"], "generation": row["generation"]}):
        record(db, row, why, now)
    change(db, row, transitions.quarantined(), now)


def remember(db: sqlite3.Connection, site_id: str, message_id: str, ttl_seconds: int, now: datetime) -> bool:
    """Whether the id is new for the site within its time to live."""
    seen = {"site_id": site_id, "message_id": message_id}
    db.execute("DELETE FROM webhook_messages WHERE expires_at <= ?", (stamp(now),))
    if select(db, SEEN, seen):
        return False
    insert(db, "webhook_messages", seen | {"expires_at": stamp(now + timedelta(seconds=ttl_seconds))})
    return True


def _texts(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: json.dumps(value) if isinstance(value, (list, dict)) else value for name, value in row.items()}
