"""Every command of every runbook, as it is written, in the deployed account."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.aws.account import ROOT, aws_command, eventually
from tests.e2e.aws.conftest import Deployment

pytestmark = pytest.mark.e2e

PAGES = sorted(page for page in (ROOT / "docs/runbooks").glob("*.md") if page.name != "README.md")


@pytest.fixture(scope="module")
def shell(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What an on-call person has: the two command lines, the stage, a site. The URL's name exists in this account alone."""
    folder = tmp_path_factory.mktemp("bin")
    curl = shutil.which("curl")
    assert curl, "the runbooks need curl"
    host = deployment.outputs["FunctionUrl"].removeprefix("https://")
    # The first version of the AWS command line takes the endpoint of SQS from the environment only when it is told so.
    for name, command in {
        "aws": f'{aws_command()} --endpoint-url "$AWS_ENDPOINT_URL"',
        "curl": f'{curl} --insecure --connect-to "{host}:443:127.0.0.1:{deployment.account.port}"',
    }.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / name).chmod(0o755)
    sites = deployment.api("GET", "/sites").json()["sites"]
    if not sites:
        enrolled = deployment.api("POST", "/sites", {"url": deployment.site_url, "maxPages": 30})
        site_id = enrolled.json()["id"]
        eventually(lambda: deployment.api("GET", f"/sites/{site_id}/runs").json()["runs"], seconds=90)
    path = f"{folder}:{deployment.account.environment['PATH']}"
    return {**deployment.account.environment, "PATH": path, "STAGE": "local", "URL": deployment.site_url}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_work_as_written(page: Path, shell: dict[str, str]) -> None:
    """All blocks of a page in one shell, in their order; the first that fails ends it."""
    commands = "\n".join(re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=ROOT,
        env=shell,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    said = f"{done.stdout}\n{done.stderr}"
    assert done.returncode == 0, said
    assert "An error occurred" not in said
    assert '"code": "unauthorized"' not in said
    assert "Traceback" not in said


def test_no_page_leaves_the_schedule_or_the_site_stopped(shell: dict[str, str]) -> None:
    """Pages that pause also say how to resume; this is that step, and it works."""
    commands = """
. docs/runbooks/helpers.sh
aws events enable-rule --name "$(out ScheduleRule)"
aws events describe-rule --name "$(out ScheduleRule)" --query State --output text
api POST "/sites/$(site "$URL")/resume"
"""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=ROOT,
        env=shell,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ENABLED\n")
    assert '"status": "active"' in done.stdout
