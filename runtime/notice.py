"""What a site's owner, or the operator, is told after a run: which runs are worth it, and the message. Pure.

The message is a Standard Webhooks payload: `type`, `timestamp`, `data`, below 20 kB (standardwebhooks.com). What the
site itself wrote (titles, descriptions) is in it as JSON text, cut to a length.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from runtime.document.changes import ChangeRecord
from runtime.models import Commit, Outcome, Site, SiteStatus

MAX_BYTES = 20_000
MAX_TEXT = 300
MAX_LISTED = 50
"""Pages that are named of each kind of change; the counts are of all."""


class Kind(StrEnum):
    UPDATED = "llms_txt.updated"
    HELD = "llms_txt.held"
    FAILING = "llms_txt.failing"
    DISABLED = "llms_txt.disabled"


@dataclass(frozen=True, slots=True)
class Notice:
    """`id` is the same for every try and every addressee of one run."""

    id: str
    kind: Kind
    body: bytes


def notice_of(
    before: Site,
    row: Site,
    commit: Commit,
    changes: ChangeRecord | None,
    *,
    now: datetime,
    after_failures: int,
    held_before: bool = False,
) -> Notice | None:
    """The message about a run, or None for one that nobody needs to hear of.

    :param before: the row as it was claimed. :param row: as it was committed.
    :param after_failures: this many failures in a row are worth a message; fewer and more are not.
    :param held_before: a hold goes on that was told when it began, though the run before this one had no verdict.
    """
    kind = kind_of(before, commit, after_failures, held_before=held_before)
    if kind is None:
        return None
    listed = MAX_LISTED
    while True:
        payload = {"type": kind, "timestamp": now.isoformat(), "data": _data(before, row, commit, changes, listed)}
        body = json.dumps(payload, separators=(",", ":")).encode()
        if len(body) <= MAX_BYTES or not listed:
            return Notice(commit.run_id, kind, body)
        listed //= 2


def kind_of(before: Site, commit: Commit, after_failures: int, *, held_before: bool = False) -> Kind | None:
    """A changed file, a hold that begins, a streak of failures that has just reached its length, or its end."""
    if commit.outcome is Outcome.UPDATED:
        return Kind.UPDATED
    if commit.outcome is Outcome.HELD:
        return None if held_before or before.last_outcome is Outcome.HELD else Kind.HELD
    if commit.status is SiteStatus.DISABLED:
        return Kind.DISABLED
    failed_now = commit.failure_count > before.failure_count
    return Kind.FAILING if failed_now and commit.failure_count == after_failures else None


def _data(before: Site, row: Site, commit: Commit, changes: ChangeRecord | None, listed: int) -> dict[str, Any]:
    return {
        "site_id": row.id,
        "base_url": row.base_url,
        "run_id": commit.run_id,
        "outcome": commit.outcome,
        "reason": commit.reason[:MAX_TEXT],
        "status": row.status,
        "failure_count": row.failure_count,
        "llms_url": row.latest_llms_url,
        "llms_hash": row.latest_llms_hash,
        "previous_llms_hash": before.latest_llms_hash,
        "next_crawl_at": None if row.next_crawl_at is None else row.next_crawl_at.isoformat(),
        "changes": None if changes is None else _record(changes, listed),
    }


def _record(changes: ChangeRecord, listed: int) -> dict[str, Any]:
    """The change record, its lists cut to `listed` entries."""
    lists: Mapping[str, tuple[Any, ...]] = {name: getattr(changes, name) for name in ChangeRecord.__slots__}
    return {
        "summary": changes.summary[: 2 * MAX_TEXT],
        "counts": {name: len(entries) for name, entries in lists.items()},
        **{name: [_cut(asdict(entry)) for entry in entries[:listed]] for name, entries in lists.items()},
    }


def _cut(entry: Mapping[str, str]) -> dict[str, str]:
    return {name: text[:MAX_TEXT] for name, text in entry.items()}
