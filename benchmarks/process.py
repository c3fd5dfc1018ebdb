"""Child processes: started, watched, measured."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Ran:
    """A process from start to end: wall and CPU seconds, peak resident megabytes, and the JSON that it printed last."""

    seconds: float
    cpu: float
    megabytes: float
    said: dict[str, Any]


class ChildFailed(RuntimeError):
    """A measured program did not end well; the message has the end of what it wrote."""


def run(command: Sequence[str | Path], *, cwd: Path = ROOT, timeout: float = 300, reads_json: bool = True) -> Ran:
    """Run a program to its end. :raises ChildFailed: its exit status is not 0."""
    began = time.perf_counter()
    pipe = subprocess.PIPE
    with subprocess.Popen([str(part) for part in command], cwd=cwd, stdout=pipe, stderr=pipe) as child:
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            raise ChildFailed(f"{command[1]} did not end within {timeout:.0f} s") from None
    seconds = time.perf_counter() - began
    if child.returncode:
        raise ChildFailed(f"{command[1]} ended with {child.returncode}: {err.decode()[-600:]}")
    usage = json.loads(err.decode().rpartition("USAGE ")[2]) if b"USAGE " in err else {}
    said = json.loads(out.decode().strip().splitlines()[-1]) if reads_json else {}
    return Ran(seconds, usage.get("cpu", 0.0), usage.get("megabytes", 0.0), said)


def measured(command: Sequence[str | Path]) -> list[str | Path]:
    """The command under a parent that writes what its only child used to stderr."""
    return [sys.executable, Path(__file__), *command]


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """The made-up site, served from another process; gives its origin."""
    command = [sys.executable, "-m", "benchmarks.server", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            yield child.stdout.readline().strip()
        finally:
            child.stdin.close()


def control(origin: str, command: str) -> dict[str, Any]:
    """`__stats` or `__edit?count=10`; gives what was asked of the server since the last call."""
    with urlopen(f"{origin}/{command}", timeout=60) as answer:  # noqa: S310 - our own server
        found: dict[str, Any] = json.load(answer)
    return found


def main() -> None:
    """Run a command and write what it used to stderr; in a process of its own, because RUSAGE_CHILDREN adds up."""
    import resource

    code = subprocess.call(sys.argv[1:])
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = json.dumps({"cpu": usage.ru_utime + usage.ru_stime, "megabytes": usage.ru_maxrss / 1024})
    print(f"USAGE {text}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
