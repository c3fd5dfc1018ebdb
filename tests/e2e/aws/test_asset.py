"""The asset as `cdk deploy` uploads it, under Lambda's own runtime client, with nothing else on the path."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uv

from cdk.bundling import ROOT, Recipe
from cdk.interpreter import find_python
from runtime import environment as env
from tests.e2e.aws.account import MACHINE, PYTHON
from tests.e2e.aws.runtime_api import running_function

pytestmark = pytest.mark.e2e

RUNTIME = ROOT / "build" / "lambda-runtime"
TICK = {"httpMethod": "POST", "path": "/internal/cron/recrawl", "headers": {"X-Cron-Secret": "x"}}
HEALTH = {
    "version": "2.0",
    "rawPath": "/health",
    "headers": {},
    "requestContext": {"requestId": "r", "http": {"method": "GET", "path": "/health"}},
}
BATCH = {"Records": [{"messageId": "1", "body": "{}"}]}
EVENTS = {"cron": TICK, "webhook": HEALTH, "worker": BATCH}
COLD_SECONDS = 10.0
"""A ceiling for a shared machine; the figure itself is printed by the test."""


@pytest.fixture(scope="module")
def python() -> Path:
    """An environment like Lambda's: the runtime client and boto3."""
    entry = RUNTIME / "bin" / "python"
    if not entry.exists():
        program = uv.find_uv_bin()
        subprocess.run([program, "venv", "--quiet", "--python", sys.executable, str(RUNTIME)], check=True, timeout=60)
        packages = ["awslambdaric==4.2.2", "boto3==1.43.106"]
        subprocess.run(
            [program, "pip", "install", "--quiet", "--python", str(entry), *packages], check=True, timeout=300
        )
    return entry


@pytest.fixture(scope="module")
def asset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built for this machine and this Python, with .pyc files, as a deploy with precompile=always would."""
    out = tmp_path_factory.mktemp("asset")
    Recipe(root=ROOT, python=PYTHON, architecture=MACHINE, compiler=find_python(PYTHON)).build(out)
    return out


@pytest.fixture
def silence() -> Iterator[str]:
    """An endpoint that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("door", EVENTS)
def test_a_door_starts_from_the_asset_alone_and_names_every_missing_variable(
    door: str, python: Path, asset: Path
) -> None:
    """One sentence for all of them, as an error that Lambda counts; no import is missing."""
    with running_function(python, asset, f"runtime.handlers.{door}.handler", {}, timeout=30) as function:
        ended = function.invoke(EVENTS[door])
    print(f"\n{door}: cold start {ended.seconds:.2f} s (Python {PYTHON}, {MACHINE})")
    assert ended.seconds < COLD_SECONDS
    said = "".join(function.log)
    assert "ImportModuleError" not in said
    if door == "webhook":  # callers are answered; the log and the metric say why
        assert ended.how == "response"
        assert ended.said["statusCode"] == 503
    else:
        assert ended.how == "error"
        assert ended.said["errorType"] == "Misconfigured"
    assert re.search(rf"missing environment variables .*{env.SUPABASE_SECRET_ARN}.*{env.QUEUE_URL}", said)
    assert '"ConfigurationErrors":[1.0]' in said


def test_a_missing_dependency_is_an_import_error(python: Path, asset: Path, tmp_path: Path) -> None:
    """The control of the test above: take one package away, and the runtime client says so."""
    broken = tmp_path / "broken"
    shutil.copytree(asset, broken)
    shutil.rmtree(broken / "ada_url")
    with running_function(python, broken, "runtime.handlers.cron.handler", {}, timeout=30) as function:
        ended = function.invoke(TICK)
    assert ended.how in ("init_error", "error")
    assert ended.said["errorType"] == "Runtime.ImportModuleError"
    assert "ada_url" in ended.said["errorMessage"]


def test_a_service_that_never_answers_ends_at_the_time_limit(python: Path, asset: Path, silence: str) -> None:
    """Nothing is caught and nothing is answered: Lambda kills the process, and retries as for any error."""
    variables = dict.fromkeys(ARNS, "arn:aws:secretsmanager:eu-west-1:123456789012:secret:x")
    variables |= {env.QUEUE_URL: f"{silence}/1/q", env.STATE_BUCKET: "state", "AWS_ENDPOINT_URL": silence}
    with running_function(python, asset, "runtime.handlers.cron.handler", variables, timeout=4) as function:
        ended = function.invoke(TICK)
    assert ended.how == "timeout"
    assert 4 <= ended.seconds < 6


ARNS = (env.SUPABASE_SECRET_ARN, env.CRON_SECRET_ARN, env.API_KEY_SECRET_ARN)


def test_a_process_survives_an_event_that_is_not_its_own(python: Path, asset: Path) -> None:
    """Refused with a clear code, again and again, warm in milliseconds."""
    with running_function(python, asset, "runtime.handlers.cron.handler", {}, timeout=30) as function:
        strange: list[Any] = [{}, None, {"Records": []}, {"httpMethod": "GET", "path": "/", "headers": {}}]
        for event in strange:
            ended = function.invoke(event)
            assert (ended.how, ended.said["errorType"]) == ("error", "InputError"), json.dumps(ended.said)
        assert ended.seconds < 1
