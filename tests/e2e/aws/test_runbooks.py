"""Every command of every runbook, as it is written, in the deployed account."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.aws.account import ROOT, eventually
from tests.e2e.aws.conftest import Deployment
from tests.e2e.aws.shell import person_at, run

pytestmark = pytest.mark.e2e

PAGES = sorted(page for page in (ROOT / "docs/runbooks").glob("*.md") if page.name != "README.md")


@pytest.fixture(scope="module")
def shell(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What an on-call person has, and a site to work on."""
    if not deployment.api("GET", "/sites").json()["sites"]:
        enrolled = deployment.api("POST", "/sites", {"url": deployment.site_url, "maxPages": 30})
        site_id = enrolled.json()["id"]
        eventually(lambda: deployment.api("GET", f"/sites/{site_id}/runs").json()["runs"], seconds=90)
    return person_at(deployment, tmp_path_factory.mktemp("bin"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_work_as_written(page: Path, shell: dict[str, str]) -> None:
    """All blocks of a page in one shell, in their order; the first that fails ends it."""
    commands = "\n".join(re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL))
    status, printed, errors = run(commands, shell)
    said = f"{printed}\n{errors}"
    assert status == 0, said
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
    status, printed, errors = run(commands, shell)
    assert status == 0, errors
    assert printed.startswith("ENABLED\n")
    assert '"status": "active"' in printed
