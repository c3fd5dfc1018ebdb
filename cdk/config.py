"""What differs between stages: one frozen, typed value, chosen with `-c stage=` and overridable key by key with `-c`.

A context key is the field's name in camelCase (`worker_memory_mb` is `-c workerMemoryMb=2048`). Nothing here looks at
AWS, git, the clock or the environment, so the same inputs give the same template on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_type_hints

from cdk.rules import ANYTHING, ConfigError, Rule, between, one_of, pattern, read
from runtime.dispatch import MAX_CLAIMS_PER_TICK
from runtime.settings import POLICIES

ARCHITECTURES = ("arm64", "x86_64")
PYTHONS = ("3.11", "3.12", "3.13")
PRECOMPILE = ("auto", "always", "never")
"""Whether the asset holds .pyc files: auto means when an interpreter of the stage's version is on this machine."""

PUBLISHING = ("cloudfront", "r2")
RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731)
"""Retention periods that CloudWatch Logs accepts, up to two years."""

_RATE = pattern(
    r"rate\((1 (minute|hour|day)|([2-9]|[1-9]\d+) (minutes|hours|days))\)",
    "a rate such as rate(6 hours) or rate(1 day)",
)
_USD = pattern(r"(?!0+(\.0+)?$)\d{1,9}(\.\d{1,6})?", "a positive number of dollars such as 2.50")
_EMAIL = pattern(r"[^@\s]+@[^@\s]+\.[^@\s]+", "an e-mail address")
_HOST = pattern(r"(?!-)[a-z0-9-]+(\.[a-z0-9-]+)+", "a host name such as llms.example.com")
_URL = pattern(r"https?://[^/\s]+(/\S*[^/\s])?", "a URL without a slash at its end, such as https://pub-abc123.r2.dev")


def rule(default: Any, check: Rule = ANYTHING) -> Any:
    """A field with a default and the rule its values must keep."""
    return field(default=default, metadata={"rule": check})


@dataclass(frozen=True, slots=True, kw_only=True)
class StageConfig:
    """Everything a deployment can choose. Sizes in MB, times in seconds unless the name says otherwise."""

    stage: str
    account: str | None = rule(None, pattern(r"\d{12}", "a 12-digit account number"))
    region: str | None = rule(None, pattern(r"[a-z]{2}(-[a-z]+)+-\d", "a region such as eu-west-1"))
    owner: str = rule("unowned")
    cost_center: str = rule("unassigned")

    schedule: str = rule("rate(6 hours)", _RATE)
    schedule_enabled: bool = rule(True)
    cron_secret_version: int = rule(1, between(1, 1_000_000))
    claim_batch: int = rule(500, between(1, 1_000))
    site_schedule: str = rule(POLICIES[0], one_of(*POLICIES))
    crawls_per_day: int | None = rule(None, between(1, 10_000_000))
    crawl_usd_per_month: str | None = rule(None, _USD)

    architecture: str = rule("arm64", one_of(*ARCHITECTURES))
    python: str = rule("3.13", one_of(*PYTHONS))
    precompile: str = rule("auto", one_of(*PRECOMPILE))
    dispatcher_memory_mb: int = rule(512, between(256, 10_240))
    dispatcher_timeout: int = rule(60, between(10, 900))
    dispatcher_concurrency: int | None = rule(None, between(1, 1_000))
    webhook_memory_mb: int = rule(512, between(256, 10_240))
    webhook_timeout: int = rule(10, between(3, 60))
    webhook_concurrency: int | None = rule(None, between(1, 1_000))
    worker_memory_mb: int = rule(1_024, between(256, 10_240))
    worker_timeout: int = rule(300, between(60, 900))
    worker_max_concurrency: int = rule(5, between(2, 1_000))
    worker_batch_size: int = rule(10, between(1, 100))
    worker_batch_window: int = rule(5, between(0, 300))
    max_receive_count: int = rule(3, between(2, 10))

    publishing: str = rule("cloudfront", one_of(*PUBLISHING))
    public_domain: str | None = rule(None, _HOST)
    certificate_arn: str | None = rule(None, pattern(r"arn:aws[a-z-]*:acm:us-east-1:\d{12}:certificate/.+", "an ARN"))
    public_base_url: str | None = rule(None, _URL)
    r2_endpoint: str | None = rule(None, _URL)
    r2_bucket: str | None = rule(None, pattern(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "a bucket name"))

    bright_data: bool = rule(False)
    unlocks_per_month: int = rule(5_000, between(1, 10_000_000))
    model_descriptions: bool = rule(False)
    live_crawl: bool = rule(False)
    notifications: bool = rule(False)
    allow_networks: str = rule("", pattern(r"([0-9a-f.:]+/\d{1,3}(,(?!$)|$))*", "CIDR blocks, comma-separated"))

    log_retention_days: int = rule(30, one_of(*RETENTION_DAYS))
    retain: bool = rule(False)
    termination_protection: bool = rule(False)
    page_email: str | None = rule(None, _EMAIL)
    ticket_email: str | None = rule(None, _EMAIL)
    dashboard: bool = rule(True)
    low_severity_alarms: bool = rule(True)
    monthly_budget_usd: int = rule(50, between(1, 1_000_000))
    runbook_url: str = rule("docs/runbooks", pattern(r"\S+", "a URL or a path"))

    @property
    def cadence_seconds(self) -> int:
        """Seconds between two ticks of the schedule."""
        number, unit = self.schedule.removeprefix("rate(").removesuffix(")").split()
        return int(number) * {"minute": 60, "hour": 3_600, "day": 86_400}[unit.rstrip("s")]

    @property
    def retry_window(self) -> int:
        """Seconds that each of the two retry stages of a tick may take: both together end before the next tick.

        60 s is the least that EventBridge and Lambda accept, one hour is enough for any outage worth waiting for.
        """
        return max(60, min(3_600, self.cadence_seconds // 3))

    @property
    def visibility_timeout(self) -> int:
        """Six times the worker's timeout plus the batch window, as the Lambda guide on SQS asks for."""
        return 6 * self.worker_timeout + self.worker_batch_window

    @property
    def claims_per_tick(self) -> int:
        """What the workers finish until the next tick, at a minute a batch: the backlog of an outage then drains at
        their rate, and does not wait in the queue until its leases end.
        """
        finished = self.worker_max_concurrency * self.worker_batch_size * self.cadence_seconds // 60
        return min(MAX_CLAIMS_PER_TICK, max(1_000, finished))

    @property
    def lease_seconds(self) -> int:
        """A lease outlives the worker that holds it by half a minute, so a killed site is free soon, never too soon."""
        return self.worker_timeout + 30


STAGES: Mapping[str, StageConfig] = {
    "dev": StageConfig(stage="dev", log_retention_days=7, low_severity_alarms=False),
    "staging": StageConfig(stage="staging", webhook_concurrency=5),
    "prod": StageConfig(
        stage="prod",
        log_retention_days=90,
        webhook_concurrency=5,
        dispatcher_concurrency=1,
        worker_max_concurrency=20,
        retain=True,
        termination_protection=True,
    ),
    "local": StageConfig(
        stage="local",
        schedule="rate(1 minute)",
        architecture="x86_64",
        precompile="never",
        worker_timeout=60,
        worker_batch_window=0,
        publishing="r2",
        public_base_url="http://127.0.0.1:8333/llms-public",
        r2_endpoint="http://127.0.0.1:8333",
        r2_bucket="llms-public",
        allow_networks="127.0.0.0/8,::1/128",
        log_retention_days=1,
    ),
}
"""The four stages. `local` is for an AWS emulator on this machine and is the only one that may reach loopback."""


def load_stage(context: Mapping[str, Any]) -> StageConfig:
    """The stage that the context chooses, with its overrides.

    Keys with a colon or a slash are the CDK's own (feature flags, the CLI's settings) and left to it.

    :raises ConfigError: no such stage, an unknown key, a value that is not allowed, or values that do not fit together.
    """
    given = {key: value for key, value in context.items() if not _of_the_cdk(key)}
    name = given.pop("stage", "dev")
    if name not in STAGES:
        raise ConfigError(f"-c stage={name}: must be one of {', '.join(STAGES)}")
    known = {camel_case(f.name): f for f in fields(StageConfig) if f.name != "stage"}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ConfigError(f"-c {unknown[0]}: there is no such setting; the settings are {', '.join(sorted(known))}")
    hints = get_type_hints(StageConfig)
    values = {
        known[key].name: read(key, value, hints[known[key].name], known[key].metadata["rule"])
        for key, value in given.items()
    }
    config = replace(STAGES[name], **values)
    for problem in problems(config):
        raise ConfigError(problem)
    return config


def camel_case(name: str) -> str:
    """The context key of a field: `worker_memory_mb` is `workerMemoryMb`."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def problems(config: StageConfig) -> list[str]:
    """Sentences on settings that are allowed one by one but not together."""
    local = config.stage == "local"
    r2 = config.publishing == "r2"
    needed = {"publicBaseUrl": config.public_base_url, "r2Endpoint": config.r2_endpoint, "r2Bucket": config.r2_bucket}
    plain = [url for url in (config.public_base_url, config.r2_endpoint) if url and url.startswith("http:")]
    checks = [
        (r2 and not all(needed.values()), f"-c publishing=r2 needs {', '.join(k for k, v in needed.items() if not v)}"),
        (not r2 and any(needed.values()), f"{', '.join(k for k, v in needed.items() if v)}: only for publishing=r2"),
        (r2 and bool(config.public_domain), "publicDomain is only for publishing=cloudfront; R2 has its own domains"),
        (
            bool(config.public_domain) != bool(config.certificate_arn),
            "publicDomain and certificateArn belong together: CloudFront serves a name only with its certificate",
        ),
        (bool(plain) and not local, f"{', '.join(plain)}: must be https outside the local stage"),
        (
            bool(config.allow_networks) and not local,
            "allowNetworks opens private networks to the crawler and is only for stage=local",
        ),
        (
            config.cadence_seconds < 300 and not local,
            f"-c schedule={config.schedule}: must be 5 minutes or more, so that retries end before the next tick",
        ),
        (
            config.cadence_seconds > 86_400,
            f"-c schedule={config.schedule}: must be one day or less, so that a missing tick can be noticed",
        ),
        (
            bool(config.crawls_per_day) and bool(config.crawl_usd_per_month),
            "crawlsPerDay and crawlUsdPerMonth say the same in two ways: give one of them",
        ),
        (
            config.python == "3.11" and not local,
            "-c python=3.11: Lambda runs it on Amazon Linux 2, which is too old for the wheels; it is for stage=local",
        ),
        (
            config.worker_batch_size > 10 and config.worker_batch_window == 0,
            "workerBatchSize over 10 needs workerBatchWindow of 1 or more (a rule of Lambda's)",
        ),
    ]
    return [sentence for broken, sentence in checks if broken]


def _of_the_cdk(key: str) -> bool:
    return ":" in key or "/" in key or key in {"cli-telemetry", "acknowledged-issue-numbers"}
