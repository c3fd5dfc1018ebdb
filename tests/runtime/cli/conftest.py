"""The command line as a process of its own, over the sample site on a loopback port."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtime.sample.server import SampleServer, serve_in_thread
from runtime.sample.site import SampleSite

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Result:
    code: int
    stdout: str
    stderr: str

    @property
    def value(self) -> Any:
        return json.loads(self.stdout)


@dataclass
class Shell:
    """Runs `python -m runtime` in a home folder of its own."""

    home: Path
    server: SampleServer

    def __call__(
        self, *args: str, private: bool = True, home: Path | None = None, file_bytes: int | None = None
    ) -> Result:
        options = ["--home", str(home or self.home), "--rate", "0", *(["--allow-private"] if private else [])]
        ran = subprocess.run(
            [sys.executable, "-m", "runtime", *options, *args],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            preexec_fn=None
            if file_bytes is None
            else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes,) * 2),
            env={**os.environ, "COLUMNS": "100"},
        )
        return Result(ran.returncode, ran.stdout, ran.stderr)

    def scrub(self, text: str) -> str:
        """Output without what differs from run to run: ports, times, ids, secrets, durations."""
        text = text.replace(self.server.url, "http://site").replace(self.server.url.removeprefix("http://"), "site")
        text = text.replace(str(self.home), "HOME").replace(self.server.url.rpartition(":")[2], "PORT")
        text = re.sub(r"whsec_[A-Za-z0-9+/=]+", "SECRET", text)
        text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "ID", text)
        text = re.sub(r"\b([0-9a-f]{64}|[0-9a-f]{12})\b", "SHA256", text)
        text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z)?", "TIME", text)
        return re.sub(r'("duration_ms": )\d+', r"\1MS", text)


@pytest.fixture
def sample() -> SampleSite:
    return SampleSite()


@pytest.fixture
def shell(tmp_path: Path, sample: SampleSite) -> Iterator[Shell]:
    with serve_in_thread(sample) as server:
        yield Shell(tmp_path / "home", server)
