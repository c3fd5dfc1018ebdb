"""Every row of the fault matrix has a test that is named after it."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROWS = [json.loads(line) for line in (TESTS / "data/safety/fault_matrix.jsonl").read_text("utf-8").splitlines()]


def names() -> list[str]:
    """The names of all test functions of the suite."""
    found = []
    for path in TESTS.rglob("test_*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        found += [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return found


NAMES = names()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_row_has_a_test_of_its_name(row: dict[str, str]) -> None:
    """`F-02` is tested by a function whose name begins with `test_f_02`, or has `_f_02_` in it."""
    own = row["id"].lower().replace("-", "_")

    assert [name for name in NAMES if f"_{own}_" in f"{name}_"], f"{row['id']}: {row['fault']} ({row['inject']})"
