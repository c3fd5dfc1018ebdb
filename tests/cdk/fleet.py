"""A service on a clock, as its metrics show it: ticks, runs, queues and calls, with faults put in.

Only what an alarm can see is made: the datapoints that the functions emit and those that AWS adds. The fleet is 400
sites with intervals of a week on a tick of six hours, so that a tick takes about fourteen of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cdk.alarm_spec import (
    DEAD,
    DISPATCHER,
    FAILED,
    LETTERS,
    LIVE_DEAD,
    LIVE_DOOR,
    LIVE_WORK,
    LIVE_WORKER,
    SERVICE,
    UNDELIVERED,
    WAITING,
    WEBHOOK,
    WORK,
    WORKER,
)
from runtime import metrics as m
from tests.cdk.cloudwatch import Series

HOUR, DAY = 3_600, 86_400


@dataclass(frozen=True, slots=True)
class Live:
    """A minute of the live crawl: errors of its door and of its worker, seconds that the oldest request has waited, and
    requests in its dead letters.
    """

    door_errors: int = 0
    worker_errors: int = 0
    age: int = 0
    dead: int = 0


@dataclass
class Fleet:
    """What the world does. Functions of time let a fault begin and end; times are seconds from the start.

    `stuck` is how long one site has been due that no tick takes, `undelivered` the ticks that EventBridge could not hand
    over, `denied` the private addresses that a site of the tick led to.
    """

    days: int = 4
    cadence: int = 6 * HOUR
    offset: int = 17 * 60
    due: Callable[[int], int] = lambda _now: 14
    scheduled: Callable[[int], bool] = lambda _now: True
    tick_fails: Callable[[int], bool] = lambda _now: False
    misconfigured: Callable[[int], bool] = lambda _now: False
    failing: Callable[[int, int], int] = lambda _now, _due: 0
    ours: Callable[[int, int], int] = lambda _now, _due: 0
    own_faults: Callable[[int], int] = lambda _now: 0
    refused_by_store: Callable[[int], bool] = lambda _now: False
    held: Callable[[int], int] = lambda _now: 0
    unpublished: Callable[[int], int] = lambda _now: 0
    dead_messages: Callable[[int], int] = lambda _now: 0
    workers: Callable[[int], bool] = lambda _now: True
    worker_crashes: Callable[[int], bool] = lambda _now: False
    calls: Callable[[int], tuple[int, int, int]] = lambda _now: (0, 0, 0)
    maintenance: Callable[[int], bool] = lambda _now: False
    run_seconds: float = 40.0
    batch_ms: Callable[[int], float] = lambda _now: 90_000.0
    stale: Callable[[int], int] = lambda _now: 0
    stuck: Callable[[int], int] = lambda _now: 0
    unqueued: Callable[[int], int] = lambda _now: 0
    undelivered: Callable[[int], int] = lambda _now: 0
    denied: Callable[[int], int] = lambda _now: 0
    throttled: Callable[[int], int] = lambda _now: 0
    over_budget: Callable[[int], int] = lambda _now: 0
    letters_failed: Callable[[int], int] = lambda _now: 0
    dead_letters: Callable[[int], int] = lambda _now: 0
    live: Callable[[int], Live] = lambda _now: Live()
    series: Series = field(default_factory=Series)

    def run(self) -> Series:
        """The series of the whole time."""
        waiting_since: int | None = None
        late = 0
        failed_ticks = 0
        for now in range(0, self.days * DAY, 60):
            if now % self.cadence == self.offset % self.cadence and self.scheduled(now):
                if self.tick_fails(now) or self.misconfigured(now):
                    self._failed_tick(now)
                    failed_ticks += 1
                elif self.workers(now):
                    self._tick(now, late_by=now - waiting_since if waiting_since is not None else 0)
                    waiting_since = None
                else:
                    self._tick_without_workers(now, late=late)
                    late += self.due(now)
                    waiting_since = now if waiting_since is None else waiting_since
            self._queues(now, waiting_since, failed_ticks)
            self._webhook(now)
            self._live(now)
        return self.series

    def _tick(self, now: int, *, late_by: int) -> None:
        due = self.due(now)
        self._dispatched(now, due, overdue=0, oldest=late_by)
        failing = min(due, self.failing(now, due))
        held = self.held(now) if due else 0
        ours = min(due, self.ours(now, due))
        for site in range(due):
            end = now + 120 + 5 * site
            self._own(m.WORK_COMPLETED, end, float(site >= ours))
            self._own(m.RUN_SECONDS, end, self.run_seconds)
            self._own(m.SITES_FAILED, end, float(site < failing))
            self._own(m.SECURITY_DENIED, end, float(self.denied(now) if site == 0 else 0))
            self._own(m.SITES_HELD, end, float(failing <= site < failing + held))
        for name, count in {
            m.OWN_FAULTS: self.own_faults(now),
            m.CONFIGURATION_ERRORS: int(self.refused_by_store(now)),
        }.items():
            if count:
                self._own(name, now + 150, count)
        if self.unpublished(now):
            self._own(m.PUBLISH_FAILURES, now + 150, self.unpublished(now))
        if self.letters_failed(now):
            self._own(m.NOTIFICATIONS_FAILED, now + 160, 1, times=self.letters_failed(now))
        for _batch in range(-(-due // 10)):
            self.series.add(WORKER, "Duration", now + 180, self.batch_ms(now))
            self.series.add(WORKER, "Errors", now + 180, float(self.worker_crashes(now)))

    def _tick_without_workers(self, now: int, *, late: int) -> None:
        self._dispatched(now, self.due(now), overdue=late, oldest=self.cadence if late else 0)

    def _dispatched(self, now: int, due: int, *, overdue: int, oldest: int) -> None:
        self._own(m.SITES_TOTAL, now, due)
        self._own(m.QUEUE_FAILURES, now, self.unqueued(now))
        self._own(m.OVERDUE_SITES, now, overdue + bool(self.stuck(now)))
        self._own(m.OLDEST_DUE_SECONDS, now, max(oldest, self.stuck(now)))
        self._own(m.STALE_SITES, now, self.stale(now))
        self._own(m.OVER_BUDGET_SITES, now, self.over_budget(now))
        self._own(m.WORK_COMPLETED, now, float(due == 0))
        self.series.add(DISPATCHER, "Errors", now, 0)
        self.series.add(DISPATCHER, "Duration", now, 3_000)

    def _failed_tick(self, now: int) -> None:
        for attempt in (now, now + 60):
            self.series.add(DISPATCHER, "Errors", attempt, 1)
            if self.misconfigured(now):
                self._own(m.CONFIGURATION_ERRORS, attempt, 1)

    def _queues(self, now: int, waiting_since: int | None, failed_ticks: int) -> None:
        self.series.add(WORK, "ApproximateAgeOfOldestMessage", now, 0 if waiting_since is None else now - waiting_since)
        self.series.add(DEAD, WAITING, now, self.dead_messages(now))
        self.series.add(FAILED, WAITING, now, failed_ticks)
        self.series.add(UNDELIVERED, WAITING, now, self.undelivered(now))
        self.series.add(LETTERS, WAITING, now, self.dead_letters(now))
        if self.maintenance(now):
            self._own(m.MAINTENANCE, now, 1)

    def _webhook(self, now: int) -> None:
        self.series.add(WEBHOOK, "Throttles", now, self.throttled(now))
        calls, refused, broken = self.calls(now)
        if calls:
            self.series.add(WEBHOOK, "UrlRequestCount", now, calls)
            self.series.add(WEBHOOK, "Url5xxCount", now, broken)
            self._own(m.WEBHOOK_UNAUTHORIZED, now, refused)

    def _live(self, now: int) -> None:
        seen = self.live(now)
        self.series.add(LIVE_DOOR, "Errors", now, seen.door_errors)
        self.series.add(LIVE_WORKER, "Errors", now, seen.worker_errors)
        self.series.add(LIVE_WORK, "ApproximateAgeOfOldestMessage", now, seen.age)
        self.series.add(LIVE_DEAD, WAITING, now, seen.dead)

    def _own(self, name: str, second: int, value: float, *, times: int = 1) -> None:
        self.series.add(SERVICE, name, second, value, times)
