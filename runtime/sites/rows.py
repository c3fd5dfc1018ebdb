"""A row of the database as a value of ours, and the other way round; the same for both stores.

A row is a mapping from column names to JSON values: times are ISO 8601 text, `include`, `exclude` and `counts` are
JSON or JSON text. A NULL where the specification's table allows one reads as that column's default.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, overload
from urllib.parse import urlsplit

from runtime import models
from runtime.errors import CorruptState, InputError, StaleClaim
from runtime.models import Budget, Claim, Commit, DueSummary, Outcome, Run, Site, SiteOptions, SiteStatus

Row = Mapping[str, Any]

MAX_ATTEMPTS = 3
"""A site claimed this often without a commit is quarantined: something about it kills whoever works on it."""

QUARANTINE = "quarantined: three workers in a row took this site and died without a result"
RUNS_KEPT_DAYS = 365


def stamp(moment: datetime) -> str:
    """An instant as UTC text of fixed width, so that text order is time order."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


@overload
def instant(value: str) -> datetime: ...
@overload
def instant(value: None) -> None: ...
def instant(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value).astimezone(UTC)


def host_of(base_url: str) -> str:
    """What politeness is owed to: host and port, as in a Host header (RFC 9110 7.2)."""
    return urlsplit(base_url).netloc.lower() or base_url


@contextmanager
def readable(what: str) -> Iterator[None]:
    """:raises CorruptState: inside, something was missing or of the wrong kind: no version of ours wrote it."""
    try:
        yield
    except (KeyError, TypeError, ValueError):
        raise CorruptState(f"{what} cannot be read: compare the database with the schema", code="corrupt_row") from None


def site(row: Row) -> Site:
    """:raises CorruptState: a column holds what no version of ours writes."""
    with readable(f"the row of site {row.get('id')}"):
        return _site(row)


def _site(row: Row) -> Site:
    return Site(
        id=str(row["id"]),
        base_url=str(row["base_url"]),
        options=SiteOptions(
            max_pages=_number(row["max_pages"], models.DEFAULT_PAGES),
            desc_length=_number(row["desc_length"], models.DEFAULT_DESC),
            recrawl_interval_minutes=_number(row["recrawl_interval_minutes"], models.DEFAULT_INTERVAL),
            adaptive=bool(row["adaptive"]),
            policy=row["policy"] or "",
            weight=float(row["weight"]),
            require_signature=bool(row["require_signature"]),
            include=tuple(_json(row["include"]) or ()),
            exclude=tuple(_json(row["exclude"]) or ()),
            notify_url=row["notify_url"] or "",
            llm_enhance=bool(row["llm_enhance"]),
            use_brightdata=bool(row["use_brightdata"]),
        ),
        status=SiteStatus(row["status"]),
        webhook_secret=row["webhook_secret"] or "",
        previous_webhook_secret=row["previous_webhook_secret"] or "",
        previous_secret_until=instant(row["previous_secret_until"]),
        sentinel_url=row["sentinel_url"],
        sentinel_last_modified=instant(row["sentinel_last_modified"]),
        avg_change_interval_minutes=row["avg_change_interval_minutes"],
        schedule=_json(row["schedule"]) or {},
        next_crawl_reason=row["next_crawl_reason"],
        latest_llms_hash=row["latest_llms_hash"],
        latest_llms_url=row["latest_llms_url"],
        pinned_over=row["pinned_over"],
        confirmed=_json(row["confirmed"]),
        last_crawled_at=instant(row["last_crawled_at"]),
        last_changed_at=instant(row["last_changed_at"]),
        last_checked_at=instant(row["last_checked_at"]),
        last_outcome=None if row["last_outcome"] is None else Outcome(row["last_outcome"]),
        last_error=row["last_error"],
        failure_count=_number(row["failure_count"], 0),
        requested_at=instant(row["requested_at"]),
        next_crawl_at=instant(row["next_crawl_at"]),
        generation=_number(row["generation"], 0),
        lease_owner=row["lease_owner"],
        lease_until=instant(row["lease_until"]),
        attempts=_number(row["attempts"], 0),
        created_at=instant(row["created_at"]) or models.EPOCH,
        updated_at=instant(row["updated_at"]) or models.EPOCH,
    )


def claim(row: Row) -> Claim:
    """A row that was just leased. A pending request makes the run a forced one."""
    leased = site(row)
    if leased.lease_owner is None or leased.lease_until is None or row["claimed_at"] is None:
        raise CorruptState(f"site {leased.id} was claimed without a lease", code="corrupt_row")
    return Claim(
        site=leased,
        generation=leased.generation,
        lease_owner=leased.lease_owner,
        lease_until=leased.lease_until,
        claimed_at=instant(row["claimed_at"]),
        forced=leased.requested_at is not None,
    )


def run(row: Row) -> Run:
    """:raises CorruptState: as for a site."""
    with readable(f"a run of site {row.get('site_id')}"):
        return Run(
            id=str(row["id"]),
            site_id=str(row["site_id"]),
            tick_id=row["tick_id"],
            generation=int(row["generation"]),
            outcome=Outcome(row["outcome"]),
            reason=row["reason"],
            error=row["error"],
            counts=_json(row["counts"]) or {},
            llms_hash=row["llms_hash"],
            started_at=instant(row["started_at"]),
            finished_at=instant(row["finished_at"]),
            duration_ms=int(row["duration_ms"]),
        )


def claims(leased: Sequence[Row]) -> list[Claim]:
    """The claims of a batch. A row that cannot be read costs itself alone: it runs into quarantine unworked.

    :raises CorruptState: none of them can be read.
    """
    good, bad = [], []
    for row in leased:
        try:
            good.append(claim(row))
        except CorruptState as unreadable:
            bad.append(unreadable)
    if bad and not good:
        raise bad[0]
    return good


def tick_outcome(row: Row) -> tuple[Outcome, bool]:
    with readable("a run of a tick"):
        return Outcome(row["outcome"]), bool(row["crawled"])


def due_summary(row: Row) -> DueSummary:
    with readable("the summary of due sites"):
        oldest = instant(row["oldest_due_at"])
        return DueSummary(
            due=row["due"],
            overdue=row["overdue"],
            oldest_due_at=oldest,
            over_budget=row["over_budget"],
            stale=row["stale"],
        )


def budget(row: Row) -> Budget:
    with readable("the budget"):
        return Budget(
            crawls=int(row["crawls"]),
            asked=int(row["asked"]),
            price=row["price"],
            priced_at=instant(row["priced_at"]),
        )


def place_of(site_id: str) -> float:
    """A number in [0, 1) that a site keeps for good: the first 32 bits of its id, which are random (RFC 9562 5.4)."""
    return int(site_id[:8], 16) / 2**32


def stale(claim: Claim) -> StaleClaim:
    return StaleClaim(f"site {claim.site.id}: the lease of generation {claim.generation} was lost; nothing was written")


def check_lease(owner: str, lease_seconds: int) -> None:
    """:raises InputError: a lease that nobody holds, or that never ends or never begins."""
    if not owner:
        raise InputError("owner", "must not be empty")
    if lease_seconds < 1:
        raise InputError("lease_seconds", "must be at least 1")


def check_secret(secret: str) -> None:
    if not secret:
        raise InputError("webhook_secret", "must not be empty")


def option_columns(options: SiteOptions) -> dict[str, Any]:
    """The columns an owner chooses, as JSON values."""
    return {
        "max_pages": options.max_pages,
        "desc_length": options.desc_length,
        "recrawl_interval_minutes": options.recrawl_interval_minutes,
        "adaptive": options.adaptive,
        "policy": options.policy,
        "weight": options.weight,
        "require_signature": options.require_signature,
        "include": list(options.include),
        "exclude": list(options.exclude),
        "notify_url": options.notify_url,
        "llm_enhance": options.llm_enhance,
        "use_brightdata": options.use_brightdata,
    }


def commit_columns(commit: Commit) -> dict[str, Any]:
    """A commit as JSON values, under its own field names."""
    moments = ("next_crawl_at", "sentinel_last_modified")
    columns = {name: getattr(commit, name) for name in commit.__slots__}
    columns |= {name: None if columns[name] is None else stamp(columns[name]) for name in moments}
    schedule = None if commit.schedule is None else dict(commit.schedule)
    return columns | {"counts": dict(commit.counts), "schedule": schedule}


def _number(value: int | None, default: int) -> int:
    return default if value is None else int(value)


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value
