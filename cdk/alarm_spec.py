"""What an alarm is here, and where its metrics come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from cdk.config import StageConfig
from runtime import metrics as m

SERVICE, DISPATCHER, WORKER, WEBHOOK = "service", "dispatcher", "worker", "webhook"
WORK, DEAD, UNDELIVERED, FAILED = "work queue", "dead sites", "undelivered ticks", "failed ticks"
LETTERS = "undelivered notifications"
LIVE_DOOR, LIVE_WORKER, LIVE_WORK, LIVE_DEAD = "live door", "live worker", "live queue", "dead live crawls"
"""Where a metric comes from: our own namespace, a function, a queue."""

WAITING = "ApproximateNumberOfMessagesVisible"
"""The queue metric that says how many messages lie there."""

HOPS = ("service", "schedule", "queue", "worker", "sites", "webhook", "live")
"""The rows of the dashboard, in the order in which work flows."""


class Severity(StrEnum):
    """What an alarm may do: wake somebody, open a ticket, open a ticket where the stage wants such."""

    PAGE = "page"
    TICKET = "ticket"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Signal:
    """One metric of one source with its statistic."""

    source: str
    name: str
    statistic: str = "Sum"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmSpec:
    """One alarm. `period` is in seconds; `expression`, where there is one, combines the signals by their names.

    It fires when `datapoints` of the last `periods` are `comparison` (>=, >, <) `threshold`. `missing` says what a
    period without data counts as: breaching, notBreaching, or ignore (the state stays as it is).
    """

    id: str
    severity: Severity
    hop: str
    broke: str
    check: str
    signals: Mapping[str, Signal]
    expression: str | None = None
    comparison: str = ">="
    threshold: float
    period: int
    periods: int = 1
    datapoints: int = 1
    missing: str = "notBreaching"

    @property
    def window(self) -> int:
        """Seconds that the alarm looks back."""
        return self.period * self.periods


RUNS = {"runs": Signal(SERVICE, m.RUN_SECONDS, "SampleCount"), "failed": Signal(SERVICE, m.SITES_FAILED)}
"""How many runs ended, and how many of them failed."""


def tick_period(config: StageConfig) -> int:
    """A period in seconds that holds at least one tick, and is worth a look."""
    return max(config.cadence_seconds, 3_600 if config.stage != "local" else 60)
