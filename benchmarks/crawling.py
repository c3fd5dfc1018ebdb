"""Full crawls of the made-up site: ours and the peers', in turn, on one server."""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.environments import python_of
from benchmarks.process import ROOT, Ran, control, measured, run, serving
from benchmarks.table import Table, figure

PEERS_FOLDER = ROOT / "benchmarks" / "peers"
LATENCY_MS = 50
CONNECTIONS = 16


def peer(environment: str, script: str, origin: str, pages: int, *more: str) -> Ran:
    return run(measured([python_of(environment), PEERS_FOLDER / script, origin, str(pages), *more]))


def ours(origin: str, pages: int, mode: str = "crawl") -> Ran:
    return run(measured([sys.executable, "-m", "benchmarks.ours", mode, origin, str(pages)]))


CRAWLERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "Scrapy": ("scrapy", "scrapy_crawl.py", ()),
    "Scrapy, tuned": ("scrapy", "scrapy_crawl.py", ("--tuned",)),
    "Crawlee": ("crawlee", "crawlee_crawl.py", ()),
    "Crawlee, tuned": ("crawlee", "crawlee_crawl.py", ("--tuned",)),
    "httpx + lxml": ("stack", "httpx_lxml.py", ()),
    "uvloop + httptools + lexbor": ("floor", "floor.py", ()),
}


@dataclass
class Crawls:
    """Each crawler's runs, ours beside each of them."""

    pages: int
    runs: dict[str, list[Ran]] = field(default_factory=dict)
    ratios: dict[str, list[float]] = field(default_factory=dict)

    def rate(self, name: str) -> float:
        return float(statistics.median(ran.said["pages"] / ran.said["seconds"] for ran in self.runs[name]))

    def cpu_ms(self, name: str) -> float:
        return float(statistics.median(ran.said["cpu"] / ran.said["pages"] * 1000 for ran in self.runs[name]))

    def megabytes(self, name: str) -> float:
        return statistics.median(ran.megabytes for ran in self.runs[name])

    def ratio(self, name: str) -> float:
        return statistics.median(self.ratios[name])

    def rows(self) -> str:
        lines = ["| crawler | pages a second | CPU ms a page | peak MB |", "|---|---:|---:|---:|"]
        lines += [
            f"| {name} | {figure(self.rate(name))} | {figure(self.cpu_ms(name))} | {figure(self.megabytes(name))} |"
            for name in sorted(self.runs, key=self.rate, reverse=True)
        ]
        return "\n".join(lines)


def crawl_all(pages: int, rounds: int) -> Crawls:
    """Pairs of one crawler and ours, so that a busy moment of the machine meets both."""
    found = Crawls(pages, {"ours": []})
    with serving("--pages", str(pages)) as origin:
        wanted = control(origin, "__stats")["answers"]
        for _ in range(rounds):
            for name, (environment, script, more) in CRAWLERS.items():
                theirs = peer(environment, script, origin, pages, *more)
                own = ours(origin, pages)
                for who, ran in ((name, theirs), ("ours", own)):
                    if ran.said["answers"] != wanted:
                        raise AssertionError(f"{who} found something else than the site has: {ran.said}")
                    found.runs.setdefault(who, []).append(ran)
                found.ratios.setdefault(name, []).append(theirs.said["seconds"] / own.said["seconds"])
    return found


def fill(table: Table, found: Crawls) -> None:
    what = "full crawl, pages a second, times"
    targets = {"Scrapy": 10.0, "Scrapy, tuned": 3.0, "Crawlee": 6.0, "Crawlee, tuned": 2.0}
    for name, target in (*targets.items(), ("uvloop + httptools + lexbor", 0.4)):
        less = found.cpu_ms(name) / found.cpu_ms("ours")
        detail = f"{figure(found.rate('ours'))} against {figure(found.rate(name))} pages/s; in CPU {figure(less)} ×"
        table.at_least(f"{what} {name}", target, found.ratio(name), "×", detail)
    table.at_least(f"{what} spider-rs", 1.2, None, "×", "no wheel, no peer")
    share = found.megabytes("ours") / found.megabytes("Scrapy")
    detail = f"{figure(found.megabytes('ours'))} against {figure(found.megabytes('Scrapy'))} MB"
    table.at_most("full crawl, peak memory, share of Scrapy's", 0.4, share, "×", detail)


def growth(table: Table, pages: tuple[int, int]) -> None:
    few, many = pages
    with serving("--pages", str(many)) as origin:
        small, large = ours(origin, few), ours(origin, many)
    grown = (large.megabytes - small.megabytes) / (many - few) * 1000
    detail = f"{figure(small.megabytes)} MB at {few:,} pages, {figure(large.megabytes)} MB at {many:,}"
    table.at_most("full crawl, growth per 1,000 pages", 3.0, grown, "MB", detail)


def latency(table: Table, pages: int, rounds: int) -> None:
    """What of `connections ÷ latency` is reached, robots.txt, sitemaps and probes of twins counted as answers."""
    ideal = CONNECTIONS * 1000 / LATENCY_MS
    with serving("--pages", str(pages), "--latency-ms", str(LATENCY_MS)) as origin:
        own, floor = [], []
        for _ in range(rounds):
            ran = ours(origin, pages).said
            own.append(ran["requests"] / ran["seconds"] / ideal)
            ran = peer("floor", "floor.py", origin, pages).said
            floor.append(pages / ran["seconds"] / ideal)
    detail = f"of {ideal:.0f} answers a second; the floor reaches {statistics.median(floor):.0%} beside it"
    table.at_least("full crawl with 50 ms a response", 90.0, 100 * statistics.median(own), "%", detail)


def command_line(table: Table, pages: int, folder: Path, rounds: int) -> None:
    """Process start to file, as a person starts it, against the specification's stack."""
    with serving("--pages", str(pages)) as origin:
        out = folder / "llms.txt"
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "runtime",
            "--home",
            folder / "home",
            "--allow-private",
            "--rate",
            "0",
        ]
        command += ["crawl", origin, "--max-pages", str(pages), "-o", out]
        own = [run(measured(command), reads_json=False) for _ in range(rounds)]
        theirs = peer("stack", "naive.py", origin, pages)
    assert out.stat().st_size > pages
    seconds = statistics.median(ran.seconds for ran in own)
    detail = f"{figure(seconds)} s against {figure(theirs.seconds)} s"
    table.at_least(
        "`crawl`, process start to file, times httpx + BeautifulSoup", 12.0, theirs.seconds / seconds, "×", detail
    )
    table.at_most("`crawl`, peak memory", 96.0, statistics.median(ran.megabytes for ran in own), "MB")


def recrawl(table: Table, pages: int) -> None:
    with serving("--pages", str(pages)) as origin:
        ran = ours(origin, pages, "recrawl")
    first, edited, quiet = ran.said["first"], ran.said["edited"], ran.said["quiet_again"]
    assert edited["outcome"] == "updated"
    assert quiet["outcome"] == "unchanged_sitemap"
    what = f"recrawl of {pages:,} pages after 10 edits"
    detail = f"CPU {1000 * edited['cpu']:.0f} ms against {1000 * first['cpu']:.0f} ms"
    table.at_most(f"{what}, requests", 30.0, edited["requests"], "", detail)
    table.at_most(f"{what}, share of a full crawl's bytes", 3.0, 100 * edited["bytes"] / first["bytes"], "%")
    detail = f"{quiet['bytes']} bytes, CPU {1000 * quiet['cpu']:.0f} ms"
    table.at_most("unchanged look, 5 sitemap documents and robots.txt, requests", 6.0, quiet["requests"], "", detail)
