"""Every alarm of the service: what broke, for whom, and when we say so.

Alarms, dashboard rows, docs/alarms.md and the simulations are all made from this table. A page wakes somebody up: it
says that nobody's file is kept in step. What concerns one site, or can wait for the morning, is a ticket.
"""

from __future__ import annotations

from math import ceil

from cdk import prices
from cdk.alarm_spec import RUNS, SERVICE, WORKER, AlarmSpec, Severity, Signal
from cdk.alarms_of_delivery import queue_alarms, schedule_alarms, worker_alarms
from cdk.alarms_of_files import site_alarms, webhook_alarms
from cdk.alarms_of_live import live_alarms
from cdk.config import StageConfig
from runtime import metrics as m


def alarm_table(config: StageConfig) -> list[AlarmSpec]:
    """The alarms of a stage. Windows follow the schedule, thresholds follow the sizes of the functions."""
    specs = [*_pages(config), _cost(config), *schedule_alarms(config), *queue_alarms(), *worker_alarms(config)]
    specs += [*site_alarms(config), *webhook_alarms(), *(live_alarms() if config.live_crawl else [])]
    return specs if config.low_severity_alarms else [spec for spec in specs if spec.severity is not Severity.LOW]


def _pages(config: StageConfig) -> list[AlarmSpec]:
    # A fixed bucket as long as the schedule is now full, now empty (guardian/cdk#1063): short buckets, and so many that
    # all of them are empty only when a tick is missing.
    bucket = 3_600 if config.cadence_seconds >= 10_800 else max(60, min(300, config.cadence_seconds))
    buckets = ceil(config.cadence_seconds / bucket) + 2
    return [
        AlarmSpec(
            id="heartbeat",
            severity=Severity.PAGE,
            hop="service",
            broke="No site was finished and no tick found nothing to do: no file is kept in step, for anybody.",
            check="Is the rule enabled, and what did the last tick log?",
            signals={"work": Signal(SERVICE, m.WORK_COMPLETED)},
            expression="FILL(work, 0)",
            comparison="<",
            threshold=1,
            period=bucket,
            periods=buckets,
            datapoints=buckets,
            missing="breaching",
        ),
        AlarmSpec(
            id="configuration",
            severity=Severity.PAGE,
            hop="service",
            broke="A setting, a secret or the database schema is wrong: no site can be worked on until it is mended.",
            check="The log line configuration_failed names what is missing.",
            signals={"errors": Signal(SERVICE, m.CONFIGURATION_ERRORS)},
            threshold=1,
            period=300,
        ),
        AlarmSpec(
            id="sites-failing-alike",
            severity=Severity.PAGE,
            hop="service",
            broke="Four of five sites fail at once, each for itself: most likely we changed; files grow stale.",
            check="The reasons of the last runs: what do they have in common, and did it begin with a deploy?",
            signals=RUNS,
            expression="IF(FILL(runs, 0) >= 10, 100 * FILL(failed, 0) / runs, 0)",
            threshold=80,
            period=3_600,
        ),
        AlarmSpec(
            id="own-faults",
            severity=Severity.PAGE,
            hop="service",
            broke="Sites on ten hosts or more did not answer us, all in the same way: our network is at fault.",
            check="The log line own_fault says how they failed.",
            signals={"faults": Signal(SERVICE, m.OWN_FAULTS)},
            threshold=1,
            period=3_600,
        ),
    ]


def _cost(config: StageConfig) -> AlarmSpec:
    # The workers alone: they are nearly all of the bill, and the webhook's share is bounded by its concurrency.
    a_millisecond = config.worker_memory_mb / 1_024 * prices.GB_SECOND[config.architecture] / 1_000
    return AlarmSpec(
        id="cost-guard",
        severity=Severity.TICKET,
        hop="service",
        broke=f"At the pace of the last day, the workers cost more than {config.monthly_budget_usd} USD a month.",
        check="More sites, slower sites, or sites that are crawled again and again?",
        signals={"duration": Signal(WORKER, "Duration")},
        expression=f"{prices.DAYS_A_MONTH * a_millisecond:.12f} * duration",
        comparison=">",
        threshold=config.monthly_budget_usd,
        period=86_400,
    )
