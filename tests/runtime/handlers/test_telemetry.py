"""What the doors write for CloudWatch: lines that queries and alarms find fields in by name."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest

from runtime import metrics
from runtime.handlers.emf import MOST, Metrics
from runtime.handlers.logs import Log
from runtime.handlers.telemetry import CloudEvents


def test_a_line_has_the_fields_of_lambdas_json_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """Level, place, message and time first, then the service, the invocation, the event's own fields, the trace."""
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")
    written = io.StringIO()
    log = Log("llms-txt", written)
    log.request_id = "r-1"
    log.error("publish_failed", site_id="é", generation=3, error=None)

    (text,) = written.getvalue().splitlines()
    line = json.loads(text)
    assert list(line) == [
        "level", "location", "message", "timestamp", "service", "request_id", "site_id", "generation", "xray_trace_id",
    ]  # fmt: skip
    assert datetime.fromisoformat(line.pop("timestamp")).utcoffset() == UTC.utcoffset(None)
    assert line.pop("location").startswith("test_a_line_has_the_fields_of_lambdas_json_format:")
    assert line == {
        "level": "ERROR",
        "message": "publish_failed",
        "service": "llms-txt",
        "request_id": "r-1",
        "site_id": "é",
        "generation": 3,
        "xray_trace_id": "1-5759e988-bd862e3fe1be46a994272793",
    }


@pytest.mark.parametrize(
    ("value", "shown"),
    [({3}, "{3}"), (ValueError("odd"), "odd"), (datetime(2026, 12, 2, tzinfo=UTC), "2026-12-02 00:00:00+00:00")],
)
def test_what_json_does_not_know_is_logged_as_text(value: object, shown: str) -> None:
    """A line is never lost for a value in it; one outside an invocation and a trace names neither."""
    written = io.StringIO()
    Log("llms-txt", written).info("tick_completed", value=value)
    line = json.loads(written.getvalue())
    assert line["value"] == shown
    assert not {"request_id", "xray_trace_id"} & set(line)


def test_a_text_with_line_ends_is_one_line() -> None:
    """CloudWatch makes an event of every line, so a site's text must not be able to write one."""
    written = io.StringIO()
    Log("llms-txt", written).info("step", error='a\n{"level":"ERROR"}\r\u2028')
    assert written.getvalue().count("\n") == 1
    assert "\r" not in written.getvalue()


def test_metrics_of_an_invocation_are_one_emf_document(capsys: pytest.CaptureFixture[str]) -> None:
    """Every value under service and stage, each metric with its unit; a second flush writes nothing."""
    events = CloudEvents(Log(metrics.SERVICE, io.StringIO()), "prod")
    events.add(metrics.SITES_UPDATED, 1)
    events.add(metrics.RUN_SECONDS, 1.5)
    events.add(metrics.SITES_UPDATED, 0)
    events.flush()
    events.flush()

    (text,) = capsys.readouterr().out.splitlines()
    document = json.loads(text)
    assert document.pop("_aws")["CloudWatchMetrics"] == [
        {
            "Namespace": "LlmsTxt",
            "Dimensions": [["stage", "service"]],
            "Metrics": [{"Name": "SitesUpdated", "Unit": "Count"}, {"Name": "RunSeconds", "Unit": "Seconds"}],
        }
    ]
    assert document == {"stage": "prod", "service": "llms-txt", "SitesUpdated": [1.0, 0.0], "RunSeconds": [1.5]}


@pytest.mark.parametrize(("names", "each"), [(1, 250), (250, 1)])
def test_no_document_holds_more_than_cloudwatch_takes(
    capsys: pytest.CaptureFixture[str], names: int, each: int
) -> None:
    """A hundred metrics and a hundred values of one at most; nothing is lost, and every part has the dimensions."""
    collected = Metrics("LlmsTxt", {"stage": "prod"})
    for number in range(names * each):
        collected.add(f"M{number % names}", "Count", number)
    collected.flush()

    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    values = [{name: given for name, given in document.items() if name[0] == "M"} for document in documents]
    assert all(len(part) <= MOST and max(map(len, part.values())) <= MOST for part in values)
    assert sorted(v for part in values for given in part.values() for v in given) == list(range(names * each))
    assert {document["stage"] for document in documents} == {"prod"}
