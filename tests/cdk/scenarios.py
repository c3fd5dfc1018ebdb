"""Days in the life of the service, with a fault put in, and what the alarms must make of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cdk.alarm_spec import SERVICE, Severity, Signal
from cdk.alarm_table import alarm_table
from cdk.config import STAGES, StageConfig
from cdk.documents import ROOT
from cdk.made import replace_part
from runtime import metrics as m
from tests.cdk.cloudwatch import Series, firing_times
from tests.cdk.fleet import DAY, HOUR, Fleet

FAULT = DAY + 3 * HOUR
"""When a fault begins: in the second day, three hours after a midnight."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """`fires` are the ids of all alarms that may and must fire; `page` says whether somebody is woken."""

    name: str
    what: str
    fleet: Fleet
    fires: frozenset[str]
    page: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """Seconds from the fault to each alarm that fired, and to the page."""

    fired: dict[str, int]
    paged_after: int | None


def after(second: int = FAULT, until: int = 10**9) -> Callable[[int], bool]:
    """A predicate of the clock: from `second` to `until`."""
    return lambda now: second <= now < until


def scenarios() -> list[Scenario]:
    """A fresh fleet each, because a fleet keeps the series it made."""
    during = after()
    return [
        Scenario(
            "quiet week", "no site is due for seven days", Fleet(days=7, due=lambda _now: 0), frozenset(), page=False
        ),
        Scenario(
            "ordinary fortnight",
            "14 sites a tick, one of them fails each time",
            Fleet(days=14, failing=lambda _now, _due: 1, calls=lambda _now: (2, 0, 0)),
            frozenset(),
            page=False,
        ),
        Scenario(
            "dead scheduler",
            "the rule stops ticking",
            Fleet(scheduled=lambda now: now < FAULT),
            frozenset({"heartbeat"}),
            page=True,
        ),
        Scenario(
            "dead scheduler, announced",
            "the same, after somebody wrote the Maintenance metric",
            Fleet(days=2, scheduled=lambda now: now < FAULT, maintenance=lambda now: now >= FAULT),
            frozenset({"heartbeat"}),
            page=False,
        ),
        Scenario(
            "database down",
            "ticks fail and webhooks get 503 for 15 hours",
            Fleet(
                tick_fails=after(FAULT, FAULT + 15 * HOUR),
                calls=lambda now: (4, 0, 4 if FAULT <= now < FAULT + 15 * HOUR else 0),
            ),
            frozenset({"heartbeat", "dispatcher-errors", "failed-ticks", "webhook-5xx"}),
            page=True,
        ),
        Scenario(
            "secret missing",
            "a secret is emptied; every tick says so",
            Fleet(misconfigured=during),
            frozenset({"configuration", "heartbeat", "dispatcher-errors", "failed-ticks"}),
            page=True,
        ),
        Scenario(
            "poison site",
            "one site fails at every tick, and its message ends in the dead letters",
            Fleet(failing=lambda now, _due: int(now >= FAULT), dead_messages=lambda now: int(now >= FAULT)),
            frozenset({"dead-sites"}),
            page=False,
        ),
        Scenario(
            "fleet of one, failing",
            "the only site, checked weekly, fails at every tick",
            Fleet(
                days=18,
                due=lambda _now: 1,
                failing=lambda now, _due: int(now >= FAULT),
                stale=lambda now: int(now >= FAULT + 15 * DAY),
            ),
            frozenset({"stale-files"}),
            page=False,
        ),
        Scenario(
            "own network broken",
            "no site answers; no site is blamed for it",
            Fleet(ours=lambda now, due: due if now >= FAULT else 0, own_faults=lambda now: int(now >= FAULT)),
            frozenset({"own-faults", "heartbeat"}),
            page=True,
        ),
        Scenario(
            "new version reads no page",
            "every site fails for itself after a deploy",
            Fleet(failing=lambda now, due: due if now >= FAULT else 0),
            frozenset({"sites-failing-alike", "site-failure-rate"}),
            page=True,
        ),
        Scenario(
            "bucket down",
            "five changed files a tick cannot be published",
            Fleet(ours=lambda now, _due: 5 * (now >= FAULT), unpublished=lambda now: 5 * (now >= FAULT)),
            frozenset({"publish-failures"}),
            page=False,
        ),
        Scenario(
            "bucket refuses",
            "its keys expired; the first refusal of a batch spares the other sites the work",
            Fleet(
                ours=lambda now, due: due * (now >= FAULT),
                refused_by_store=during,
                unpublished=lambda now: int(now >= FAULT),
            ),
            frozenset({"configuration", "heartbeat"}),
            page=True,
        ),
        Scenario(
            "collapsed file",
            "one site's new file is held",
            Fleet(held=lambda now: int(FAULT <= now < FAULT + DAY)),
            frozenset({"held-files"}),
            page=False,
        ),
        Scenario(
            "workers stopped",
            "the event source mapping is off; ticks go on",
            Fleet(workers=lambda now: now < FAULT),
            frozenset({"heartbeat", "queue-age", "overdue-sites"}),
            page=True,
        ),
        Scenario(
            "crashing batch",
            "one batch in two hours of trouble runs into the time limit",
            Fleet(worker_crashes=after(FAULT, FAULT + 6 * HOUR)),
            frozenset({"worker-errors"}),
            page=False,
        ),
        Scenario(
            "burst of webhooks",
            "1,000 valid calls in five minutes",
            Fleet(calls=lambda now: (200 if FAULT <= now < FAULT + 300 else 0, 0, 0)),
            frozenset(),
            page=False,
        ),
        Scenario(
            "forged webhooks",
            "100 wrong secrets a minute for an hour",
            Fleet(calls=lambda now: (100, 100, 0) if FAULT <= now < FAULT + HOUR else (1, 0, 0)),
            frozenset({"webhook-401-surge"}),
            page=False,
        ),
        Scenario(
            "expensive days",
            "every batch runs for 14 minutes and there are fifty times as many sites",
            Fleet(
                due=lambda now: 700 if now >= FAULT else 14,
                batch_ms=lambda now: 840_000.0 if now >= FAULT else 90_000.0,
            ),
            frozenset({"cost-guard", "worker-near-timeout"}),
            page=False,
        ),
    ]


def observe(scenario: Scenario, *, fill_empty: bool, config: StageConfig = STAGES["prod"]) -> Outcome:
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
