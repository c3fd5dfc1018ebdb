"""Alarms on the live crawl, for stages that have one: who watches a crawl sees its failure; these are for the operator.

None of them wakes anybody: the schedule keeps every file in step without a live crawl.
"""

from __future__ import annotations

from cdk.alarm_spec import LIVE_DEAD, LIVE_DOOR, LIVE_WORK, LIVE_WORKER, WAITING, AlarmSpec, Severity, Signal


def live_alarms() -> list[AlarmSpec]:
    return [
        AlarmSpec(
            id="live-door-errors",
            severity=Severity.TICKET,
            hop="live",
            broke="The live crawl's door fails: clients with a right key cannot connect, or their request is lost.",
            check="The last error of the live door's log.",
            signals={"errors": Signal(LIVE_DOOR, "Errors")},
            threshold=3,
            period=300,
            periods=3,
            datapoints=2,
        ),
        AlarmSpec(
            id="live-queue-age",
            severity=Severity.TICKET,
            hop="live",
            broke="Somebody has waited for a live crawl for more than ten minutes; most clients are gone by then.",
            check="Do live workers run, or are eight long crawls under way?",
            signals={"age": Signal(LIVE_WORK, "ApproximateAgeOfOldestMessage", "Maximum")},
            comparison=">",
            threshold=600,
            period=300,
            periods=3,
            datapoints=2,
        ),
        AlarmSpec(
            id="live-worker-errors",
            severity=Severity.TICKET,
            hop="live",
            broke="A live crawl crashed or was ended at its time limit; it is tried again, mostly without its client.",
            check="Task timed out, out of memory, or an exception? The last lines of the log say.",
            signals={"errors": Signal(LIVE_WORKER, "Errors")},
            threshold=1,
            period=900,
        ),
        AlarmSpec(
            id="live-crawls-dead",
            severity=Severity.TICKET,
            hop="live",
            broke="A live crawl failed on every attempt and was put aside; if it was an enrolment, nobody did it.",
            check="Which site was asked for, and what did the live worker log?",
            signals={"messages": Signal(LIVE_DEAD, WAITING, "Maximum")},
            threshold=1,
            period=300,
        ),
    ]
