"""What a run tells the schedule: what the sitemap said, what the pages said, and whether the two agree. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from runtime.judgement import Survey
from runtime.models import Claim, Outcome
from runtime.sitemap.dates import Lastmod
from runtime.sitemap.lastmod import LastmodTrust, usable
from runtime.verdicts import Changed

SAME_EDIT = timedelta(minutes=5)
"""Lastmods this close together are of one edit: a new page, and the lists that it appears in."""


def evidence(claim: Claim, result: Survey, now: datetime) -> dict[str, Any]:
    """The signals of a run, as the arguments of `History.of`."""
    changed = result.outcome is Outcome.UPDATED
    return {
        "announced": claim.forced,
        "sitemap_says_changed": result.sitemap_says_changed,
        "read": result.asked_for_all,
        "unlisted": unlisted(result) if changed else None,
        "changes": dated_changes(result, claim.site.last_checked_at, now) if changed else None,
        "pages_changed": len(changed_pages(result)) if changed else 0,
    }


def changed_pages(result: Survey) -> list[str]:
    """The URLs of the file's entries that changed."""
    record = result.changes
    if record is None:
        return []
    parts = (record.added, record.removed, record.moved, record.retitled, record.redescribed)
    return [entry.url for part in parts for entry in part]


def unlisted(result: Survey) -> bool | None:
    """Whether a page changed that the sitemap does not name as changed; None where not all pages were asked for, or the
    sitemap had no answer.
    """
    if not result.asked_for_all or result.sitemap_says_changed is None:
        return None
    if not isinstance(result.verdict, Changed):
        return result.sitemap_says_changed is False
    named = {*result.verdict.added, *result.verdict.removed, *result.verdict.touched}
    memory = {} if result.crawl is None else result.crawl.memory
    named |= {memory[url].final_url for url in named if url in memory}
    named |= {twin for url, twin in result.state.twins.items() if url in named}
    return not named.issuperset(changed_pages(result))


def dated_changes(result: Survey, last_look: datetime | None, now: datetime) -> int | None:
    """How many changes the sitemap's own dates tell apart since the last look; None where they do not tell.

    Only new pages are counted one by one: a page that was edited shows its last edit alone. So every other page that
    moved has to be part of adding one, as the list is that a new post appears in.
    """
    verdict, inventory = result.verdict, result.state.inventory
    if not isinstance(verdict, Changed) or not verdict.added or verdict.removed:
        return None
    if inventory is None or last_look is None or not LastmodTrust(**result.state.trust).moves_believed:
        return None
    dates = usable(inventory.entries, now)
    added = [dates.get(url) for url in verdict.added]
    moments = sorted(date.start for date in added if date is not None and _is_exact(date) and date.start > last_look)
    if len(moments) < len(added):
        return None
    for url in verdict.touched:
        date = dates.get(url)
        if date is None or not any(abs(date.start - moment) <= SAME_EDIT for moment in moments):
            return None
    return 1 + sum(later - earlier > SAME_EDIT for earlier, later in pairwise(moments))


def _is_exact(date: Lastmod) -> bool:
    """Whether it says when, not only on which day."""
    return date.end - date.start <= timedelta(minutes=1)
