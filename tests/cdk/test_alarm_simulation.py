"""Which alarms fire on which day, and which never do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from cdk.alarm_spec import SERVICE, AlarmSpec, Severity, Signal
from cdk.alarm_table import alarm_table
from cdk.config import STAGES, StageConfig, load_stage
from runtime import metrics as m
from tests.cdk.cloudwatch import Series, firing_times
from tests.cdk.days import Scenario
from tests.cdk.fleet import DAY, Fleet
from tests.cdk.scenarios import PROD, observe, scenarios

NAMES = [scenario.name for scenario in scenarios()]


def scenario_named(name: str) -> Scenario:
    return next(scenario for scenario in scenarios() if scenario.name == name)


@pytest.mark.parametrize("fill_empty", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_exactly_the_right_alarms_fire(name: str, fill_empty: bool) -> None:
    """Neither more nor fewer, however CloudWatch reads FILL over a window without any datapoint."""
    scenario = scenario_named(name)
    outcome = observe(scenario, fill_empty=fill_empty)
    assert set(outcome.fired) == scenario.fires
    assert (outcome.paged_after is not None) is scenario.page


def test_every_alarm_has_a_day_on_which_it_fires() -> None:
    """And many on which it does not, a rough fortnight close below its thresholds among them."""
    fired = {id_ for scenario in scenarios() for id_ in scenario.fires}
    assert fired == {spec.id for spec in alarm_table(PROD)}


@pytest.mark.parametrize("hour", range(0, 24, 3))
@pytest.mark.parametrize(
    "schedule", ["rate(5 minutes)", "rate(1 hour)", "rate(3 hours)", "rate(6 hours)", "rate(1 day)"]
)
def test_a_dead_scheduler_pages_within_two_intervals_and_fifteen_minutes(schedule: str, hour: int) -> None:
    """Whatever the schedule and the hour of its death."""
    config = load_stage({"stage": "prod", "schedule": schedule})
    death = 2 * DAY + hour * 3_600 + 59
    days = 4 + 2 * config.cadence_seconds // DAY
    fleet = Fleet(days=days, cadence=config.cadence_seconds, scheduled=lambda now: now < death, due=lambda _now: 0)
    ((fired, over),) = firing_times(heartbeat(config), started(fleet), days * DAY)
    assert death < fired <= death + 2 * config.cadence_seconds + 900
    assert over == days * DAY


@pytest.mark.parametrize("schedule", ["rate(5 minutes)", "rate(1 hour)", "rate(6 hours)", "rate(1 day)"])
@pytest.mark.parametrize("offset", [0, 61, 299, 3_541])
def test_a_beating_heart_never_pages(schedule: str, offset: int) -> None:
    """Ticks that come on time, at any minute of the hour, with work or without."""
    config = load_stage({"stage": "prod", "schedule": schedule})
    for due in (0, 14):
        fleet = Fleet(days=4, cadence=config.cadence_seconds, offset=offset // 60 * 60, due=constant(due))
        assert firing_times(heartbeat(config), started(fleet), 4 * DAY) == []


def heartbeat(config: StageConfig) -> AlarmSpec:
    return next(spec for spec in alarm_table(config) if spec.id == "heartbeat")


def constant(number: int) -> Callable[[int], int]:
    return lambda _now: number


def started(fleet: Fleet) -> Series:
    """What the fleet shows, with the one tick of `make smoke` right after the deploy."""
    fleet.series.add(SERVICE, m.WORK_COMPLETED, 0, 1)
    return fleet.run()


def test_one_bad_site_never_pages_at_any_size_of_fleet() -> None:
    """From one site to many: the share of one failing site reaches the page's threshold only below ten runs."""
    pages = [spec for spec in alarm_table(STAGES["prod"]) if spec.severity is Severity.PAGE]
    for due in (1, 2, 5, 9, 10, 50):
        series = Fleet(due=constant(due), failing=lambda _now, _due: 1).run()
        assert [spec.id for spec in pages if firing_times(spec, series, 4 * DAY)] == []


def spec(**changes: object) -> AlarmSpec:
    base = AlarmSpec(
        id="x", severity=Severity.LOW, hop="sites", broke="", check="", signals={"a": Signal(SERVICE, "A")},
        threshold=1, period=60,
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def series(*values: float | None) -> Series:
    made = Series()
    for minute, value in enumerate(values):
        if value is not None:
            made.add(SERVICE, "A", 60 * minute, value)
    return made


@pytest.mark.parametrize(
    ("changes", "values", "spans"),
    [
        ({}, (0, 1, 0), [(120, 180)]),
        ({"comparison": ">"}, (0, 1, 2), [(180, 180)]),
        ({"periods": 3, "datapoints": 2}, (1, 0, 1, 0, 0), [(180, 240)]),
        ({"missing": "breaching"}, (0, None, 0), [(120, 180)]),
        ({"missing": "notBreaching"}, (1, None), [(60, 120)]),
        ({"missing": "ignore"}, (1, None, 0), [(60, 180)]),
        ({"missing": "ignore", "periods": 2, "datapoints": 2}, (1, None, 1, 1, None, 0), [(240, 360)]),
        ({"expression": "FILL(a, 0)", "comparison": "<"}, (1, None, 1), [(120, 180)]),
        ({"expression": "IF(a > 5, 10 * a / a, 0)", "threshold": 10}, (1, 6, 0), [(120, 180)]),
        ({"expression": "FILL(a, 0) - 2 + 1"}, (2, None, 1), [(60, 120)]),
    ],
)
def test_the_evaluator_reads_alarms_as_cloudwatch_documents_them(changes, values, spans):  # type: ignore[no-untyped-def]
    """M of N, missing data, FILL and IF, by hand."""
    assert firing_times(spec(**changes), series(*values), 60 * len(values)) == spans


def test_the_evaluator_refuses_what_it_does_not_know() -> None:
    """An alarm with another function must not pass as tested."""
    with pytest.raises(NotImplementedError):
        firing_times(spec(expression="RATE(a)"), series(1, 2), 120)
