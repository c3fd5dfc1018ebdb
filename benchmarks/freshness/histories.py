"""Real change histories: the days on which packages of a Debian system changed, as their changelogs date them.

`python -m benchmarks.freshness.histories` reads `/usr/share/doc/*/changelog*.gz` and writes `histories.json` anew. Only
the dates are taken, one for a day, as the first day since 1970 and the steps from each to the next.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path

from runtime.models import EPOCH

FILE = Path(__file__).with_name("histories.json")
DOCS = Path("/usr/share/doc")

LEAST_CHANGES, LEAST_DAYS, LATEST_DAYS = 12, 730, 5_479
"""Of each history the last 15 years count; one of fewer changes, or shorter than two years, is left out."""

_DEBIAN = re.compile(r"^ -- .+>  (\w{3}, +\d{1,2} \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4})", re.MULTILINE)
_GNU = re.compile(r"^(\d{4}-\d\d-\d\d)  \S", re.MULTILINE)
_GIT = re.compile(r"^Date:   \w{3} (\w{3} \d{1,2} [\d:]{8} \d{4}) [+-]\d{4}$", re.MULTILINE)


def days_of(text: str) -> list[int]:
    """The days (since 1970) that a Debian changelog, a GNU ChangeLog or a git log dates, in order, each once."""
    times = [parsedate_to_datetime(date) for date in _DEBIAN.findall(text)]
    days = {int(time.timestamp() // 86_400) for time in times}
    named = [(date, "%Y-%m-%d") for date in _GNU.findall(text)]
    named += [(date, "%b %d %H:%M:%S %Y") for date in _GIT.findall(text)]
    for date, form in named:
        try:
            days.add((datetime.strptime(date, form).replace(tzinfo=UTC) - EPOCH).days)
        except ValueError:
            continue  # 2009-02-30 is no day
    return sorted(day for day in days if day > 0)


def extract(docs: Path) -> dict[str, list[int]]:
    """The histories of all packages below a folder; packages built from one source have one."""
    found: dict[tuple[int, ...], str] = {}
    for path in sorted(docs.glob("*/changelog*.gz")):
        days = days_of(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
        days = [day for day in days if days[-1] - day <= LATEST_DAYS]
        if len(days) >= LEAST_CHANGES and days[-1] - days[0] >= LEAST_DAYS:
            found.setdefault(tuple(days), f"{path.parent.name}/{path.name.removesuffix('.gz')}")
    return {name: list(days) for days, name in found.items()}


def packed(histories: dict[str, list[int]]) -> str:
    """One history a line: the first day, and the steps."""
    steps = {name: [days[0], *(two - one for one, two in pairwise(days))] for name, days in histories.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(numbers, separators=(',', ':'))}" for name, numbers in steps.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


@lru_cache(maxsize=1)
def load() -> tuple[tuple[int, ...], ...]:
    """The stored histories, as days since 1970."""
    stored: dict[str, list[int]] = json.loads(FILE.read_text("utf-8"))
    return tuple(tuple(accumulate(steps)) for steps in stored.values())


def main() -> int:
    histories = extract(DOCS)
    FILE.write_text(packed(histories), "utf-8")
    changes = sum(map(len, histories.values()))
    print(f"{len(histories)} histories, {changes} changes, {FILE.stat().st_size} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
