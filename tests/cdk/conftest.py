"""One synth a stage and session: with the flags of cdk.json, without bundling and without the slow built-in validator."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("CDK_VALIDATION", "false")

from aws_cdk.assertions import Template

from cdk.assembly import build_app
from cdk.stack import AutoUpdatesStack

ROOT = Path(__file__).parents[2]
STAGES = ("dev", "staging", "prod", "local")


def flags() -> dict[str, Any]:
    """The context of cdk.json: the CDK reads it only on the command line (aws-cdk#18535)."""
    context: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text())["context"]
    return context


@cache
def _synth(items: tuple[tuple[str, Any], ...]) -> tuple[AutoUpdatesStack, dict[str, Any]]:
    app = build_app({**flags(), **dict(items), "aws:cdk:bundling-stacks": []})
    (stack,) = (child for child in app.node.children if isinstance(child, AutoUpdatesStack))
    template = dict(Template.from_stack(stack).to_json())
    return stack, template


Synth = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def synth() -> Synth:
    """`synth("prod", workerTimeout="600")` is the template that `-c` would give."""

    def template(stage: str, **overrides: str) -> dict[str, Any]:
        return _synth((("stage", stage), *sorted(overrides.items())))[1]

    return template


@pytest.fixture(scope="session")
def stack_of() -> Callable[..., AutoUpdatesStack]:
    """Like `synth`, but the stack: for what a template cannot show."""

    def stack(stage: str, **overrides: str) -> AutoUpdatesStack:
        return _synth((("stage", stage), *sorted(overrides.items())))[0]

    return stack


def resources(template: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """The resources of one type by logical id."""
    return {name: body for name, body in template["Resources"].items() if body["Type"] == kind}


def properties(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [body.get("Properties", {}) for body in resources(template, kind).values()]


def scrubbed(template: dict[str, Any]) -> dict[str, Any]:
    """The template without asset hashes: a change of the runtime's code is no change of the infrastructure."""
    clean: dict[str, Any] = json.loads(re.sub(r"\b[0-9a-f]{64}\b", "<asset-hash>", json.dumps(template)))
    return clean


def as_list(value: Any) -> list[Any]:
    """What IAM writes as one thing or as several."""
    return value if isinstance(value, list) else [value]
