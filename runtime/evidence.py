"""What a run tells the schedule: what the sitemap said, what the pages said, and whether the two agree. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from runtime.judgement import Survey
from runtime.models import Claim, Outcome
from runtime.scheduling.past import SAME_EDIT, past_of
from runtime.scheduling.rate import Watched
from runtime.scheduling.signals import Knowledge
from runtime.sitemap.dates import Lastmod
from runtime.sitemap.lastmod import LastmodTrust, usable
from runtime.verdicts import Changed

ONE_EDIT = timedelta(minutes=SAME_EDIT)

COARSE = 4
"""A date that is a day says when, if the looks were so many days apart."""

MOST_UNDATED = 0.2
"""Where a larger share of the pages has no date that names a day, the others' dates do not tell a site's past."""


def evidence(claim: Claim, result: Survey, now: datetime, *, learns: bool = True) -> dict[str, Any]:
    """The signals of a run, as the arguments of `History.of`.

    :param learns: whether the site's policy keeps what it is told; without, its past is not looked up.
    """
    changed = result.outcome is Outcome.UPDATED
    return {
        "announced": claim.forced,
        "sitemap_says_changed": result.sitemap_says_changed,
        "read": result.asked_for_all,
        "unlisted": unlisted(result) if changed else None,
        "changes": dated_changes(result, claim.site.last_checked_at, now) if changed else None,
        "newest": newest_change(result, claim.site.last_checked_at, now) if changed else None,
        "pages_changed": len(changed_pages(result)) if changed else 0,
        "past": dated_past(result, now) if learns and not Knowledge.of(claim.site.schedule).looked_at else None,
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
        if date is None or not any(abs(date.start - moment) <= ONE_EDIT for moment in moments):
            return None
    return 1 + sum(later - earlier > ONE_EDIT for earlier, later in pairwise(moments))


def newest_change(result: Survey, last_look: datetime | None, now: datetime) -> float | None:
    """How many minutes ago the site changed last, by the dates of the pages that moved since the last look; None where
    one of them has no date since then, where a page is gone, and where the dates are too coarse for the time between.
    """
    verdict, inventory = result.verdict, result.state.inventory
    if not isinstance(verdict, Changed) or verdict.removed or inventory is None or last_look is None:
        return None
    if not LastmodTrust(**result.state.trust).moves_believed:
        return None
    dates = usable(inventory.entries, now)
    moved = [dates.get(url) for url in (*verdict.added, *verdict.touched)]
    told = [date for date in moved if date is not None and date.over > last_look]
    coarsest = max((date.end - date.start for date in told), default=timedelta.max)
    if not told or len(told) < len(moved) or coarsest > (now - last_look) / COARSE:
        return None
    return min(max(_age(date, now), 0.0) for date in told)


def dated_past(result: Survey, now: datetime) -> Watched | None:
    """What the sitemap's dates tell of the time before a first look; None where they do not tell: a reading that is not
    complete or not kept page by page, dates that lie, that are missing, or that are all the same.
    """
    inventory = result.state.inventory
    if inventory is None or not inventory.complete or not all(document.listed for document in inventory.documents):
        return None
    if not LastmodTrust(**result.state.trust).moves_believed:
        return None
    dates = [date for date in usable(inventory.entries, now).values() if date.end - date.start <= timedelta(days=1)]
    if len(dates) < (1 - MOST_UNDATED) * len(inventory.entries):
        return None
    return past_of([_age(date, now) for date in dates])


def _age(date: Lastmod, now: datetime) -> float:
    """Minutes since the middle of the span that a date is."""
    return (now - date.start - (date.end - date.start) / 2) / timedelta(minutes=1)


def _is_exact(date: Lastmod) -> bool:
    """Whether it says when, not only on which day."""
    return date.end - date.start <= timedelta(minutes=1)
