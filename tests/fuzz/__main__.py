"""`python -m tests.fuzz --minutes 10`: the readers against inputs that nobody wrote, guided by what they reach.

Prints a line a target and ends with `N findings`; each is shrunk and written to `build/fuzz`. The exit code is 1 if
there were any. `--inputs N` reads that many inputs a target instead, and two such runs with one seed are the same.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests.fuzz.coverage import Coverage
from tests.fuzz.loop import Finding, Fuzzer, digest
from tests.fuzz.target import Target

MODULES: Final = ("sitemaps", "codings", "robots", "pages", "documents", "addresses")
TURN: Final = 200
"""Inputs of one target before the next has its turn."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--inputs", type=int, help="inputs a target, instead of minutes; time is not judged then")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", help="only these targets")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--answers", type=Path, help="print a digest of the answers to the inputs in a folder")
    given = parser.parse_args(arguments)
    if given.answers:
        print(json.dumps(_answers(given.answers)))
        return 0
    coverage = Coverage()
    coverage.install()
    fuzzers = [
        Fuzzer(target, given.seed, coverage, clock=given.inputs is None)
        for target in targets()
        if not given.target or target.name in given.target
    ]
    _run(fuzzers, inputs=given.inputs, seconds=60 * given.minutes)
    findings = [finding for fuzzer in fuzzers for finding in fuzzer.findings.values()]
    findings += _other_hash_seeds(fuzzers, given.out / "corpus")
    for fuzzer in fuzzers:
        reached, rate = fuzzer.blocks.bit_count(), fuzzer.inputs / max(fuzzer.seconds, 1e-9)
        print(
            f"{fuzzer.target.name:9} {fuzzer.inputs:8} inputs {rate:7.0f}/s {reached:5} of {coverage.total} blocks "
            f"{len(fuzzer.corpus):5} kept {len(fuzzer.findings):3} findings"
        )
    for finding in findings:
        print(f"{finding.target}: {finding.kind}: {_write(given.out, finding)}")
    print(f"{len(findings)} findings")
    return 1 if findings else 0


def targets() -> list[Target]:
    """All targets. They import the readers, so the coverage has to be installed before."""
    modules = [importlib.import_module(f"tests.fuzz.{name}") for name in MODULES]
    return [target for module in modules for target in module.TARGETS]


def _run(fuzzers: list[Fuzzer], *, inputs: int | None, seconds: float) -> None:
    started = time.monotonic()
    for fuzzer in fuzzers:
        fuzzer.begin()
    left = inputs
    while left is None or left > 0:
        for fuzzer in fuzzers:
            if left is None and time.monotonic() - started >= seconds:
                return
            fuzzer.run(TURN if left is None else min(TURN, left))
        left = None if left is None else left - TURN


def _other_hash_seeds(fuzzers: list[Fuzzer], folder: Path) -> list[Finding]:
    """Processes with other hash seeds give the same answers to everything that was kept."""
    for fuzzer in fuzzers:
        kept = folder / fuzzer.target.name
        kept.mkdir(parents=True, exist_ok=True)
        for old in kept.iterdir():
            old.unlink()
        for at, data in enumerate(fuzzer.corpus):
            (kept / f"{at:06}").write_bytes(data)
    answers = []
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "tests.fuzz", "--answers", str(folder)]
        ran = subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": seed}, check=True, capture_output=True)
        answers.append(json.loads(ran.stdout))
    names = [
        fuzzer.target.name for fuzzer in fuzzers if answers[0][fuzzer.target.name] != answers[1][fuzzer.target.name]
    ]
    return [Finding(name, "the hash seed matters", b"", str(folder / name)) for name in names]


def _answers(folder: Path) -> dict[str, str]:
    found = {target.name: target for target in targets()}
    return {
        kept.name: digest(found[kept.name], [file.read_bytes() for file in sorted(kept.iterdir())])
        for kept in sorted(folder.iterdir())
    }


def _write(out: Path, finding: Finding) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{finding.target}-{hashlib.sha256(finding.kind.encode()).hexdigest()[:8]}"
    path.with_suffix(".bin").write_bytes(finding.data)
    path.with_suffix(".txt").write_text(
        f"{finding.kind}\n\n{finding.data!r}\n\n{finding.trace}", errors="backslashreplace"
    )
    return path.with_suffix(".bin")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
