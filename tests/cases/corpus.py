"""The corpus of hard cases: what a case is, and how a folder of them is read and run.

A folder holds `cases.jsonl` (one case a line) and the input files it names; `tests/data/web/README.md` is the format.
An adapter module gives `OPS`: for each op a function from a `Case` to `got`, the answer of the product's own code.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One line of `cases.jsonl`, and the folder its files are in."""

    id: str
    kind: str
    op: str
    title: str
    input: dict[str, Any]
    expect: dict[str, Any]
    accept: tuple[dict[str, Any], ...]
    root: Path

    def read(self, name: str) -> bytes:
        """The bytes of a file named in the input, as on the wire."""
        return (self.root / name).read_bytes()


Op = Callable[[Case], Answer]

ADAPTERS = ("ops_sitemap", "ops_robots", "ops_http", "ops_html", "ops_format", "ops_crawl")


def load(root: Path | str, **want: str) -> Iterator[Case]:
    """The cases of a folder in file order; `want` narrows them: `load(root, kind="robots", op="match")`."""
    root = Path(root)
    for line in (root / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        if all(data[key] == value for key, value in want.items()):
            yield Case(
                id=data["id"],
                kind=data["kind"],
                op=data["op"],
                title=data["title"],
                input=data["input"],
                expect=data["expect"],
                accept=tuple(data.get("accept") or ()),
                root=root,
            )


def operations() -> dict[str, Op]:
    """The ops of every adapter module there is; an op nobody adapts, or whose adapter cannot be imported, fails."""
    found: dict[str, Op] = {}
    for name in ADAPTERS:
        if importlib.util.find_spec(f"tests.cases.{name}"):
            try:
                found |= importlib.import_module(f"tests.cases.{name}").OPS
            except ImportError as error:
                print(f"{name}: {error}", file=sys.stderr)
    return found


def run(case: Case, ops: dict[str, Op]) -> Answer:
    """The product's answer, with the seconds and the growth of the peak memory it took.

    An exception becomes `{"exception": ...}`, which no case accepts.
    """
    op = ops.get(case.op)
    if op is None:
        return {"exception": f"LookupError: no adapter for op {case.op!r}"}
    peak, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    try:
        got = dict(op(case))
    except Exception as error:  # noqa: BLE001 - whatever escapes is the finding
        return {"exception": f"{type(error).__name__}: {error}"}
    got.setdefault("seconds", time.perf_counter() - started)
    got.setdefault("rss_growth_mb", (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024)
    return got
