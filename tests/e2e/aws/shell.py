"""The shell of a person who works on a stage: a checkout, the two command lines, the stage's name."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.aws.account import ROOT, aws_command
from tests.e2e.aws.conftest import Deployment


def person_at(deployment: Deployment, folder: Path) -> dict[str, str]:
    """The environment of such a shell; `folder` gets its commands. The URL's name exists in this account alone."""
    curl = shutil.which("curl")
    assert curl, "the pages need curl"
    host = deployment.outputs["FunctionUrl"].removeprefix("https://")
    # The first version of the AWS command line takes the endpoint of SQS from the environment only when it is told so.
    for name, command in {
        "aws": f'{aws_command()} --endpoint-url "$AWS_ENDPOINT_URL"',
        "curl": f'{curl} --insecure --connect-to "{host}:443:127.0.0.1:{deployment.account.port}"',
    }.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / name).chmod(0o755)
    path = f"{folder}:{deployment.account.environment['PATH']}"
    return {**deployment.account.environment, "PATH": path, "STAGE": "local", "URL": deployment.site_url}


def run(commands: str, shell: Mapping[str, str], *, cwd: Path = ROOT, seconds: int = 180) -> tuple[int, str, str]:
    """Status, standard output and standard error of commands in one shell; the first that fails ends it."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=cwd,
        env=dict(shell),
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    return done.returncode, done.stdout, done.stderr
