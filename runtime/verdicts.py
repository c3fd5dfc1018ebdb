"""The decisions that the pure rooms hand to the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A complete reading says that nothing moved since the last run."""

    reason: str


@dataclass(frozen=True, slots=True)
class Changed:
    """What moved, by URL. `touched` are URLs whose lastmod differs from the stored one."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The sitemaps prove nothing; never to be read as unchanged."""

    reason: str


Verdict = Unchanged | Changed | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """When to look again, and why, in words an owner understands. `memory` is the policy's few numbers.

    `disable` says that the site failed long enough to be given up; `full` that the next look should read the pages
    whatever the sitemap says.
    """

    next_crawl_at: datetime
    reason: str
    avg_change_interval_minutes: float | None = None
    memory: Mapping[str, float] = field(default_factory=dict)
    disable: bool = False
    full: bool = False
