"""The asset's size and the doors' cold starts."""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path

from benchmarks import cold
from benchmarks.environments import lambda_python, python_of
from benchmarks.process import ROOT, run
from benchmarks.table import Table, figure
from cdk.bundling import Recipe
from cdk.config import load_stage
from cdk.interpreter import find_python

EVERYTHING = """
import json, time
began = time.process_time()
import boto3, bs4, httpx, supabase
boto3.client("s3", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
httpx.AsyncClient()
supabase.create_client("https://x.supabase.co", "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.x")
print(json.dumps({"cpu": time.process_time() - began}))
"""
"""What an implementation imports and opens that follows the specification to the letter."""


def asset(folder: Path, python: str, architecture: str, compiler: Path | None) -> Path:
    out = folder / f"asset-{python}-{architecture}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    Recipe(root=ROOT, python=python, architecture=architecture, compiler=compiler).build(out)
    return out


def size(table: Table, folder: Path) -> None:
    """The asset as it is deployed: arm64, compiled if an interpreter of its version is here."""
    config = load_stage({})
    compiler = find_python(config.python)
    out = asset(folder, config.python, config.architecture, compiler)
    packed = folder / "asset.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(out.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(out))
    detail = f"{config.architecture}, Python {config.python}, {'with' if compiler else 'without'} .pyc"
    table.at_most("asset, zipped", 16.0, packed.stat().st_size / 1e6, "MB", detail)


def doors(table: Table, folder: Path, *, rounds: int) -> None:
    """Init is what Lambda calls init: from process start to the first poll. CPU time, for the machine may be busy."""
    config = load_stage({})
    interpreter = find_python(config.python) or Path(sys.executable)
    version = config.python if interpreter != Path(sys.executable) else f"{sys.version_info[0]}.{sys.version_info[1]}"
    python = lambda_python(interpreter, version)
    out = asset(folder, version, "x86_64", interpreter)
    found = cold.measure(python, out, rounds=rounds)
    empty = found["empty"]
    for name, target in (("webhook", 2.5), ("cron", 2.5), ("worker", 5.0)):
        door = found[name]
        detail = (
            f"CPU to the first poll {door.init_cpu:.0f} ms against {empty.init_cpu:.0f}; to the first answer "
            f"{door.cpu:.0f} ms, {door.megabytes:.0f} MB; Python {version}"
        )
        table.at_most(
            f"{name} door, cold init, times an empty handler", target, door.init_cpu / empty.init_cpu, "×", detail
        )
    everything = 1000 * run([python_of("original"), "-c", EVERYTHING]).said["cpu"]
    worker = found["worker"].init_cpu - empty.init_cpu
    detail = f"CPU {figure(worker)} against {figure(everything)} ms for httpx, bs4, supabase, boto3 and their clients"
    table.at_least("worker, cold imports, times less than everything", 3.0, everything / worker, "×", detail)
