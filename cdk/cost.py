"""What a month costs: the sizes of a template, the habits of a fleet, the prices of a list.

Only what AWS bills is counted, without the free tier. Supabase, R2, Bright Data and a model provider have plans of
their own. docs/cost.md is made from this file, and a test makes it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cdk import prices
from runtime import metrics

FLEETS = (10, 1_000, 100_000)
NOT_METRICS = {metrics.NAMESPACE, metrics.SERVICE, metrics.SERVICE_DIMENSION, metrics.STAGE_DIMENSION}
NOT_METRICS |= {metrics.MAINTENANCE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How a site behaves and what a run takes; the assumptions, each to be replaced by what you measure.

    A batch interleaves its sites, so it takes about as long as its slowest one.
    """

    runs_a_month: float = prices.DAYS_A_MONTH / 7
    crawled_share: float = 0.3
    changed_share: float = 0.2
    check_seconds: float = 2.0
    crawl_seconds: float = 40.0
    webhooks_a_month: float = 4.0
    webhook_seconds: float = 0.2
    tick_seconds: float = 2.0
    tick_seconds_a_site: float = 0.01
    log_kilobytes_a_run: float = 3.0
    stored_megabytes: float = 0.5


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the template decides."""

    worker_gb: float
    dispatcher_gb: float
    webhook_gb: float
    webhook_concurrency: int | None
    architecture: str
    batch: int
    ticks_a_month: float
    secrets: int
    alarm_metrics: int
    composites: int
    dashboards: int
    keys: int


def sizes(template: Mapping[str, Any], cadence_seconds: int) -> Sizes:
    """Read the sizes out of a template."""
    found: dict[str, list[dict[str, Any]]] = {}
    for body in template["Resources"].values():
        found.setdefault(body["Type"], []).append(body.get("Properties", {}))
    functions = {f["Handler"].split(".")[2]: f for f in found["AWS::Lambda::Function"]}
    watched = [
        [q for q in alarm.get("Metrics", [{}]) if "Expression" not in q] for alarm in found["AWS::CloudWatch::Alarm"]
    ]
    return Sizes(
        worker_gb=functions["worker"]["MemorySize"] / 1_024,
        dispatcher_gb=functions["cron"]["MemorySize"] / 1_024,
        webhook_gb=functions["webhook"]["MemorySize"] / 1_024,
        webhook_concurrency=functions["webhook"].get("ReservedConcurrentExecutions"),
        architecture=functions["worker"]["Architectures"][0],
        batch=found["AWS::Lambda::EventSourceMapping"][0]["BatchSize"],
        ticks_a_month=prices.DAYS_A_MONTH * 86_400 / cadence_seconds,
        secrets=len(found["AWS::SecretsManager::Secret"]),
        alarm_metrics=sum(map(len, watched)),
        composites=len(found["AWS::CloudWatch::CompositeAlarm"]),
        dashboards=len(found.get("AWS::CloudWatch::Dashboard", [])),
        keys=len(found["AWS::KMS::Key"]),
    )


def month(sites: int, size: Sizes, habits: Habits) -> dict[str, float]:
    """USD a month by what is billed; the last three do not depend on the number of sites."""
    runs = sites * habits.runs_a_month
    batch = min(size.batch, max(1.0, runs / size.ticks_a_month))
    # The chance that a batch holds a crawl decides whether it takes as long as one.
    crawls = 1 - (1 - habits.crawled_share) ** batch
    batch_seconds = habits.check_seconds + crawls * (habits.crawl_seconds - habits.check_seconds)
    batches = runs / batch
    webhooks = sites * habits.webhooks_a_month
    dispatcher = size.ticks_a_month * habits.tick_seconds + runs * habits.tick_seconds_a_site
    gb_second = prices.GB_SECOND[size.architecture]
    names = {value for name, value in vars(metrics).items() if name.isupper() and isinstance(value, str)} - NOT_METRICS
    return {
        "workers": batches * batch_seconds * size.worker_gb * gb_second,
        "dispatcher and webhook": (
            dispatcher * size.dispatcher_gb + webhooks * habits.webhook_seconds * size.webhook_gb
        )
        * gb_second
        + (batches + size.ticks_a_month + webhooks) * prices.LAMBDA_REQUEST,
        "queue": (3 * runs / 10 + POLLS_A_MONTH) * prices.SQS_REQUEST,
        "objects": runs * (prices.S3_GET + prices.S3_PUT)
        + runs * habits.changed_share * (2 * prices.S3_PUT + prices.S3_GET)
        + sites * habits.stored_megabytes / 1_024 * prices.S3_GB_MONTH,
        "logs and traces": (runs * habits.log_kilobytes_a_run + webhooks * 1.5) / 1_048_576 * prices.LOGS_GB
        + (batches + webhooks) * prices.TRACE,
        "secrets and key": size.secrets * prices.SECRET_MONTH + size.keys * prices.KEY_MONTH,
        "alarms and dashboard": size.alarm_metrics * prices.ALARM_METRIC
        + size.composites * prices.COMPOSITE_ALARM
        + size.dashboards * prices.DASHBOARD,
        "custom metrics": len(names) * prices.CUSTOM_METRIC,
    }


POLLS_A_MONTH = 5 * 3 * 60 * 24 * prices.DAYS_A_MONTH
"""An idle event source mapping: five pollers, a long poll of twenty seconds each."""


def flood(size: Sizes) -> float | None:
    """USD a month if somebody calls the function URL as fast as it lets them; None where nothing caps it.

    A function URL takes ten calls a second for each reserved execution.
    """
    if size.webhook_concurrency is None:
        return None
    seconds = 86_400 * prices.DAYS_A_MONTH * size.webhook_concurrency
    return seconds * (size.webhook_gb * prices.GB_SECOND[size.architecture] + 10 * prices.LAMBDA_REQUEST)
