"""Measures what docs/performance.md promises, and prints target and measured side by side.

    python -m benchmarks                 everything, some minutes
    python -m benchmarks --quick         a minute: smaller, each once
    python -m benchmarks --only crawl    rooms: crawl latency growth cli recrawl pages
                                         sitemaps tls cold asset dispatch money
    python -m benchmarks --write         and write the figures into docs/performance.md

Nothing here is a test: the machine is never quiet enough for that. Compare figures of one run only.
"""

from __future__ import annotations

import argparse
import platform
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import connecting, crawling, dispatching, money, plot, reading, starting
from benchmarks.process import ROOT, ChildFailed
from benchmarks.table import Table
from cdk.made import replace_part

PAGE = ROOT / "docs" / "performance.md"
CHART = ROOT / "docs" / "performance.svg"


class Bench:
    """One run. Each room fills lines of the table; one that cannot be measured here says so and the others go on."""

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self.folder, self.quick = folder, quick
        self.table = Table()
        self.crawls: crawling.Crawls | None = None
        self.missing: list[str] = []
        self.pages = 300 if quick else 1_000
        self.rounds = 1 if quick else 3

    def crawl(self) -> None:
        self.crawls = crawling.crawl_all(self.pages, self.rounds)
        crawling.fill(self.table, self.crawls)

    def latency(self) -> None:
        crawling.latency(self.table, self.pages, self.rounds)

    def growth(self) -> None:
        crawling.growth(self.table, (300, 600) if self.quick else (1_000, 3_000))

    def cli(self) -> None:
        crawling.command_line(self.table, self.pages, self.folder, self.rounds)

    def recrawl(self) -> None:
        crawling.recrawl(self.table, 1_000)

    def pages_room(self) -> None:
        reading.pages(self.table, self.folder, quick=self.quick)

    def sitemaps(self) -> None:
        reading.sitemaps(self.table, self.folder, quick=self.quick)

    def tls(self) -> None:
        connecting.fill_table(self.table)

    def cold(self) -> None:
        starting.doors(self.table, self.folder, rounds=2 if self.quick else 7)

    def asset(self) -> None:
        starting.size(self.table, self.folder)

    def dispatch(self) -> None:
        dispatching.fill_table(self.table, quick=self.quick)

    def money(self) -> None:
        money.fill_table(self.table)

    def rooms(self) -> dict[str, Callable[[], None]]:
        return {
            "crawl": self.crawl,
            "latency": self.latency,
            "growth": self.growth,
            "cli": self.cli,
            "recrawl": self.recrawl,
            "pages": self.pages_room,
            "sitemaps": self.sitemaps,
            "tls": self.tls,
            "cold": self.cold,
            "asset": self.asset,
            "dispatch": self.dispatch,
            "money": self.money,
        }

    def run(self, only: list[str]) -> None:
        for name, room in self.rooms().items():
            if only and name not in only:
                continue
            began = time.perf_counter()
            try:
                room()
            except (ChildFailed, OSError, subprocess.SubprocessError) as error:
                self.missing.append(f"{name}: {error}")
            print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)

    def report(self) -> str:
        parts = [self.table.markdown()]
        if self.crawls is not None:
            parts.append(self.crawls.rows())
        parts += [f"Not measured here: {text}" for text in self.missing]
        return "\n\n".join(parts)


def origin() -> str:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    cores = len(re.findall(r"^processor", Path("/proc/cpuinfo").read_text(), re.MULTILINE))
    load = Path("/proc/loadavg").read_text().split()[0]
    return (
        f"Commit {commit.stdout.strip()}, {time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, "
        f"{cores} cores, load {load} when it ended."
    )


def write(bench: Bench) -> None:
    """Put the figures between the marks of docs/performance.md, and draw the chart."""
    PAGE.write_text(replace_part(PAGE.read_text(), "figures", f"{origin()}\n\n{bench.report()}"))
    if bench.crawls is not None:
        rows = [(name, bench.crawls.rate(name), name == "ours") for name in bench.crawls.runs]
        CHART.write_text(plot.bars(f"Full crawl of {bench.crawls.pages:,} pages, pages a second", rows, ""))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--write", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), quick=given.quick)
        bench.run(given.only)
    print()
    print(bench.report())
    kept = [line.kept for line in bench.table.lines]
    print(f"\n{kept.count(True)} kept, {kept.count(False)} missed, {kept.count(None)} not measured. {origin()}")
    if given.write:
        write(bench)


if __name__ == "__main__":
    main()
