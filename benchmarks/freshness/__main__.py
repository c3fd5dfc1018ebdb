"""`python -m benchmarks.freshness`: the schedules side by side; prints the tables, draws the plots.

With `--write` the tables go into docs/scheduling.md and the plots beside it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.freshness.compare import compare, curves
from benchmarks.freshness.report import months, plot, replace_between, table
from benchmarks.freshness.workload import WORKLOADS

DOCS = Path(__file__).parents[2] / "docs"
BUILD = Path(__file__).parents[2] / "build" / "freshness"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.freshness", description=__doc__)
    parser.add_argument("--sites", type=int, default=10_000, help="sites in each workload (default 10,000)")
    parser.add_argument("--days", type=float, default=180.0, help="simulated days (default 180)")
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same table (default 7)")
    parser.add_argument("--workload", choices=sorted(WORKLOADS), action="append", help="only these (default all)")
    parser.add_argument("--write", action="store_true", help="write into docs/scheduling.md and docs/scheduling/")
    chosen = parser.parse_args()

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    names = chosen.workload or list(WORKLOADS)
    results = [compare(name, chosen.sites, chosen.days, chosen.seed, say) for name in names]
    text = "\n\n".join(table(result) for result in results)
    print(text)
    folder = DOCS / "scheduling" if chosen.write else BUILD
    folder.mkdir(parents=True, exist_ok=True)
    for result in results:
        slug = result.workload.replace(" ", "-")
        series = curves(result.workload, min(1_000, chosen.sites), min(chosen.days, 120.0), chosen.seed)
        drawing = plot(f"{result.workload.capitalize()}: freshness bought with crawls", "crawls a day and site", series)
        (folder / f"{slug}-crawls.svg").write_text(drawing, "utf-8")
        drawing = plot(f"{result.workload.capitalize()}: month by month at the same budget", "month", months(result))
        (folder / f"{slug}-months.svg").write_text(drawing, "utf-8")
    if chosen.write:
        replace_between(DOCS / "scheduling.md", "<!-- freshness: start -->", "<!-- freshness: end -->", text)
    say(f"plots are in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
