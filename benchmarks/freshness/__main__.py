"""`python -m benchmarks.freshness`: the schedules side by side; prints the tables, draws the plots.

With `--write` the tables go into docs/scheduling.md and the plots beside it; without, the plots go to build/freshness.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.freshness.compare import Comparison, compare, curves
from benchmarks.freshness.report import months, plot, table
from benchmarks.freshness.workload import WORKLOADS
from cdk.made import replace_part

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "scheduling.md"
BUILD = Path(__file__).parents[2] / "build" / "freshness"
CURVE_SITES, CURVE_DAYS = 150, 90.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.freshness", description=__doc__)
    parser.add_argument("--sites", type=int, default=10_000, help="sites in each workload (default 10,000)")
    parser.add_argument("--days", type=float, default=180.0, help="simulated days (default 180)")
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same table (default 7)")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="default one for each processor")
    parser.add_argument("--workload", choices=sorted(WORKLOADS), action="append", help="only these (default all)")
    parser.add_argument("--write", action="store_true", help="write into docs/scheduling.md and draw beside it")
    chosen = parser.parse_args()

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    with ProcessPoolExecutor(chosen.processes) as pool:
        for name in chosen.workload or list(WORKLOADS):
            result = compare(name, chosen.sites, chosen.days, chosen.seed, say, pool.map)
            series = curves(name, min(CURVE_SITES, chosen.sites), min(CURVE_DAYS, chosen.days), chosen.seed, pool.map)
            _show(name, result, series, write=chosen.write)
            say(f"{name}: done")
    return 0


def _show(name: str, result: Comparison, series: dict[str, list[tuple[float, float]]], *, write: bool) -> None:
    """Print a table, and put it and its plots where they belong."""
    text, slug = table(result), name.replace(" ", "-")
    print(f"## {name.capitalize()}\n\n{text}\n", flush=True)
    folder = DOCS if write else BUILD
    folder.mkdir(parents=True, exist_ok=True)
    crawls = plot(f"{name.capitalize()}: freshness bought with crawls", "crawls a day and site", series)
    (folder / f"scheduling-{slug}-crawls.svg").write_text(crawls, "utf-8")
    by_month = plot(f"{name.capitalize()}: month by month at the same budget", "month", months(result))
    (folder / f"scheduling-{slug}-months.svg").write_text(by_month, "utf-8")
    if write:
        body = f"{text}\n\n![Crawls](scheduling-{slug}-crawls.svg)\n\n![Months](scheduling-{slug}-months.svg)"
        PAGE.write_text(replace_part(PAGE.read_text("utf-8"), name, body), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
