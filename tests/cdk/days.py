"""Days in the life of the service: healthy ones, and those with a fault between the schedule and a worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.cdk.fleet import DAY, HOUR, Fleet, Live

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


def after(second: int = FAULT, until: int = 10**9) -> Callable[[int], bool]:
    """A predicate of the clock: from `second` to `until`."""
    return lambda now: second <= now < until


def days() -> list[Scenario]:
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
            "rough fortnight",
            "a bit of everything that happens: refused and late notifications, odd sites, a moment of throttling, live "
            "crawls that wait for nine minutes",
            Fleet(
                days=14,
                failing=lambda _now, _due: 2,
                calls=lambda now: (40, 8, 1 if now % HOUR == 0 else 0),
                denied=lambda _now: 49,
                letters_failed=lambda _now: 4,
                throttled=lambda now: int(now % HOUR < 300),
                live=lambda now: Live(door_errors=2 * (now % HOUR == 0), age=540),
            ),
            frozenset(),
            page=False,
        ),
        Scenario(
            "budget used up",
            "sixty sites wait for the budget of crawls for days, nine of ten ticks take none",
            Fleet(
                days=10,
                due=lambda now: 14 if now < FAULT or now // (6 * HOUR) % 10 == 0 else 0,
                over_budget=lambda now: 60 if now >= FAULT else 0,
            ),
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
            "workers stopped",
            "the event source mapping is off; ticks go on",
            Fleet(workers=lambda now: now < FAULT),
            frozenset({"heartbeat", "queue-age", "overdue-sites"}),
            page=True,
        ),
        Scenario(
            "site that no tick takes",
            "it stays due although ticks and workers are fine",
            Fleet(days=5, stuck=lambda now: max(0, now - FAULT)),
            frozenset({"overdue-sites", "oldest-due"}),
            page=False,
        ),
        Scenario(
            "tick not delivered",
            "EventBridge could not invoke the dispatcher once, and the tick lies in its dead letters",
            Fleet(undelivered=lambda now: int(now >= FAULT)),
            frozenset({"undelivered-ticks"}),
            page=False,
        ),
        Scenario(
            "queue refuses sites",
            "three sites a tick cannot be queued, and are taken by the next",
            Fleet(unqueued=lambda now: 3 * (now >= FAULT)),
            frozenset({"queue-failures"}),
            page=False,
        ),
        Scenario(
            "crashing batch",
            "one batch in two hours of trouble runs into the time limit",
            Fleet(worker_crashes=after(FAULT, FAULT + 6 * HOUR)),
            frozenset({"worker-errors"}),
            page=False,
        ),
    ]
