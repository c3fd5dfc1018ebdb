"""The peers' own environments under `.cache/bench-venvs`, made on demand and pinned. None of them is a dependency."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import uv

from benchmarks.process import ROOT

FOLDER = ROOT / ".cache" / "bench-venvs"

PEERS: dict[str, tuple[str, ...]] = {
    "scrapy": ("scrapy==2.19.0",),
    "crawlee": ("crawlee[parsel]==1.11.0",),
    "stack": ("httpx==0.28.1", "lxml==6.1.3", "beautifulsoup4==4.15.0", "parsel==1.12.1"),
    "floor": ("uvloop==0.23.0", "httptools==0.9.0", "selectolax==1.0.2"),
    "usp": ("ultimate-sitemap-parser==1.8.1",),
    "trafilatura": ("trafilatura==2.3.1",),
    "original": ("httpx==0.28.1", "beautifulsoup4==4.15.0", "supabase==2.34.1", "boto3==1.43.106"),
}
"""spider-rs is missing: its releases on PyPI have no wheel, and building it takes a Rust toolchain and crates.io."""

LAMBDA = ("awslambdaric==4.2.2", "boto3==1.43.106")


def python_of(name: str) -> Path:
    """The interpreter of a peer's environment; made if it is not there."""
    return made(name, PEERS[name], sys.executable)


def lambda_python(interpreter: Path, version: str) -> Path:
    """An interpreter with what the Lambda runtime brings along, compiled as it is there."""
    return made(f"lambda-{version}", LAMBDA, str(interpreter))


def made(name: str, wanted: tuple[str, ...], interpreter: str) -> Path:
    folder = FOLDER / name
    python, stamp = folder / "bin" / "python", folder / "installed"
    if not stamp.exists() or stamp.read_text() != "\n".join(wanted):
        tool: str | Path = uv.find_uv_bin()
        subprocess.run([tool, "venv", "--quiet", "--clear", "--python", interpreter, folder], check=True)
        install: list[str | Path] = [
            tool,
            "pip",
            "install",
            "--quiet",
            "--python",
            python,
            "--only-binary",
            ":all:",
            *wanted,
        ]
        subprocess.run(install, check=True)
        subprocess.run([python, "-m", "compileall", "-q", folder / "lib"], check=False, stdout=subprocess.DEVNULL)
        stamp.write_text("\n".join(wanted))
    return python
