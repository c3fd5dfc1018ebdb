"""The template as CloudFormation reads it: valid, stable in what it may not rename, complete in what the doors need."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cdk.stack import AutoUpdatesStack
from runtime import environment as env
from tests.cdk.conftest import ROOT, STAGES, Synth, properties, resources
from tests.cdk.test_publishing import R2

STATEFUL = {
    "AWS::SecretsManager::Secret": {"SecretsApiKey92A01E51", "SecretsCronCB7448D1", "SecretsSupabase3147E109"},
    "AWS::S3::Bucket": {"PublishingPublicCDEA827B", "PublishingStateAC000250"},
    "AWS::SQS::Queue": {
        "CronFailed3426202B",
        "CronUndelivered04165C7F",
        "LettersDead04E1CB47",
        "LettersQueue0CC56B8D",
        "WorkDead2AD4D985",
        "WorkQueue1CAC4D2F",
    },
}


def test_cfn_lint_finds_nothing(synth: Synth, tmp_path: Path) -> None:
    """Production in both ways of publishing, and the local stage; W3005 is the CDK's own DependsOn."""
    templates = {stage: synth(stage) for stage in ("prod", "local")} | {"r2": synth("prod", **R2, brightData="true")}
    for name, template in templates.items():
        (tmp_path / f"{name}.template.json").write_text(json.dumps(template))
    done = subprocess.run(
        [str(Path(sys.executable).with_name("cfn-lint")), "-i", "W3005", "-r", "us-east-1", "-t"]
        + [str(path) for path in sorted(tmp_path.glob("*.json"))],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_holds_state_keeps_its_name(synth: Synth) -> None:
    """Renaming one of these in the code would replace it: queues lose messages, secrets their values."""
    template = synth("prod")
    assert {kind: set(resources(template, kind)) for kind in STATEFUL} == STATEFUL


@pytest.mark.parametrize("door", ["cron", "webhook", "worker"])
@pytest.mark.parametrize("stage", STAGES)
def test_a_door_gets_every_variable_that_it_needs(synth: Synth, stage: str, door: str) -> None:
    """What the handler asks for is what the function has, by the same names."""
    module = importlib.import_module(f"runtime.handlers.{door}")
    functions = {f["Handler"]: f["Environment"]["Variables"] for f in properties(synth(stage), "AWS::Lambda::Function")}
    given = functions[f"runtime.handlers.{door}.handler"]
    assert callable(module.handler)
    assert set(module.process._needed) <= set(given)
    known = {value for name, value in vars(env).items() if name.isupper()}
    assert set(given) <= known


@pytest.mark.parametrize("stage", STAGES)
def test_everything_is_tagged_and_so_is_the_stack(
    synth: Synth, stack_of: Callable[..., AutoUpdatesStack], stage: str
) -> None:
    """Whose it is and what it belongs to; the stack is tagged by itself, since a flag keeps the app's tags from it."""
    overrides = {"owner": "docs-team", "costCenter": "4711"}
    tags = {
        "service": "llms-txt-auto-updates",
        "stage": stage,
        "owner": "docs-team",
        "cost-center": "4711",
        "managed-by": "aws-cdk",
    }
    for queue in properties(synth(stage, **overrides), "AWS::SQS::Queue"):
        assert {tag["Key"]: tag["Value"] for tag in queue["Tags"]} == tags
    assert stack_of(stage, **overrides).tags.tag_values() == tags


def test_a_template_names_no_account_and_no_region(synth: Synth) -> None:
    """Anybody can synthesise it, without credentials, for any account; an account can be pinned by context."""
    text = json.dumps(synth("prod"))
    assert "123456789012" not in text
    assert "eu-west-1" not in text


@pytest.mark.parametrize("stage", STAGES)
def test_the_outputs_are_what_people_and_runbooks_ask_for(synth: Synth, stage: str) -> None:
    """Every name that a page's `out` or `secret` asks for is an output."""
    outputs = synth(stage, liveCrawl="true")["Outputs"]
    pages = "\n".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    asked = set(re.findall(r"\bout ([A-Z]\w+)", pages)) | {
        f"{name}SecretArn" for name in re.findall(r"\bsecret ([A-Z]\w+)", pages)
    }
    assert asked <= set(outputs)
    assert {
        "FunctionUrl", "PublicBaseUrl", "QueueUrl", "Dashboard", "CronSecretArn", "ApiKeySecretArn", "SupabaseSecretArn",
    } <= set(outputs)  # fmt: skip
    assert all(output["Description"] for output in outputs.values())
    assert "R2SecretArn" in outputs if stage == "local" else "R2SecretArn" not in outputs
