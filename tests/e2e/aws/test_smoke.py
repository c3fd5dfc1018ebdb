"""`make smoke`, against the deployed stack: a tick with work, a tick without, and what it says when there is none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.e2e.aws.account import ROOT
from tests.e2e.aws.conftest import Deployment

pytestmark = pytest.mark.e2e


def smoke(deployment: Deployment, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "cdk.smoke", *arguments],
        cwd=ROOT,
        env=dict(deployment.account.environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_tick_with_nothing_to_do_is_a_success(deployment: Deployment) -> None:
    deployment.postgres.execute(
        "UPDATE public.crawl_sites SET next_crawl_at = now() + interval '1 day', requested_at = NULL",
        database=deployment.database,
    )
    assert smoke(deployment, "local") == (0, "the tick worked; no site was due\n")


def test_a_stage_that_does_not_exist_or_is_not_deployed_is_said(deployment: Deployment) -> None:
    status, said = smoke(deployment, "production")
    assert (status, said) == (2, "usage: python -m cdk.smoke dev|staging|prod|local\n")
    status, said = smoke(deployment, "prod")
    assert status == 2
    assert "llms-txt-auto-updates-prod" in said


def test_a_tick_with_work_waits_for_its_summary(deployment: Deployment) -> None:
    """The schedule of the emulated account ticks every minute; it is paused, so that this tick is the one that claims."""
    events = deployment.account.client("events")
    events.disable_rule(Name=deployment.outputs["ScheduleRule"])
    url = f"http://localhost:{deployment.site_url.rpartition(':')[2]}"
    enrolled = deployment.api("POST", "/sites", {"url": url, "maxPages": 5, "enableAutoUpdate": False})
    assert enrolled.status_code == 201, enrolled.text
    deployment.postgres.execute(
        "UPDATE public.crawl_sites SET status = 'active', next_crawl_at = now() WHERE id = %s",
        (enrolled.json()["id"],),
        database=deployment.database,
    )
    status, said = smoke(deployment, "local")
    events.enable_rule(Name=deployment.outputs["ScheduleRule"])
    assert status == 0, said
    assert "1 site queued; waiting for the last one" in said
    assert "[RECRAWL] Completed:" in said
