"""docs/reliability.md: its parts that are made, its promises, and the tests that it names."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from cdk.made import part_of, replace_part

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"


def part(name: str) -> str:
    """What a part of the page has."""
    return part_of(PAGE.read_text("utf-8"), name)


HEADER = ("| taken out | in | the test that fails first |", "|---|---|---|")


def rows_of(table: str) -> dict[str, str]:
    """The rows of the table of mutants, by what was taken out."""
    rows = [line for line in table.splitlines() if line.startswith("| ") and " | `" in line]
    return {row.split(" | ")[0].removeprefix("| "): row for row in rows}


def write(name: str, body: str) -> None:
    """Put `body` where the part is, and leave the rest of the page as it is."""
    PAGE.write_text(replace_part(PAGE.read_text("utf-8"), name, body), "utf-8")


def origin(command: str) -> str:
    """Which tree was measured, when and how."""
    commit = _git("rev-parse", "--short", "HEAD")
    changed = " with local changes" if _git("status", "--porcelain", "--untracked-files=no") else ""
    return f"Commit {commit}{changed}, {datetime.now(UTC):%Y-%m-%d}, `{command}`."


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
