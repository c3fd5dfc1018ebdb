"""Events as JSON log lines and EMF metrics: the `Events` port of the Lambda doors.

One canonical line and one metric set a run and a tick. Dimensions are service and stage only; what would be one more
dimension (a site, a run) is a field of the line. Metric names are those of `runtime.metrics`.
"""

from __future__ import annotations

import json
from typing import Any

from runtime import metrics as names
from runtime.handlers.emf import Metrics
from runtime.handlers.logs import Log
from runtime.models import Outcome

OUTCOME_METRICS = {
    Outcome.UPDATED: names.SITES_UPDATED,
    Outcome.UNCHANGED_SITEMAP: names.SITES_UNCHANGED,
    Outcome.UNCHANGED_CONTENT: names.SITES_UNCHANGED,
    Outcome.HELD: names.SITES_HELD,
    Outcome.FAILED: names.SITES_FAILED,
    Outcome.DEFERRED: names.SITES_DEFERRED,
}
COUNTED = {
    "configuration_failed": names.CONFIGURATION_ERRORS,
    "own_fault": names.OWN_FAULTS,
    "publish_failed": names.PUBLISH_FAILURES,
    "tick_completed": names.TICKS_COMPLETED,
    "notification_sent": names.NOTIFICATIONS_SENT,
    "notification_failed": names.NOTIFICATIONS_FAILED,
    "unlock_budget_spent": names.UNLOCK_BUDGET_SPENT,
}
"""Events that are counted as they are."""

ERRORS = ("_failed", "_unreadable", "own_fault")
"""Ends of the names of events that say that something of ours does not work."""

SECONDS = frozenset({names.RUN_SECONDS, names.TICK_SECONDS, names.OLDEST_DUE_SECONDS})
MAX_FIELD_CHARS = 1_000
"""A line stays far below CloudWatch's limit, whatever a site put into an error."""


class CloudEvents:
    """Logs every event at its level; counts those that have a metric.

    :param stage: of the deployment; a dimension, like the service.
    """

    def __init__(self, logger: Log, stage: str) -> None:
        self._logger = logger
        dimensions = {names.STAGE_DIMENSION: stage, names.SERVICE_DIMENSION: names.SERVICE}
        self._metrics = Metrics(names.NAMESPACE, dimensions)

    def event(self, name: str, **fields: Any) -> None:
        if name == "step":
            return
        shown = {key: _short(value) for key, value in fields.items()}
        if name == "tick_completed":
            summary = {key: value for key, value in fields.items() if key != "tick_id"}
            shown["summary"] = f"[RECRAWL] Completed: {json.dumps(summary)}"
        level = self._logger.error if name.endswith(ERRORS) else self._logger.info
        level(name, **shown)
        self._count(name, fields)

    def _count(self, name: str, fields: dict[str, Any]) -> None:
        if name == "site_recrawled":
            outcome = Outcome(fields["outcome"])
            for metric in sorted(set(OUTCOME_METRICS.values())):
                self.add(metric, 1 if metric == OUTCOME_METRICS[outcome] else 0)
            self.add(names.SITES_PROCESSED, int(bool(fields["crawled"])))
            self.add(names.RUN_SECONDS, fields["duration_ms"] / 1000)
            self.add(names.RUN_REQUESTS, fields["requests"])
            self.add(names.SECURITY_DENIED, fields["refused"])
            if calls := fields.get("unlock_calls"):
                self.add(names.UNLOCK_CALLS, calls)
            self.add(names.WORK_COMPLETED, int(not fields["ours"]))
        elif name == "tick_dispatched":
            for metric, value in fields.items():
                if metric != "tick_id":
                    self.add(metric, value)
            self.add(names.WORK_COMPLETED, int(fields[names.SITES_TOTAL] + fields[names.QUEUE_FAILURES] == 0))
        elif name in (names.WEBHOOK_ACCEPTED, names.WEBHOOK_UNAUTHORIZED):
            self.add(name, 1)
        elif name in COUNTED:
            self.add(COUNTED[name], 1)

    def add(self, metric: str, value: float) -> None:
        self._metrics.add(metric, "Seconds" if metric in SECONDS else "Count", value)

    def flush(self) -> None:
        """Write the metrics of one invocation, if it had any."""
        self._metrics.flush()


def _short(value: Any) -> Any:
    return value[:MAX_FIELD_CHARS] if isinstance(value, str) else value
