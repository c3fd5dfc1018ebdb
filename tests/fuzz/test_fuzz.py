"""The fuzzer finds what is planted, makes it small, and is the same every time; and the readers stand a slice of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.fuzz.coverage import Coverage
from tests.fuzz.loop import Fuzzer
from tests.fuzz.shrink import shrink
from tests.fuzz.target import Target, claim


def _planted(data: bytes) -> object:
    claim(data.count(b"<loc>") < 3, "three locations: planted")
    if data.endswith(b"&"):
        raise KeyError(data)
    return len(data)


def _fuzzer(seed: int) -> Fuzzer:
    target = Target(
        "planted", lambda: [b"<url><loc>x</loc></url>"], [b"<loc>", b"&"], _planted, lambda size: [str(size)]
    )
    fuzzer = Fuzzer(target, seed, Coverage(), clock=False)
    fuzzer.begin()
    fuzzer.run(2_000)
    return fuzzer


def test_planted_faults_are_found_and_made_small() -> None:
    """A broken oracle and an exception are two findings, each with the least input that shows it."""
    found = {finding.kind.partition(" (")[0]: finding.data for finding in _fuzzer(1).findings.values()}

    assert found == {"oracle: three locations": b"<loc>" * 3, "KeyError in _planted": b"&"}


def test_a_seed_is_a_run() -> None:
    """One seed gives the same inputs, kept and counted; another gives others."""
    one, same, other = _fuzzer(1), _fuzzer(1), _fuzzer(2)

    assert one.corpus == same.corpus
    assert one.corpus != other.corpus


def test_shrinking_keeps_what_is_asked_for() -> None:
    """Everything goes but the bytes that make it so; a limit on the questions is kept."""
    asked = []

    def has_both(data: bytes) -> bool:
        asked.append(data)
        return b"a" in data and b"z" in data

    assert shrink(b"xxxaxxxxxxxzxxx", has_both, 500) == b"az"
    asked.clear()
    shrink(b"a" * 500 + b"z", has_both, 7)
    assert len(asked) == 7


def test_the_readers_stand_a_slice(tmp_path: Path) -> None:
    """Some hundred inputs for every reader, in a process of its own, because it puts the coverage in on import."""
    command = [sys.executable, "-m", "tests.fuzz", "--inputs", "400", "--out", str(tmp_path)]

    ran = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.endswith("0 findings\n")
    assert len(list((tmp_path / "corpus").iterdir())) == 8
    rows = [line.split() for line in ran.stdout.splitlines()[:-1]]
    assert all(int(row[1]) >= 400 and int(row[4]) > 20 for row in rows), "the coverage saw nothing"
