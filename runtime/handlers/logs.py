"""The lines that a Lambda function logs: JSON on standard output, one object a line.

The fields have the names that Powertools gives them. Lambda's own log level leaves lines out by their `level`:
https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

TRACE = "_X_AMZN_TRACE_ID"
"""Where Lambda writes the trace of the current invocation: `Root=1-…;Parent=…;Sampled=1`."""


class Log:
    """Writes lines of one service. `request_id` is of the invocation and part of every line.

    :param stream: where to, if not standard output.
    """

    def __init__(self, service: str, stream: TextIO | None = None) -> None:
        self.stream = stream
        self.request_id: str | None = None
        self._service = service

    def info(self, message: str, **fields: Any) -> None:
        self._write("INFO", message, fields)

    def error(self, message: str, **fields: Any) -> None:
        self._write("ERROR", message, fields)

    def _write(self, level: str, message: str, fields: dict[str, Any]) -> None:
        """A field that is None is left out; what JSON does not know is written as its text."""
        caller = sys._getframe(2)  # noqa: SLF001 - documented, and what `logging` itself finds callers with
        line = {
            "level": level,
            "location": f"{caller.f_code.co_name}:{caller.f_lineno}",
            "message": message,
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "service": self._service,
            "request_id": self.request_id,
            **fields,
            "xray_trace_id": trace_of(os.environ.get(TRACE, "")),
        }
        told = {name: value for name, value in line.items() if value is not None}
        print(json.dumps(told, default=str, separators=(",", ":"), ensure_ascii=False), file=self.stream, flush=True)


def trace_of(header: str) -> str | None:
    """The trace's id, without what else the tracing header says."""
    return header.partition(";")[0].removeprefix("Root=") or None
