"""Folders in memory where there is one: the stores sync every write, and here nobody pulls the plug."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.sites.conftest import postgres, project
from tests.stand_ins.s3 import s3_server

__all__ = ["postgres", "project", "s3_server"]

MEMORY = Path("/dev/shm")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """An empty folder for a service."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        yield tmp_path
        return
    made = Path(tempfile.mkdtemp(prefix="faults-", dir=MEMORY))
    try:
        yield made
    finally:
        shutil.rmtree(made)
