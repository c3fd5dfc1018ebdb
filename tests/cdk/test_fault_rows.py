"""The rows of the fault matrix that a template can break: F-05, F-84."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from runtime import environment as env
from tests.cdk.conftest import STAGES, Synth

CANARY = "canary-5f3a9c"
PLACES = (
    "SUPABASE_URL", "SUPABASE_KEY", "SUPABASE_SERVICE_ROLE_KEY", "CRON_SECRET", "API_KEY", "R2_ACCESS_KEY_ID",
    "R2_SECRET_ACCESS_KEY", "BRIGHTDATA_API_KEY", "MODEL_API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY",
    *(name for name in vars(env) if name.isupper()), *(value for value in vars(env).values() if str(value).startswith("LLMS_")),
)  # fmt: skip
"""Variables in which somebody who deploys may have a secret."""


def test_f_84_no_secret_of_whoever_deploys_is_in_the_template(synth: Synth, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a canary in every variable of the shell, 0 hits in template, outputs, parameters and metadata."""
    for place in PLACES:
        monkeypatch.setenv(place, f"{CANARY}-{place}")
    template = synth("prod", workerTimeout="601")

    assert CANARY not in json.dumps(template)


@pytest.mark.parametrize("stage", STAGES)
def test_f_84_a_secret_is_only_ever_a_reference(synth: Synth, stage: str) -> None:
    """The cron secret of the rule is a dynamic reference; variables say where secrets are; outputs name none."""
    template = synth(stage)
    resources = template["Resources"].values()
    inputs = [
        json.dumps(target["Input"])
        for resource in resources
        if resource["Type"] == "AWS::Events::Rule"
        for target in resource["Properties"]["Targets"]
        if "Input" in target
    ]
    assert all("{{resolve:secretsmanager:" in text for text in inputs if "X-Cron-Secret" in text)
    for resource in resources:
        variables = resource["Properties"].get("Environment", {}).get("Variables", {})
        for name, value in variables.items():
            if re.search("SECRET|KEY|TOKEN|PASSWORD", name):
                assert name.endswith("_ARN") or name == env.CRON_SECRET_VERSION, name
                assert isinstance(value, dict) or str(value).isdigit(), name
    assert "resolve:secretsmanager" not in json.dumps(template.get("Outputs", {}))
    for resource in resources:
        if resource["Type"] == "AWS::SecretsManager::Secret":
            assert "SecretString" not in resource["Properties"]


def test_f_05_a_tick_that_is_throttled_is_tried_again_and_then_kept(synth: Synth) -> None:
    """The rule retries, and what it gives up goes to a queue that an alarm watches."""
    template = synth("prod")
    targets: list[dict[str, Any]] = [
        target
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::Events::Rule"
        for target in resource["Properties"]["Targets"]
    ]
    assert targets
    for target in targets:
        assert target["RetryPolicy"]["MaximumRetryAttempts"] >= 1
        assert target["DeadLetterConfig"]["Arn"]
