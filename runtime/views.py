"""Sites and runs as callers see them: the request's names for what they chose, the row's for what came of it.

No view holds a secret.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from runtime.models import Run, Site, SiteStatus

SITE_TIMES = (
    "last_checked_at",
    "last_crawled_at",
    "last_changed_at",
    "requested_at",
    "next_crawl_at",
    "created_at",
    "updated_at",
)


def site_view(site: Site) -> dict[str, Any]:
    options = site.options
    return {
        "id": site.id,
        "url": site.base_url,
        "status": shown_status(site),
        "maxPages": options.max_pages,
        "descLength": options.desc_length,
        "recrawlIntervalMinutes": options.recrawl_interval_minutes,
        "adaptive": options.adaptive,
        "schedule": options.policy or "default",
        "weight": options.weight,
        "requireSignature": options.require_signature,
        "include": list(options.include),
        "exclude": list(options.exclude),
        "notifyUrl": options.notify_url,
        "llmEnhance": options.llm_enhance,
        "useBrightdata": options.use_brightdata,
        "llms_url": site.latest_llms_url,
        "llms_hash": site.latest_llms_hash,
        "sentinel_url": site.sentinel_url,
        "last_outcome": site.last_outcome,
        "last_error": site.last_error,
        "failure_count": site.failure_count,
        **{name: moment(getattr(site, name)) for name in SITE_TIMES},
        "next_crawl_reason": site.next_crawl_reason,
    }


def shown_status(site: Site) -> SiteStatus:
    """A site without a crawl time is never due, whatever its row says."""
    idle = site.status is SiteStatus.ACTIVE and site.next_crawl_at is None
    return SiteStatus.PAUSED if idle else site.status


def run_view(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "outcome": run.outcome,
        "reason": run.reason,
        "error": run.error,
        "counts": dict(run.counts),
        "llms_hash": run.llms_hash,
        "started_at": moment(run.started_at),
        "finished_at": moment(run.finished_at),
        "duration_ms": run.duration_ms,
    }


def moment(value: datetime | None) -> str | None:
    """ISO 8601 in UTC, as in `2026-12-02T12:00:00+00:00`."""
    return None if value is None else value.astimezone(UTC).isoformat()
