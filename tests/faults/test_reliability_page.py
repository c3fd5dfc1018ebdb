"""docs/reliability.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/.]+\.\w+(?:::\w+)?)", PAGE)))


@pytest.mark.parametrize("name", NAMED)
def test_a_test_that_a_promise_names_is_there(name: str) -> None:
    """A promise whose test was renamed or removed is held by nothing."""
    path, _, function = name.partition("::")
    text = (ROOT / path).read_text("utf-8")
    assert not function or f"def {function}(" in text


def test_every_promise_names_a_test() -> None:
    """P1 to P16, each with a test."""
    rows = re.findall(r"^\| (P\d+) \|.*?`tests/", PAGE, re.MULTILINE)
    assert rows == [f"P{number}" for number in range(1, 17)]
