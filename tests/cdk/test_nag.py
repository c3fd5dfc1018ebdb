"""The rule packs find nothing that is not accepted, and everything accepted is still found."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cdk import nag
from cdk.assembly import build_app
from tests.cdk.conftest import ROOT, STAGES, flags
from tests.cdk.test_publishing import R2

EXTRAS = {"brightData": "true", "modelDescriptions": "true", "liveCrawl": "true", "notifications": "true"}
CERTIFIED = {
    "publicDomain": "llms.example.com",
    "certificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/0000",
}
VARIANTS = {**{stage: {"stage": stage} for stage in STAGES}, "r2": {"stage": "prod", **R2, **EXTRAS}}
VARIANTS["extras"] = {"stage": "prod", **EXTRAS}
VARIANTS["own domain"] = {"stage": "prod", **CERTIFIED}


def findings(context: dict[str, str], outdir: Path) -> set[tuple[str, str]]:
    """(rule, construct path below the stack) of every finding, warnings too."""
    app = build_app({**flags(), **context, "aws:cdk:bundling-stacks": []}, outdir=str(outdir))
    nag.check(app)
    with contextlib.suppress(RuntimeError):  # what jsii makes of a failed validation; the findings are in the report
        app.synth()
    report: dict[str, Any] = json.loads((outdir / "validation-report.json").read_text())
    return {
        (violation["ruleName"], construct["constructPath"].partition("/")[2])
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for construct in violation["violatingConstructs"]
    }


@pytest.mark.parametrize("variant", VARIANTS)
def test_both_packs_are_clean(variant: str, tmp_path: Path) -> None:
    """AwsSolutions and Serverless, on every stage and on every way to publish; warnings count as findings."""
    assert findings(VARIANTS[variant], tmp_path) == set()


def test_every_acceptance_is_still_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the acceptances each one answers a finding on its construct: none covers more than it says."""
    monkeypatch.setattr("cdk.assembly.acknowledge", lambda _stack: None)
    found: set[tuple[str, str]] = set()
    for variant in ("extras", "r2"):
        found |= findings(VARIANTS[variant], tmp_path / variant)
    needed = {
        (accepted.rule, path)
        for accepted, path in nag.each()
        if any(rule == accepted.rule and f"{where}/".startswith(f"{path}/") for rule, where in found)
    }
    assert {(accepted.rule, path) for accepted, path in nag.each()} - needed == set()


def test_every_acceptance_has_a_reason_of_its_own() -> None:
    """A reason is a sentence about this service; the same rule on the same path is accepted once."""
    pairs = [(accepted.rule, path) for accepted, path in nag.each()]
    assert len(pairs) == len(set(pairs))
    assert all(len(accepted.reason.split()) > 4 and accepted.reason.endswith(".") for accepted in nag.ACCEPTED)


def test_an_open_finding_fails_the_synth_of_the_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The packs run in `cdk synth`, not only in this test."""
    monkeypatch.setattr("cdk.assembly.acknowledge", lambda _stack: None)
    app = build_app({**flags(), "aws:cdk:bundling-stacks": []}, outdir=str(tmp_path))
    nag.check(app)
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    assert re.search(r"check\(app\)\s+app\.synth\(\)", (ROOT / "app.py").read_text())


def test_the_builtin_validator_is_satisfied_too(tmp_path: Path) -> None:
    """The one synth with the library's own validation on; cdk.json makes its findings errors."""
    context = {**flags(), "stage": "prod", "aws:cdk:bundling-stacks": []}
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env={
            **os.environ,
            "CDK_VALIDATION": "true",
            "CDK_CONTEXT_JSON": json.dumps(context),
            "CDK_OUTDIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert flags()["@aws-cdk/core:validateAgainstDefaultRules"] is True
    assert (tmp_path / "llms-txt-auto-updates-prod.template.json").exists()
