"""Readers without a network: pages and sitemaps."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from benchmarks import files
from benchmarks.crawling import PEERS_FOLDER
from benchmarks.environments import python_of
from benchmarks.process import Ran, measured, run
from benchmarks.table import Table, figure


def own(mode: str, *names: Path) -> Ran:
    return run(measured([sys.executable, "-m", "benchmarks.our_reader", mode, *names]))


def theirs(environment: str, script: str, *arguments: str | Path) -> Ran:
    return run(measured([python_of(environment), PEERS_FOLDER / script, *arguments]))


def pages(table: Table, folder: Path, *, quick: bool) -> None:
    saved = files.pages(folder, 20 if quick else 60)
    peers = ("bs4", "parsel") if quick else ("bs4", "parsel", "trafilatura")
    ours = own("pages", saved).said
    found = {
        name: theirs("trafilatura" if name == "trafilatura" else "stack", "extract.py", saved, name).said
        for name in peers
    }
    for what in ("titles", "links"):
        assert all(said[what] == ours[what] for said in found.values()), f"the readers disagree about the {what}"
    shown = ", ".join(f"{name} {figure(said['ms'])}" for name, said in found.items())
    detail = f"CPU ms a page of 32 KB: ours {figure(ours['ms'])}, {shown}"
    table.at_least("page extraction, times BeautifulSoup", 30.0, found["bs4"]["ms"] / ours["ms"], "×", detail)
    table.at_least("page extraction, times parsel", 1.4, found["parsel"]["ms"] / ours["ms"], "×", "ours reads far more")


def sitemaps(table: Table, folder: Path, *, quick: bool) -> None:
    one, packed = files.sitemaps(folder, 4 if quick else 20)
    what = "50,000-URL sitemap, changed"
    rounds = 1 if quick else 3
    for name, peer, environment, target in (
        ("Scrapy's reader", "scrapy", "scrapy", 8.0),
        ("ultimate-sitemap-parser", "usp", "usp", 20.0),
    ):
        pairs = [(own("sitemap", one), theirs(environment, "sitemap_reader.py", peer, one)) for _ in range(rounds)]
        assert all(
            ours.said["urls"] == other.said["urls"] and ours.said["newest"] == other.said["newest"]
            for ours, other in pairs
        )
        ratio = statistics.median(other.said["cpu"] / ours.said["cpu"] for ours, other in pairs)
        ours, other = pairs[0]
        detail = f"CPU {1000 * ours.said['cpu']:.0f} against {1000 * other.said['cpu']:.0f} ms"
        table.at_least(f"{what}, times {name}", target, ratio, "×", detail)
    table.at_most(f"{what}, peak memory", 45.0, ours.megabytes, "MB")
    pairs = [(own("sitemap", *packed), theirs("scrapy", "sitemap_reader.py", "scrapy", *packed)) for _ in range(rounds)]
    assert all(ours.said["urls"] == other.said["urls"] for ours, other in pairs)
    ratio = statistics.median(other.said["cpu"] / ours.said["cpu"] for ours, other in pairs)
    index, other = pairs[0]
    detail = f"CPU {figure(index.said['cpu'])} against {figure(other.said['cpu'])} s"
    what = f"index of {len(packed)} × 50,000 URLs, gzip"
    table.at_least(f"{what}, times Scrapy's reader", 8.0, ratio, "×", detail)
    table.at_most(f"{what}, peak memory", 64.0, index.megabytes, "MB")
    same = own("same", one).said
    detail = f"{1000 * same['cpu']:.1f} against {1000 * same['floor']:.1f} ms"
    table.at_most("50,000 URLs, unchanged, times inflate + SHA-256", 2.0, same["cpu"] / same["floor"], "×", detail)
