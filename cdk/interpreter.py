"""A Python interpreter of a given version, if this machine has one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import uv


def find_python(version: str) -> Path | None:
    """An interpreter of `version` ("3.13") that really starts: this one, one on the PATH, or one that uv knows."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return Path(sys.executable)
    return next((path for path in _candidates(version) if _answers(path, version)), None)


def _candidates(version: str) -> Iterator[Path]:
    on_path = shutil.which(f"python{version}")
    if on_path:
        yield Path(on_path)
    known = _output([uv.find_uv_bin(), "python", "find", "--managed-python", "--no-python-downloads", version])
    if known:
        yield Path(known)


def _answers(path: Path, version: str) -> bool:
    """Whether it starts and is what its name says: a shim may do neither."""
    return _output([str(path), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]) == version


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - built here
    return done.stdout.strip() if done.returncode == 0 else ""
