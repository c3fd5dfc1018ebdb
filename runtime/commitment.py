"""What a run writes to its row: outcome, counts and the next look. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from runtime.evidence import evidence
from runtime.judgement import Survey
from runtime.models import Claim, Commit, Outcome, Site, SiteStatus
from runtime.policy import memory_for, policy_of, schedule_settings
from runtime.scheduling import History, decide, spread_of
from runtime.scheduling.history import FIXED, LEARNED, LOOKED
from runtime.settings import Settings
from runtime.sitemap.lastmod import newest
from runtime.verdicts import Decision

MOMENT, DAY = timedelta(seconds=10), timedelta(days=1)
SOONEST = 0.1
"""Of its interval: a look right after the first would find nothing."""


def commitment(
    claim: Claim,
    result: Survey,
    *,
    now: datetime,
    run_id: str,
    tick_id: str | None,
    url: str | None,
    duration_ms: int,
    settings: Settings,
    price: float | None = None,
) -> Commit:
    """The end of a run as the row will have it, the schedule's memory included.

    :param url: the public URL of the file, if it was published.
    :param price: the minutes of staleness that a crawl has to save, None without a budget.
    """
    site = claim.site
    failures = site.failure_count + 1 if result.counts_as_failure else 0
    decision = _decided(claim, result, failures, now, settings, price)
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
        pinned_over=_pin(site, result),
        sentinel_url=result.sentinel_url,
        sentinel_last_modified=None if inventory is None else newest(inventory),
        avg_change_interval_minutes=decision.avg_change_interval_minutes,
        schedule=site.schedule if result.ours else decision.memory,
        next_crawl_reason=decision.reason,
        counts=result.counts,
        duration_ms=duration_ms,
    )


def _decided(
    claim: Claim, result: Survey, failures: int, now: datetime, settings: Settings, price: float | None
) -> Decision:
    """When to look again: the site's policy, told what the run saw."""
    site = claim.site
    policy = policy_of(site.options, settings)
    history = History.of(
        site,
        result.outcome,
        failures=failures,
        memory=memory_for(policy, site.schedule),
        retry_after=result.retry_after,
        gone=result.gone,
        **evidence(claim, result, now, learns=policy == LEARNED),
    )
    history = replace(history, adaptive=policy != FIXED, weight=site.options.weight)
    spread = spread_of(site.id, claim.generation)
    decision = decide(history, schedule_settings(policy, price), now, spread=spread)
    return _apart(decision, site, result.outcome, now)


def _apart(decision: Decision, site: Site, outcome: Outcome, now: datetime) -> Decision:
    """The second look at a site that came in a crowd is anywhere in the interval, so that the crowd does not come back
    as one. Its first look was put off (`Enrollment.crowd`), which is how it is known.
    """
    first = site.next_crawl_at
    crowded = site.last_checked_at is None and first is not None and MOMENT < first - site.created_at < DAY
    if not crowded or outcome not in LOOKED:
        return decision
    wait = (decision.next_crawl_at - now) * max(SOONEST, spread_of(site.id, 0))
    reason = "one of many that were enrolled together; its first interval is shorter, to keep them apart"
    return replace(decision, next_crawl_at=now + wait, reason=reason)


def _pin(site: Site, result: Survey) -> str | None:
    """What a rollback put aside, until the site gives something else: a new file, or the very one that was put back."""
    same = result.rendered is not None and result.rendered.sha256 == site.latest_llms_hash
    return None if result.outcome is Outcome.UPDATED or same else site.pinned_over


def _error(site: Site, result: Survey) -> str | None:
    """What the row says is wrong with the site; a fault of ours says nothing about it."""
    if result.ours:
        return site.last_error
    return result.reason if result.counts_as_failure or result.outcome is Outcome.HELD else None
