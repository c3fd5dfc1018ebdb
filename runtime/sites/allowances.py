"""What `SqliteSites` counts for the whole deployment: pages of the unlocker a month, live crawls of a caller at once.

Both are asked for before the deed, in the statement that counts it, so that no number of workers exceeds them.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta

from runtime.sites.rows import stamp

CLIENTS_KEPT = timedelta(days=1)

TAKE = """
    INSERT INTO unlock_spending (month, calls) SELECT :month, 1 WHERE :limit > 0
    ON CONFLICT (month) DO UPDATE SET calls = calls + 1 WHERE calls < :limit
"""
UNDER_WAY = """
    SELECT count(*) FROM live_clients WHERE caller = :caller AND connection <> :connection AND lease_until > :now
"""
BEGIN = """
    INSERT INTO live_clients (connection, caller, opened_at, lease_until) VALUES (:connection, :caller, :now, :until)
    ON CONFLICT (connection) DO UPDATE SET lease_until = excluded.lease_until
"""


def month_of(now: datetime) -> str:
    return f"{now:%Y-%m}"


def take_unlock(db: sqlite3.Connection, limit: int, now: datetime) -> bool:
    return db.execute(TAKE, {"month": month_of(now), "limit": limit}).rowcount > 0


def unlocks_taken(db: sqlite3.Connection, now: datetime) -> int:
    row = db.execute("SELECT calls FROM unlock_spending WHERE month = ?", (month_of(now),)).fetchone()
    return int(row[0]) if row else 0


def open_live(db: sqlite3.Connection, connection: str, caller: str, now: datetime) -> None:
    """Note who a connection belongs to, and forget those of yesterday."""
    db.execute("DELETE FROM live_clients WHERE opened_at < ?", (stamp(now - CLIENTS_KEPT),))
    fresh = "INSERT INTO live_clients (connection, caller, opened_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    db.execute(fresh, (connection, caller, stamp(now)))


def begin_live(db: sqlite3.Connection, connection: str, at_once: int, lease_seconds: int, now: datetime) -> bool:
    row = db.execute("SELECT caller FROM live_clients WHERE connection = ?", (connection,)).fetchone()
    known = {"connection": connection, "caller": row[0] if row else "", "now": stamp(now)}
    if db.execute(UNDER_WAY, known).fetchone()[0] >= at_once:
        return False
    db.execute(BEGIN, known | {"until": stamp(now + timedelta(seconds=lease_seconds))})
    return True


def end_live(db: sqlite3.Connection, connection: str) -> None:
    db.execute("DELETE FROM live_clients WHERE connection = ?", (connection,))
