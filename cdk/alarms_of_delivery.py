"""Alarms on the way from a tick to a worker: schedule, queue, batch. None of them wakes anybody: the heartbeat does."""

from __future__ import annotations

from cdk.alarm_spec import (
    DEAD,
    DISPATCHER,
    FAILED,
    SERVICE,
    UNDELIVERED,
    WAITING,
    WORK,
    WORKER,
    AlarmSpec,
    Severity,
    Signal,
    tick_period,
)
from cdk.config import StageConfig
from runtime import metrics as m


def schedule_alarms(config: StageConfig) -> list[AlarmSpec]:
    tick = tick_period(config)
    return [
        AlarmSpec(
            id="dispatcher-errors",
            severity=Severity.TICKET,
            hop="schedule",
            broke="A tick failed; the sites that were due wait for its retry or for the next tick.",
            check="The last error of the dispatcher's log.",
            signals={"errors": Signal(DISPATCHER, "Errors")},
            threshold=1,
            period=900,
        ),
        AlarmSpec(
            id="undelivered-ticks",
            severity=Severity.TICKET,
            hop="schedule",
            broke="EventBridge could not hand a tick to the dispatcher; that tick's sites wait for the next one.",
            check="May the rule still invoke the function, and is the function throttled?",
            signals={"messages": Signal(UNDELIVERED, WAITING, "Maximum")},
            threshold=1,
            period=300,
        ),
        AlarmSpec(
            id="failed-ticks",
            severity=Severity.TICKET,
            hop="schedule",
            broke="A tick failed twice and was put aside; its sites wait for the next one.",
            check="The dispatcher's log at the time of the message.",
            signals={"messages": Signal(FAILED, WAITING, "Maximum")},
            threshold=1,
            period=300,
        ),
        AlarmSpec(
            id="overdue-sites",
            severity=Severity.TICKET,
            hop="schedule",
            broke="After two ticks in a row there were sites that should have been taken and were not.",
            check="Are workers busy or failing, or does one site come back again and again?",
            signals={"sites": Signal(SERVICE, m.OVERDUE_SITES, "Maximum")},
            threshold=1,
            period=tick,
            periods=2,
            datapoints=2,
            missing="ignore",
        ),
        AlarmSpec(
            id="oldest-due",
            severity=Severity.TICKET,
            hop="schedule",
            broke="A site has been due for more than two ticks and an hour; its file is late by that much.",
            check="Which site is it, and what was its last outcome?",
            signals={"age": Signal(SERVICE, m.OLDEST_DUE_SECONDS, "Maximum")},
            comparison=">",
            threshold=2 * config.cadence_seconds + 3_600,
            period=tick,
            missing="ignore",
        ),
    ]


def queue_alarms() -> list[AlarmSpec]:
    return [
        AlarmSpec(
            id="dead-sites",
            severity=Severity.TICKET,
            hop="queue",
            broke="The message of a site failed on every attempt and was put aside; the others are not affected.",
            check="Which site, and what did the worker log for it?",
            signals={"messages": Signal(DEAD, WAITING, "Maximum")},
            threshold=1,
            period=300,
        ),
        AlarmSpec(
            id="queue-age",
            severity=Severity.TICKET,
            hop="queue",
            broke="A site has waited for a worker for more than two hours: all files are late by that much.",
            check="Do workers run, and how long does a batch take?",
            signals={"age": Signal(WORK, "ApproximateAgeOfOldestMessage", "Maximum")},
            comparison=">",
            threshold=7_200,
            period=900,
            periods=3,
            datapoints=3,
        ),
        AlarmSpec(
            id="queue-failures",
            severity=Severity.TICKET,
            hop="queue",
            broke="The dispatcher could not queue some sites; they were given back and wait for the next tick.",
            check="The log line queue_failed says what SQS answered.",
            signals={"sites": Signal(SERVICE, m.QUEUE_FAILURES)},
            threshold=1,
            period=900,
        ),
    ]


def worker_alarms(config: StageConfig) -> list[AlarmSpec]:
    return [
        AlarmSpec(
            id="worker-errors",
            severity=Severity.TICKET,
            hop="worker",
            broke="A worker crashed or was ended at its time limit; its batch comes back a little later.",
            check="Task timed out, out of memory, or an exception? The last lines of the log say.",
            signals={"errors": Signal(WORKER, "Errors")},
            threshold=1,
            period=900,
        ),
        AlarmSpec(
            id="worker-near-timeout",
            severity=Severity.LOW,
            hop="worker",
            broke="Batches end within 5 % of the time limit: a slower network would cut them off.",
            check="The slowest sites of the day.",
            signals={"duration": Signal(WORKER, "Duration", "p99")},
            comparison=">",
            threshold=950 * config.worker_timeout,
            period=tick_period(config),
            periods=2,
            datapoints=2,
        ),
    ]
