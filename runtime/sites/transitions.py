"""What a write does to a row, as values: the columns that change, given the row and the database's clock.

This is the contract that the functions in `supabase/migrations` state in SQL; `SqliteSites` applies it as it stands.
Times in a row are `rows.stamp` text, whose order is the order of time.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from runtime.models import Commit, Outcome, SiteOptions, SiteStatus
from runtime.registry import Enrollment
from runtime.sites import rows
from runtime.sites.rows import Row, stamp

Changes = dict[str, Any]

RETRY_SECONDS = 900
"""A webhook may shorten the back-off of a failing site, down to this long after the failure."""

WISH_UNSERVED = (Outcome.FAILED, Outcome.DEFERRED)
"""Outcomes after which an announced change has still not been looked at, so that the next run is forced as well."""


def sooner(first: str | None, second: str | None) -> str | None:
    return min(filter(None, (first, second)), default=None)


def first_look(site_id: str, enrollment: Enrollment, now: datetime, *, crowded: bool) -> str | None:
    """When a new site is due: at once, or in a crowd at its own place of the next day, or of a shorter interval."""
    if not enrollment.enabled:
        return None
    interval = timedelta(minutes=enrollment.options.recrawl_interval_minutes)
    return stamp(now + min(interval, timedelta(days=1)) * rows.place_of(site_id) if crowded else now)


def enrolled(row: Row, enrollment: Enrollment) -> Changes:
    """A second enrolment: the options are replaced; secret, history and schedule stay. It activates, or pauses."""
    changes = reoptioned(row, enrollment.options)
    changes["webhook_secret"] = row["webhook_secret"] or enrollment.webhook_secret
    changes["status"] = (SiteStatus.ACTIVE if enrollment.enabled else SiteStatus.PAUSED).value
    changes["sentinel_url"] = enrollment.sentinel_url or row["sentinel_url"]
    return changes


def reoptioned(row: Row, options: SiteOptions) -> Changes:
    """New options; a shorter interval counts from the last check, and never makes a site wait longer."""
    if row["next_crawl_at"] is None:
        return rows.option_columns(options)
    seen = rows.instant(row["last_checked_at"] or row["created_at"])
    planned = seen + timedelta(minutes=options.recrawl_interval_minutes)
    return rows.option_columns(options) | {"next_crawl_at": sooner(row["next_crawl_at"], stamp(planned))}


def settled(row: Row, changes: Changes, now: datetime) -> Changes:
    """What holds whoever writes: only an active site has a crawl time; one that becomes active starts afresh, due."""
    given = {**row, **changes}
    if given["status"] != SiteStatus.ACTIVE:
        return changes | {"next_crawl_at": None}
    if row["status"] == SiteStatus.ACTIVE:
        return changes
    afresh: Changes = {"failure_count": 0, "attempts": 0, "last_error": None}
    return changes | afresh | {"next_crawl_at": given["next_crawl_at"] or stamp(now)}


def rotated(row: Row, secret: str, overlap_seconds: int, now: datetime) -> Changes:
    """A new secret; the old one is good for the overlap. Rotating to the secret that is set changes nothing."""
    if row["webhook_secret"] == secret:
        return {}
    overlap = overlap_seconds > 0 and row["webhook_secret"]
    return {
        "webhook_secret": secret,
        "previous_webhook_secret": row["webhook_secret"] if overlap else None,
        "previous_secret_until": stamp(now + timedelta(seconds=overlap_seconds)) if overlap else None,
    }


def leased(row: Row, owner: str, lease_seconds: int, now: datetime, charged_at: str | None = None) -> Changes:
    """A lease under a new generation. The attempt is counted here, so that a worker that dies has been counted; so is
    the crawl, in the slot `charged_at` of the budget.
    """
    return {
        "generation": row["generation"] + 1,
        "attempts": row["attempts"] + 1,
        "lease_owner": owner,
        "lease_until": stamp(now + timedelta(seconds=lease_seconds)),
        "claimed_at": stamp(now),
        "charged_at": charged_at,
    }


FREED: Changes = {"lease_owner": None, "lease_until": None, "charged_at": None}


def released(row: Row) -> Changes:
    """The claim never happened, but for its generation, which stays used up."""
    changes = FREED | {"attempts": max(0, row["attempts"] - 1)}
    return changes | {"requested_generation": row["generation"]} if row["requested_at"] else changes


def forced(row: Row, now: datetime) -> Changes:
    """A person asks for this claim: due and forced, also for whoever has to do it over if this worker dies."""
    at = stamp(now)
    return {
        "requested_at": row["requested_at"] or at,
        "request_due_at": row["request_due_at"] or at,
        "requested_generation": row["generation"],
        "next_crawl_at": sooner(row["next_crawl_at"], at),
    }


def quarantined() -> Changes:
    """Three claims without a commit. The attempts stay, so that no later claim tries again before a person does."""
    return FREED | {
        "status": SiteStatus.DISABLED.value,
        "last_error": rows.QUARANTINE,
        "last_outcome": Outcome.FAILED.value,
    }


def committed(row: Row, commit: Commit, now: datetime) -> Changes:
    """The end of a run. A request from after the claim stays, keeps the earlier time, and keeps the site active."""
    given = rows.commit_columns(commit)
    came_late = bool(row["requested_at"]) and row["requested_generation"] >= row["generation"]
    next_crawl_at = given["next_crawl_at"] or row["next_crawl_at"]
    changes = FREED | {
        "attempts": 0,
        "failure_count": commit.failure_count,
        "last_checked_at": stamp(now),
        "last_outcome": commit.outcome.value,
        "last_error": commit.error,
        "pinned_over": commit.pinned_over,
        "next_crawl_at": sooner(next_crawl_at, row["request_due_at"]) if came_late else next_crawl_at,
    }
    if commit.next_crawl_reason is not None:
        changes["next_crawl_reason"] = commit.next_crawl_reason
    kept = ("latest_llms_hash", "latest_llms_url", "sentinel_url", "sentinel_last_modified")
    changes |= {name: given[name] for name in (*kept, "avg_change_interval_minutes") if given[name] is not None}
    if given["schedule"] is not None:
        changes["schedule"] = json.dumps(given["schedule"])
    if commit.outcome not in WISH_UNSERVED:
        changes["last_success_at"] = stamp(now)
    if commit.crawled:
        changes["last_crawled_at"] = stamp(now)
    if commit.changed:
        changes |= {"last_changed_at": stamp(now), "confirmed": None}
    if commit.status and row["status"] == SiteStatus.ACTIVE and not came_late:
        changes["status"] = commit.status.value
    if not came_late and commit.outcome not in WISH_UNSERVED:
        changes |= {"requested_at": None, "request_due_at": None}
    return changes


def requested(row: Row, debounce_seconds: int, now: datetime) -> tuple[Changes, datetime | None]:
    """A change was announced; gives when the run begins that this call was granted, None when it joins another one.

    `request_slot_at` is the last moment that was granted to a request. Within the debounce of it, a request that a
    waiting crawl will see anyway joins that crawl; any other gets the next slot, which all that follow share.
    `requested_generation` orders the request against the claims: a claim of a later generation sees the change.
    A site that is failing has its slot no sooner than `RETRY_SECONDS` after the last failure.
    """
    at = stamp(now)
    abandoned = bool(row["lease_until"]) and row["lease_until"] <= at
    waiting = bool(row["requested_at"]) and (abandoned or row["requested_generation"] >= row["generation"])
    debounce = timedelta(seconds=debounce_seconds)
    slot, granted = rows.instant(row["request_slot_at"]), False
    if slot is None or not debounce or now >= slot + debounce:
        slot, granted = now, True
    elif slot <= now and not waiting:
        slot, granted = slot + debounce, True
    if debounce and row["status"] == SiteStatus.ACTIVE and row["failure_count"] and row["last_checked_at"]:
        slot = max(slot, rows.instant(row["last_checked_at"]) + timedelta(seconds=RETRY_SECONDS))
    due = stamp(slot)
    changes: Changes = {
        "requested_at": at,
        "requested_generation": row["generation"],
        "request_due_at": due,
        "request_slot_at": due,
        "next_crawl_at": sooner(row["next_crawl_at"], due),
    }
    if row["status"] == SiteStatus.DISABLED:
        changes["status"] = SiteStatus.ACTIVE.value
    return changes, slot if granted and row["status"] != SiteStatus.PAUSED else None
