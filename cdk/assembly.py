"""From a context to an app: config → code → stack → tags → rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import App, Environment, Tags

from cdk.bundling import runtime_code
from cdk.config import StageConfig, load_stage
from cdk.nag import acknowledge
from cdk.stack import AutoUpdatesStack

SERVICE = "llms-txt-auto-updates"


def build_app(context: Mapping[str, Any] | None = None, **app_options: Any) -> App:
    """The app of the stage that the context chooses.

    :raises ConfigError: the context names something that does not exist or is not allowed.
    """
    app = App(context=context, analytics_reporting=False, **app_options)
    add_stack(app, load_stage(app.node.get_all_context()))
    return app


def add_stack(app: App, config: StageConfig) -> AutoUpdatesStack:
    """The stack of one stage, tagged. The stack is given the tags too: tagging the app reaches only resources."""
    tags = {
        "service": SERVICE,
        "stage": config.stage,
        "owner": config.owner,
        "cost-center": config.cost_center,
        "managed-by": "aws-cdk",
    }
    stack = AutoUpdatesStack(
        app,
        f"{SERVICE}-{config.stage}",
        config=config,
        code=runtime_code(config),
        description=f"Keeps llms.txt files in step with their sites ({config.stage})",
        env=Environment(account=config.account, region=config.region),
        termination_protection=config.termination_protection,
        tags=tags,
    )
    for key, value in tags.items():
        Tags.of(app).add(key, value)
    acknowledge(stack)
    return stack
