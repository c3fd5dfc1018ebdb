"""Starts the forking process of `tests.faults.child` and talks to it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.faults.child import Workers


@contextmanager
def running_workers() -> Iterator[Workers]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    asking, answers = process.stdin, process.stdout

    def ask(command: dict[str, Any]) -> dict[str, Any]:
        asking.write(json.dumps(command) + "\n")
        asking.flush()
        line = answers.readline()
        assert line, f"the forking process ended with {process.wait()}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    try:
        yield Workers(ask)
    finally:
        asking.close()
        process.wait(timeout=30)
        answers.close()
