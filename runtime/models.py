"""The nouns of the service: sites, claims, runs, pages, inventories.

Every type here is a plain value. Times are aware datetimes in UTC; durations carry their unit in the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

MIN_PAGES, DEFAULT_PAGES, MAX_PAGES = 1, 50, 10_000
MIN_DESC, DEFAULT_DESC, MAX_DESC = 50, 500, 2_000
MIN_INTERVAL, DEFAULT_INTERVAL, MAX_INTERVAL = 60, 10_080, 525_600
"""Bounds of what an owner may ask for: pages, characters, minutes."""

MIN_WEIGHT, DEFAULT_WEIGHT, MAX_WEIGHT = 0.01, 1.0, 100.0
"""How much a site's freshness counts beside another's."""

ROBOTS_TOKEN = "LlmsTxtBot"  # noqa: S105 - a product token, no secret
"""The product token that robots.txt groups are matched against (RFC 9309 2.2.1)."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Outcome(StrEnum):
    """How one claimed site ended. Exactly one a run; together they sum to the run's total."""

    UPDATED = "updated"
    UNCHANGED_SITEMAP = "unchanged_sitemap"
    UNCHANGED_CONTENT = "unchanged_content"
    HELD = "held"
    FAILED = "failed"
    DEFERRED = "deferred"


class SiteStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOptions:
    """What an owner chooses for a site; stored in the row and used by every recrawl."""

    max_pages: int = DEFAULT_PAGES
    desc_length: int = DEFAULT_DESC
    recrawl_interval_minutes: int = DEFAULT_INTERVAL
    adaptive: bool = False
    policy: str = ""
    """The schedule the site follows, one of `settings.POLICIES`; empty: as the deployment says (`runtime.policy`)."""

    weight: float = DEFAULT_WEIGHT
    """How much the site's freshness counts under a budget of crawls."""

    require_signature: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    notify_url: str = ""
    """Where the site's owner wants to be told of changes; empty: nowhere."""

    llm_enhance: bool = False
    """A model writes descriptions and summary. It shapes what is published, never the document and its hash."""

    use_brightdata: bool = True
    """Pages behind scripts and bot walls may be fetched through the unlocker, where the service has one."""

    def services(self) -> tuple[bool, bool]:
        """The paid services that the site may use: another choice is worth another look."""
        return self.llm_enhance, self.use_brightdata

    def shaping(self) -> dict[str, Any]:
        """The options that shape the document, as JSON: when one changes, what was read before proves nothing."""
        return {
            "max_pages": self.max_pages,
            "desc_length": self.desc_length,
            "include": list(self.include),
            "exclude": list(self.exclude),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A row of `crawl_sites`. Secrets are left out of the repr."""

    id: str
    base_url: str
    options: SiteOptions
    status: SiteStatus = SiteStatus.ACTIVE
    webhook_secret: str = field(default="", repr=False)
    previous_webhook_secret: str = field(default="", repr=False)
    previous_secret_until: datetime | None = None
    sentinel_url: str | None = None
    sentinel_last_modified: datetime | None = None
    avg_change_interval_minutes: float | None = None
    schedule: Mapping[str, float] = field(default_factory=dict)
    next_crawl_reason: str | None = None
    latest_llms_hash: str | None = None
    latest_llms_url: str | None = None
    pinned_over: str | None = None
    """Set by a rollback: the hash of the document that it put aside, which is not published until the site changes."""

    confirmed: Mapping[str, Any] | None = None
    """The held result that a person said may be published, as the guard remembers it."""

    last_crawled_at: datetime | None = None
    last_changed_at: datetime | None = None
    last_checked_at: datetime | None = None
    last_outcome: Outcome | None = None
    last_error: str | None = None
    failure_count: int = 0
    requested_at: datetime | None = None
    next_crawl_at: datetime | None = None
    generation: int = 0
    lease_owner: str | None = None
    lease_until: datetime | None = None
    attempts: int = 0
    created_at: datetime = EPOCH
    updated_at: datetime = EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to work on one site until `lease_until`; every write back is fenced by it.

    `forced` is true when a webhook or a person asked for the run: the sitemap verdict is then not consulted.
    """

    site: Site
    generation: int
    lease_owner: str
    lease_until: datetime
    claimed_at: datetime
    forced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What a finished run writes to the row and to `crawl_runs`, in one fenced statement.

    A field that is None leaves the column as it is, except `error` and `pinned_over`, which are written as given. A
    `changed` file uses up what a person confirmed.
    `next_crawl_at` is the planned time; a webhook that arrived after the claim keeps the earlier one.
    """

    run_id: str
    tick_id: str | None
    outcome: Outcome
    reason: str
    next_crawl_at: datetime | None
    failure_count: int = 0
    status: SiteStatus | None = None
    error: str | None = None
    crawled: bool = False
    changed: bool = False
    latest_llms_hash: str | None = None
    latest_llms_url: str | None = None
    pinned_over: str | None = None
    sentinel_url: str | None = None
    sentinel_last_modified: datetime | None = None
    avg_change_interval_minutes: float | None = None
    schedule: Mapping[str, float] | None = None
    next_crawl_reason: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A line of `crawl_runs`."""

    id: str
    site_id: str
    tick_id: str | None
    generation: int
    outcome: Outcome
    reason: str
    error: str | None
    counts: Mapping[str, int]
    llms_hash: str | None
    started_at: datetime
    finished_at: datetime
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DueSummary:
    """How far behind the schedule is: due now, overdue by more than `slack`, and the oldest due time.

    `over_budget` are those that are due and wait for nothing but the budget; they count as due, and are neither overdue
    nor the oldest. `stale` counts active sites without a successful look for more than two of their own intervals and a
    day.
    """

    due: int
    overdue: int
    oldest_due_at: datetime | None
    over_budget: int = 0
    stale: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What the store knows of the deployment's budget of crawls.

    `crawls` were started in the last 24 hours, `asked` of them because a webhook or a person asked. `price` is the
    minutes of staleness that a crawl has to save, None before it was found; `priced_at` is when it was set.
    """

    crawls: int = 0
    asked: int = 0
    price: float | None = None
    priced_at: datetime | None = None

    @staticmethod
    def kept_for_asked(crawls_a_day: int) -> int:
        """Crawls of a day's budget that only sites may use that were asked for; `claim_due` has the same in SQL."""
        return crawls_a_day // 10

    def is_spent(self, crawls_a_day: int) -> bool:
        """Whether sites that nobody asked for have to wait."""
        return self.crawls >= crawls_a_day - self.kept_for_asked(crawls_a_day)


@dataclass(frozen=True, slots=True)
class Summary:
    """The specification's "Recrawl Results", made to add up: total = updated + unchanged + held + errors + deferred.

    `processed` counts the sites that were crawled, whatever came of it.
    """

    total: int = 0
    processed: int = 0
    updated: int = 0
    unchanged: int = 0
    held: int = 0
    errors: int = 0
    deferred: int = 0

    def plus(self, outcome: Outcome, *, crawled: bool) -> Summary:
        """This summary with one more site in it."""
        return Summary(
            total=self.total + 1,
            processed=self.processed + crawled,
            updated=self.updated + (outcome is Outcome.UPDATED),
            unchanged=self.unchanged + (outcome in (Outcome.UNCHANGED_SITEMAP, Outcome.UNCHANGED_CONTENT)),
            held=self.held + (outcome is Outcome.HELD),
            errors=self.errors + (outcome is Outcome.FAILED),
            deferred=self.deferred + (outcome is Outcome.DEFERRED),
        )

    def as_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}
