"""What a run writes to its row: outcome, counts and the next look. Pure."""

from __future__ import annotations

from datetime import datetime

from runtime.judgement import Survey
from runtime.models import Claim, Commit, Outcome, Site, SiteStatus
from runtime.scheduling import History, ScheduleSettings, decide, spread_of
from runtime.sitemap.lastmod import newest
from runtime.verdicts import Changed, Unknown, Verdict


def commitment(
    claim: Claim, result: Survey, *, now: datetime, run_id: str, tick_id: str | None, url: str | None, duration_ms: int
) -> Commit:
    """The end of a run as the row will have it, the schedule's memory included.

    :param url: the public URL of the file, if it was published.
    """
    site = claim.site
    failures = site.failure_count + 1 if result.counts_as_failure else 0
    decision = decide(
        History.of(
            site,
            result.outcome,
            failures=failures,
            memory=site.schedule,
            retry_after=result.retry_after,
            gone=result.gone,
            announced=claim.forced,
            sitemap_says_changed=_says_changed(result.verdict),
            pages_changed=_pages_changed(result),
        ),
        ScheduleSettings(),
        now,
        spread=spread_of(site.id, claim.generation),
    )
    changed = result.outcome is Outcome.UPDATED
    inventory = result.state.inventory
    return Commit(
        run_id=run_id,
        tick_id=tick_id,
        outcome=result.outcome,
        reason=result.reason,
        error=_error(site, result),
        next_crawl_at=decision.next_crawl_at,
        failure_count=site.failure_count if result.ours else failures,
        status=SiteStatus.DISABLED if decision.disable else None,
        crawled=result.crawled,
        changed=changed,
        latest_llms_hash=result.rendered.sha256 if changed and result.rendered is not None else None,
        latest_llms_url=url,
        sentinel_url=result.sentinel_url,
        sentinel_last_modified=None if inventory is None else newest(inventory),
        avg_change_interval_minutes=decision.avg_change_interval_minutes,
        schedule=site.schedule if result.ours else decision.memory,
        counts=result.counts,
        duration_ms=duration_ms,
    )


def _says_changed(verdict: Verdict) -> bool | None:
    """What the sitemaps said, for a schedule that learns how far to trust them."""
    return None if isinstance(verdict, Unknown) else isinstance(verdict, Changed)


def _pages_changed(result: Survey) -> int:
    """How many entries of the file changed."""
    if result.changes is None or result.outcome is not Outcome.UPDATED:
        return 0
    record = result.changes
    return sum(len(part) for part in (record.added, record.removed, record.moved, record.retitled, record.redescribed))


def _error(site: Site, result: Survey) -> str | None:
    """What the row says is wrong with the site; a fault of ours says nothing about it."""
    if result.ours:
        return site.last_error
    return result.reason if result.counts_as_failure or result.outcome is Outcome.HELD else None
