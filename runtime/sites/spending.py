"""What `SqliteSites` keeps of the budget: crawls charged, counted in slots of ten minutes, and the price of a crawl.

A claim is charged before anything is asked of the site, so that the sum can never be exceeded; a run that read no page
gives its crawl back. Charges are counted, not listed: 24 hours are at most 145 rows, whatever the number of sites.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta

from runtime.errors import BudgetSpent
from runtime.models import EPOCH, Budget, Commit, Outcome
from runtime.sites import rows
from runtime.sites.refusals import SPENT
from runtime.sites.rows import Row, stamp

SLOT = timedelta(minutes=10)
DAY = timedelta(days=1)
KEPT = timedelta(days=2)

LATELY = """
    SELECT coalesce(sum(crawls), 0) AS crawls, coalesce(sum(asked), 0) AS asked,
           (SELECT price FROM crawl_budget) AS price, (SELECT priced_at FROM crawl_budget) AS priced_at
    FROM crawl_spending WHERE last_at > :since
"""
CHARGE = """
    INSERT INTO crawl_spending (slot, last_at, crawls, asked) VALUES (:slot, :now, :crawls, :asked)
    ON CONFLICT (slot) DO UPDATE SET
        last_at = max(last_at, excluded.last_at), crawls = crawls + excluded.crawls, asked = asked + excluded.asked
"""
REFUND = "UPDATE crawl_spending SET crawls = max(0, crawls - 1) WHERE slot = :slot"
PLANNED = """
    SELECT coalesce(sum(coalesce(json_extract(schedule, '$.crawls_a_day'), 1440.0 / recrawl_interval_minutes)), 0.0)
        AS planned
    FROM crawl_sites WHERE status = 'active'
"""
PRICE = """
    INSERT INTO crawl_budget (one, price, priced_at) VALUES (1, :price, :now)
    ON CONFLICT (one) DO UPDATE SET price = excluded.price, priced_at = excluded.priced_at
    WHERE priced_at IS :after
"""
NOT_CRAWLED = (Outcome.UNCHANGED_SITEMAP, Outcome.FAILED, Outcome.DEFERRED, Outcome.HELD)
"""Outcomes that cost no crawl when no page came. Where every page answered "not modified", all were asked."""


def lately(db: sqlite3.Connection, now: datetime) -> Budget:
    """What was charged in the last 24 hours; a slot counts whole until its last crawl is a day old."""
    row = db.execute(LATELY, {"since": stamp(now - DAY)}).fetchone()
    return rows.budget(dict(row))


def affordable(due: Sequence[Row], left: tuple[int, int] | None, until: datetime) -> list[Row]:
    """The rows that may be claimed: those that were asked for, then the ones whose weight times lateness is greatest.

    :param left: as `room` gives it. :param until: the time that lateness is counted to (no row is due after it).
    """
    if left is None:
        return list(due)
    asked = [row for row in due if row["asked"]][: left[0]]
    others = [row for row in due if not row["asked"]]
    others.sort(key=lambda row: (-row["weight"] * _late(row, until), row["next_crawl_at"], row["id"]))
    return asked + others[: min(left[1], left[0] - len(asked))]


def _late(row: Row, until: datetime) -> float:
    return (until - rows.instant(row["next_crawl_at"])).total_seconds()


def room(db: sqlite3.Connection, crawls_a_day: int | None, now: datetime) -> tuple[int, int] | None:
    """The claims that may be charged now: of any kind, and of sites that were not asked for; None without a budget."""
    if crawls_a_day is None:
        return None
    left = max(0, crawls_a_day - lately(db, now).crawls)
    return left, max(0, left - Budget.kept_for_asked(crawls_a_day))


def bounds(db: sqlite3.Connection, crawls_a_day: int | None, now: datetime) -> dict[str, int | None]:
    """For a query that asks whose turn the budget allows: the crawls that are left, and those kept for asked sites."""
    if crawls_a_day is None:
        return {"left": None, "kept": None}
    return {"left": crawls_a_day - lately(db, now).crawls, "kept": Budget.kept_for_asked(crawls_a_day)}


def check(db: sqlite3.Connection, crawls_a_day: int | None, now: datetime) -> None:
    """:raises BudgetSpent: nothing is left for any site."""
    left = room(db, crawls_a_day, now)
    if left is not None and not left[0]:
        raise BudgetSpent(SPENT)


def charge(db: sqlite3.Connection, claimed: Sequence[Row], crawls_a_day: int | None, now: datetime) -> str | None:
    """Charge the claims of one call, and forget what is long past; gives the slot, None without a budget."""
    if crawls_a_day is None or not claimed:
        return None
    slot = stamp(slot_of(now))
    asked = sum(row["requested_at"] is not None for row in claimed)
    db.execute(CHARGE, {"slot": slot, "now": stamp(now), "crawls": len(claimed), "asked": asked})
    db.execute("DELETE FROM crawl_spending WHERE slot < ?", (stamp(now - KEPT),))
    return slot


def refund(db: sqlite3.Connection, row: Row) -> None:
    """Give the crawl of a claim back."""
    if row["charged_at"] is not None:
        db.execute(REFUND, {"slot": row["charged_at"]})


def cost_nothing(commit: Commit) -> bool:
    return not commit.crawled and commit.outcome in NOT_CRAWLED


def slot_of(now: datetime) -> datetime:
    """The slot that a crawl of now is counted in."""
    return EPOCH + (now - EPOCH) // SLOT * SLOT
