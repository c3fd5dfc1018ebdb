"""A copy of the tree in which one safeguard at a time is taken out, and the tests that should notice are run."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LIMIT_SECONDS = 300.0
"""A run of tests that takes longer hangs; that is no verdict."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One safeguard taken out of one file.

    :param without: the safeguard, as the table names it. :param old: occurs exactly once in `path`.
    :param tests: files, folders or ids of tests, one of which has to fail.
    """

    without: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied(self, text: str) -> str:
        """The text of the file without the safeguard.

        :raises ValueError: the code has moved on, and this mutant with it: mend the edit.
        """
        found = text.count(self.old)
        if found != 1:
            raise ValueError(f"{self.without}: the edit matches {found} times in {self.path}, not once")
        if self.old == self.new:
            raise ValueError(f"{self.without}: the edit changes nothing")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the tests said. `killed_by` is the first test that failed, by its id; `problem` why there is no verdict."""

    killed_by: str = ""
    problem: str = ""
    seconds: float = 0.0

    @property
    def survived(self) -> bool:
        return not self.killed_by and not self.problem


@dataclass(frozen=True, slots=True)
class Workshop:
    """`folder` is the copy; `clock` gives every write a time of its own, so that no stale bytecode is taken for new."""

    folder: Path
    clock: Iterator[int]

    @contextmanager
    def without(self, mutant: Mutant) -> Iterator[None]:
        """The tree without the safeguard, as long as the block lasts."""
        path = self.folder / mutant.path
        whole = path.read_text("utf-8")
        self._write(path, mutant.applied(whole))
        try:
            yield
        finally:
            self._write(path, whole)

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, "utf-8")
        moment = next(self.clock)
        os.utime(path, (moment, moment))

    def run(self, tests: Iterable[str], *, limit_seconds: float = LIMIT_SECONDS) -> Verdict:
        """Run tests until the first failure. An error outside of a test (an import, a fixture) is a problem."""
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"--junitxml={report}", *tests]
        started = time.monotonic()
        environment = {**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / ".hypothesis")}
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=limit_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Verdict(problem=f"the tests hang: not done in {limit_seconds:.0f} s", seconds=limit_seconds)
        seconds = time.monotonic() - started
        if not report.exists():
            return Verdict(
                problem=f"pytest ended with {done.returncode}: {_tail(done.stdout + done.stderr)}", seconds=seconds
            )
        failed, broken = _read(report)
        if failed:
            return Verdict(killed_by=failed[0], seconds=seconds)
        if broken or done.returncode:
            return Verdict(problem=f"{broken or 'no test'}: {_tail(done.stdout + done.stderr)}", seconds=seconds)
        return Verdict(seconds=seconds)


def _read(report: Path) -> tuple[list[str], list[str]]:
    """The tests that failed, and what broke outside of a test. The report is pytest's own."""
    failed, broken = [], []
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - written by the run before
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        if case.find("failure") is not None:
            failed.append(name)
        elif case.find("error") is not None:
            broken.append(name)
    return failed, broken


def _tail(text: str) -> str:
    return " | ".join(text.strip().splitlines()[-6:])


@contextmanager
def workshop(root: Path) -> Iterator[Workshop]:
    """A copy of the tracked files of a working tree, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    folder = Path(tempfile.mkdtemp(prefix="mutation-"))
    try:
        for name in filter(None, listed.split("\0")):
            if (root / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, folder / name)
        yield Workshop(folder, itertools.count(int(time.time()) + 3_600))
    finally:
        shutil.rmtree(folder)
