"""Stage settings: chosen and overridden by context, refused with a sentence that lists what is allowed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

from cdk.config import STAGES, StageConfig, camel_case, load_stage, problems
from cdk.rules import ConfigError

ROOT = Path(__file__).parents[2]


def test_the_stage_defaults_to_dev_and_every_stage_loads() -> None:
    """Without -c stage= the harmless stage is meant; each named stage is what the table says."""
    assert load_stage({}).stage == "dev"
    for name, config in STAGES.items():
        assert load_stage({"stage": name}) == config
        assert problems(config) == []


def test_a_setting_is_overridden_in_camel_case_with_text_or_json() -> None:
    """The command line gives text, cdk.json gives JSON; both become the field's type."""
    config = load_stage(
        {"stage": "prod", "workerMemoryMb": "2048", "scheduleEnabled": "false", "dispatcherConcurrency": "none"}
    )
    assert (config.worker_memory_mb, config.schedule_enabled, config.dispatcher_concurrency) == (2048, False, None)
    assert load_stage({"workerMemoryMb": 2048, "dashboard": False}).dashboard is False


def test_the_keys_of_the_cdk_are_left_to_it() -> None:
    """Feature flags and the CLI's own settings are no typing mistakes."""
    assert load_stage({"@aws-cdk/core:checkSecretUsage": True, "aws:cdk:enable-path-metadata": True}) == STAGES["dev"]


@pytest.mark.parametrize(
    ("context", "sentence"),
    [
        ({"stage": "production"}, "-c stage=production: must be one of dev, staging, prod, local"),
        ({"workerTimeout": "5"}, "-c workerTimeout=5: must be a whole number from 60 to 900"),
        ({"workerTimeout": "5m"}, "-c workerTimeout=5m: must be a whole number from 60 to 900"),
        ({"workerTimeout": True}, "-c workerTimeout=True: must be a whole number from 60 to 900"),
        ({"architecture": "arm"}, "-c architecture=arm: must be one of arm64, x86_64"),
        ({"scheduleEnabled": "yes"}, "-c scheduleEnabled=yes: must be true or false"),
        ({"schedule": "rate(1 hours)"}, "-c schedule=rate(1 hours): must be a rate such as rate(6 hours)"),
        ({"webhookConcurrency": "0"}, "must be a whole number from 1 to 1,000, or none"),
        ({"schedule": "rate(2 minutes)"}, "must be 5 minutes or more, so that retries end before the next tick"),
        ({"schedule": "rate(2 days)"}, "must be one day or less, so that a missing tick can be noticed"),
        ({"publishing": "r2"}, "-c publishing=r2 needs publicBaseUrl, r2Endpoint, r2Bucket"),
        ({"publicBaseUrl": "https://x.example"}, "publicBaseUrl: only for publishing=r2"),
        ({"publicDomain": "llms.example.com"}, "publicDomain and certificateArn belong together"),
        ({"allowNetworks": "10.0.0.0/8"}, "allowNetworks opens private networks"),
        ({"allowNetworks": "everything"}, "must be CIDR blocks, comma-separated"),
        ({"workerBatchSize": "20", "workerBatchWindow": "0"}, "workerBatchSize over 10 needs workerBatchWindow"),
        ({"python": "3.11"}, "it is for stage=local"),
        ({"siteSchedule": "weekly"}, "-c siteSchedule=weekly: must be one of fixed, ewma, learned"),
        ({"crawlsPerDay": "0"}, "must be a whole number from 1 to 10,000,000, or none"),
        ({"crawlUsdPerMonth": "0.00"}, "must be a positive number of dollars such as 2.50, or none"),
        ({"crawlsPerDay": "5", "crawlUsdPerMonth": "2.50"}, "say the same in two ways: give one of them"),
        ({"account": "12345"}, "must be a 12-digit account number, or none"),
        ({"pageEmail": "ops"}, "must be an e-mail address, or none"),
        (
            {
                "publishing": "r2",
                "publicBaseUrl": "http://x.example",
                "r2Endpoint": "https://a.example",
                "r2Bucket": "llms",
            },
            "http://x.example: must be https outside the local stage",
        ),
    ],
)
def test_a_bad_value_is_refused_with_what_is_allowed(context: dict[str, Any], sentence: str) -> None:
    """The sentence is the whole help an engineer gets at a failed synth."""
    with pytest.raises(ConfigError) as refused:
        load_stage(context)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_key_is_refused_with_the_list_of_settings() -> None:
    """A typing mistake must not be a silent default."""
    with pytest.raises(ConfigError) as refused:
        load_stage({"workerMemory": "2048"})
    assert "-c workerMemory: there is no such setting" in str(refused.value)
    assert "workerMemoryMb" in str(refused.value)


def test_a_config_is_frozen() -> None:
    """No construct can change what another one reads."""
    with pytest.raises(FrozenInstanceError):
        STAGES["dev"].stage = "prod"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("schedule", "seconds"), [("rate(1 minute)", 60), ("rate(6 hours)", 21_600), ("rate(1 day)", 86_400)]
)
def test_the_cadence_is_read_from_the_schedule(schedule: str, seconds: int) -> None:
    """Retry windows and alarm windows follow it."""
    assert StageConfig(stage="dev", schedule=schedule).cadence_seconds == seconds


@pytest.mark.parametrize("minutes", [5, 7, 60, 360, 1440])
def test_retries_end_before_the_next_tick(minutes: int) -> None:
    """Delivery retries and the function's retry together take less than the time between two ticks."""
    config = load_stage({"schedule": f"rate({minutes} minutes)"})
    assert 2 * config.retry_window < config.cadence_seconds


def test_field_names_become_context_keys() -> None:
    assert camel_case("worker_memory_mb") == "workerMemoryMb"


def test_the_command_prints_a_refusal_as_one_line() -> None:
    """`cdk synth -c stage=x` shows a sentence, not a traceback."""
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env={"CDK_CONTEXT_JSON": '{"stage": "x"}', "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    assert done.stderr.strip() == "error: -c stage=x: must be one of dev, staging, prod, local"
