"""Metrics in the embedded metric format: a line of the log that CloudWatch makes metrics of.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

MOST = 100
"""Metrics of one line, and values of one metric, by the specification."""


class Metrics:
    """Collects values and writes them as one line, all under the same dimensions."""

    def __init__(self, namespace: str, dimensions: Mapping[str, str]) -> None:
        self._namespace, self._dimensions = namespace, dict(dimensions)
        self._units: dict[str, str] = {}
        self._values: dict[str, list[float]] = {}

    def add(self, name: str, unit: str, value: float) -> None:
        """:param unit: a unit of CloudWatch's, such as `Count` or `Seconds`."""
        values = self._values.setdefault(name, [])
        values.append(float(value))
        self._units[name] = unit
        if len(values) == MOST or len(self._values) == MOST:
            self.flush()

    def flush(self) -> None:
        """Write what was collected, if anything was, and forget it."""
        if self._values:
            line = json.dumps(self._document(), separators=(",", ":"))
            print(line, flush=True)  # noqa: T201 - CloudWatch reads standard output
        self._units, self._values = {}, {}

    def _document(self) -> dict[str, object]:
        directive = {
            "Namespace": self._namespace,
            "Dimensions": [list(self._dimensions)],
            "Metrics": [{"Name": name, "Unit": unit} for name, unit in self._units.items()],
        }
        described = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [directive]}
        return {"_aws": described, **self._dimensions, **self._values}
