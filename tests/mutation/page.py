"""docs/reliability.md: its parts that are made, its promises, and the tests that it names."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"


def part(name: str, text: str) -> str:
    """What stands between `<!-- made: name -->` and the next `<!-- end -->`; raises when the page has no such part."""
    found = _part(name).search(text)
    if found is None:
        raise ValueError(f"docs/reliability.md has no part {name!r}")
    return found[1]


def write(name: str, body: str) -> None:
    """Put `body` where the part is, and leave the rest of the page as it is."""
    text = PAGE.read_text("utf-8")
    part(name, text)
    block = f"<!-- made: {name} -->\n\n{body}\n\n<!-- end -->"
    PAGE.write_text(_part(name).sub(lambda _: block, text), "utf-8")


def _part(name: str) -> re.Pattern[str]:
    return re.compile(rf"<!-- made: {re.escape(name)} -->(.*?)<!-- end -->", re.DOTALL)


def origin(command: str) -> str:
    """Which tree was measured, when and how."""
    commit = _git("rev-parse", "--short", "HEAD")
    changed = " with local changes" if _git("status", "--porcelain", "--untracked-files=no") else ""
    return f"Commit {commit}{changed}, {datetime.now(UTC):%Y-%m-%d}, `{command}`."


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
