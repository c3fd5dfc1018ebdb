"""What a schedule is decided from: the numbers of the row, what this run saw, and the deployment's choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from runtime.models import MAX_INTERVAL, MIN_INTERVAL, Outcome, Site
from runtime.scheduling.rate import Watched

FIXED, EWMA, LEARNED = "fixed", "ewma", "learned"

LONGEST_ADAPTIVE = 10_080
"""Minutes. The specification's MAX_INTERVAL_MINUTES; an owner who chose more gets what was chosen."""

LOOKED = frozenset({Outcome.UPDATED, Outcome.UNCHANGED_CONTENT, Outcome.UNCHANGED_SITEMAP})
"""Outcomes that say whether the site changed. A held, failed or deferred run does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSettings:
    """A deployment's choices.

    `adaptive_policy` is what sites follow whose owner lets the schedule adapt. `price` is the minutes of staleness that
    a crawl has to save under a budget (`scheduling.budget`), None without one; `look_cost` is what a look costs that
    ends with the sitemap, in crawls.
    """

    adaptive_policy: str = EWMA
    price: float | None = None
    look_cost: float = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A site as the schedule sees it, at the end of a run.

    `due_at` is the time this run was planned for; `failures` counts this run if it failed; `gone` says that the entry
    page answered 410; `memory` is what the last decision remembered, plain numbers by name.

    For the learned policy: `announced` says that a webhook or a person asked for the run; `sitemap_says_changed` is
    the sitemap's word before the crawl, None where it had none (true at the first sight of one); `unlisted` says
    whether the crawl found a change that the sitemap does not name, None if that was not looked at; `read` that a crawl
    asked for every page, rather than for those alone that the sitemap names; `changes` counts
    the changes since the last look that trusted dates tell apart; `newest` is how many minutes ago the last one was, by
    the dates of the pages that it edited, None where they do not tell; `pages_changed` counts the listed pages that
    differ; `past` is what the sitemap's dates tell of the time before a first look, None where they tell nothing;
    `weight` is how much the site's freshness counts under a budget.
    """

    interval_minutes: float
    outcome: Outcome
    adaptive: bool = False
    avg_change_interval_minutes: float | None = None
    due_at: datetime | None = None
    last_checked_at: datetime | None = None
    last_crawled_at: datetime | None = None
    last_changed_at: datetime | None = None
    failures: int = 0
    gone: bool = False
    retry_after: datetime | None = None
    memory: Mapping[str, float] = field(default_factory=dict)
    announced: bool = False
    sitemap_says_changed: bool | None = None
    unlisted: bool | None = None
    read: bool = True
    changes: int | None = None
    newest: float | None = None
    pages_changed: int = 0
    past: Watched | None = None
    weight: float = 1.0

    @classmethod
    def of(
        cls,
        site: Site,
        outcome: Outcome,
        *,
        failures: int,
        memory: Mapping[str, float],
        retry_after: datetime | None = None,
        gone: bool = False,
        announced: bool = False,
        sitemap_says_changed: bool | None = None,
        unlisted: bool | None = None,
        read: bool = True,
        changes: int | None = None,
        newest: float | None = None,
        pages_changed: int = 0,
        past: Watched | None = None,
    ) -> History:
        """The history of a row as it was claimed, and the outcome of the run that now ends.

        :param failures: failures in a row, this run included; 0 after a success.
        :param retry_after: not before this time, by the site's own word (RFC 9110 10.2.3).
        """
        return cls(
            interval_minutes=site.options.recrawl_interval_minutes,
            outcome=outcome,
            adaptive=site.options.adaptive,
            avg_change_interval_minutes=site.avg_change_interval_minutes,
            due_at=site.next_crawl_at,
            last_checked_at=site.last_checked_at,
            last_crawled_at=site.last_crawled_at,
            last_changed_at=site.last_changed_at,
            failures=failures,
            gone=gone,
            retry_after=retry_after,
            memory=memory,
            announced=announced,
            sitemap_says_changed=False if outcome is Outcome.UNCHANGED_SITEMAP else sitemap_says_changed,
            unlisted=unlisted,
            read=read,
            changes=changes,
            newest=newest,
            pages_changed=pages_changed,
            past=past,
        )

    @property
    def interval(self) -> float:
        """The owner's interval in minutes, within what an owner may ask for."""
        return within(self.interval_minutes, MIN_INTERVAL, MAX_INTERVAL)

    @property
    def longest(self) -> float:
        """The longest interval in minutes that an adaptive policy may choose."""
        return max(self.interval, LONGEST_ADAPTIVE)

    def minutes_since_look(self, now: datetime) -> float | None:
        """Minutes since somebody last looked at the site; None if nobody did, or if clocks disagree about it."""
        looks = [time for time in (self.last_checked_at, self.last_crawled_at) if time is not None]
        if not looks:
            return None
        minutes = (now - max(looks)).total_seconds() / 60
        return minutes if minutes > 0 else None


def within(value: float, low: float, high: float) -> float:
    """`value` brought between two bounds; what is not a number is the lower one."""
    return min(high, max(low, value)) if value == value else low  # noqa: PLR0124 - NaN differs from itself
