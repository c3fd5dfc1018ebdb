"""Huge trees of sitemaps cost a worker of twenty sites bounded memory, and are read as far as the bounds allow."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from runtime.settings import CrawlLimits
from tests.runtime.sitemap.huge import SITES

LIMITS = CrawlLimits()
GROWN_MB = 130
GROWN_OF = {"noise, 50 plain": 180}
"""Addresses that nothing can pack are held as they are, and once more when the state is written."""

WIRE_SLACK = 2_000_000
"""Bytes of the other sites, and of what is on its way when the bound is met."""

NAMES = (
    "usual, 20 gzip files",
    "white space, 50 plain",
    "noise, 50 plain",
    "a comment, 50 coded",
    "indexes of indexes",
    "50,000 children",
    "an index of itself",
)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured in /proc")


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    """What a worker, whose data may take 384 MB, says of each tree; each has a process of its own."""
    return {name: play(name) for name in NAMES}


def play(name: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.runtime.sitemap.huge", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_huge_tree_costs_bounded_memory_and_its_own_site_alone(results: dict[str, dict[str, Any]], name: str) -> None:
    """The files of all twenty sites are there; memory and bytes are bounded, whatever the tree holds."""
    found = results[name]
    assert found["files"] == SITES
    assert found["grown"] <= GROWN_OF.get(name, GROWN_MB)
    assert found["wire"] <= LIMITS.sitemap_wire_bytes_per_site + WIRE_SLACK
    assert found["documents"] <= LIMITS.sitemap_documents


def test_a_million_urls_are_read_whole(results: dict[str, dict[str, Any]]) -> None:
    """Twenty files of 50,000 URLs: 218 MB once inflated, and nothing is left out."""
    found = results["usual, 20 gzip files"]
    assert (found["complete"], found["documents"], found["entries"]) == (True, 21, 100_000)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("white space, 50 plain", "too many bytes on the wire"),
        ("noise, 50 plain", "would wait to be read"),
        ("a comment, 50 coded", "a tag or comment of more than"),
        ("indexes of indexes", "too many sitemaps in all"),
        ("50,000 children", "more than 500 entries"),
    ],
)
def test_what_was_left_out_is_said(results: dict[str, dict[str, Any]], name: str, reason: str) -> None:
    """The inventory is incomplete, so that nothing counts as removed, and the reason is among its problems."""
    assert not results[name]["complete"]
    assert any(reason in problem for problem in results[name]["problems"])
