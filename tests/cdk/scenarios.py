"""What the alarms make of days in the life of the service, and the table of it."""

from __future__ import annotations

from dataclasses import dataclass

from cdk.alarm_spec import SERVICE, Severity, Signal
from cdk.alarm_table import alarm_table
from cdk.config import StageConfig, load_stage
from cdk.documents import ROOT
from cdk.made import replace_part
from runtime import metrics as m
from tests.cdk.cloudwatch import Series, firing_times
from tests.cdk.days import FAULT, Scenario, days
from tests.cdk.days_at_the_edges import days_at_the_edges
from tests.cdk.fleet import DAY, HOUR

PROD = load_stage({"stage": "prod", "liveCrawl": "true"})
"""Production with everything that has alarms."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Seconds from the fault to each alarm that fired, and to the page."""

    fired: dict[str, int]
    paged_after: int | None


def scenarios() -> list[Scenario]:
    """All days."""
    return [*days(), *days_at_the_edges()]


def observe(scenario: Scenario, *, fill_empty: bool, config: StageConfig = PROD) -> Outcome:
    """Run a scenario and evaluate every alarm of the table, then the composite with its suppressor."""
    series = scenario.fleet.run()
    until = scenario.fleet.days * DAY
    spans = {spec.id: firing_times(spec, series, until, fill_empty=fill_empty) for spec in alarm_table(config)}
    pages = {spec.id for spec in alarm_table(config) if spec.severity is Severity.PAGE}
    woken = [begin for id_ in pages for begin, _end in spans[id_] if not _announced(series, begin)]
    fired = {id_: found[0][0] - FAULT for id_, found in spans.items() if found}
    return Outcome(fired, min(woken) - FAULT if woken else None)


def _announced(series: Series, second: int) -> bool:
    """Whether somebody wrote the maintenance metric in the twelve hours before."""
    hours = series.buckets(Signal(SERVICE, m.MAINTENANCE, "Maximum"), HOUR, second // HOUR)
    return any(value is not None and value >= 1 for value in hours[-12:])


def table(rows: list[tuple[Scenario, Outcome]]) -> str:
    """The Markdown table of docs/operations.md."""
    lines = ["| what happens | put in | alarms, after the fault | page |", "|---|---|---|---|"]
    for scenario, outcome in rows:
        fired = ", ".join(
            f"{id_} ({_hours(at)})" for id_, at in sorted(outcome.fired.items(), key=lambda item: item[1])
        )
        page = "no" if outcome.paged_after is None else f"yes, after {_hours(outcome.paged_after)}"
        lines.append(f"| {scenario.name} | {scenario.what} | {fired or 'none'} | {page} |")
    return "\n".join(lines) + "\n"


def _hours(seconds: int) -> str:
    return f"{seconds // HOUR} h {seconds % HOUR // 60:02d}"


def played() -> str:
    """The table of all scenarios."""
    return table([(scenario, observe(scenario, fill_empty=True)) for scenario in scenarios()])


if __name__ == "__main__":
    page = ROOT / "docs/operations.md"
    page.write_text(replace_part(page.read_text(), "scenarios", played()))
