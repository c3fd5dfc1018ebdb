"""The price of a crawl that turns a budget in dollars into one in crawls."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.money import Visit, visit_cost
from cdk.config import load_stage
from runtime.settings import CRAWL_MICRO_USD

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


def test_a_crawl_costs_what_was_measured() -> None:
    """The published figures of a visit that finds a change, at list prices, come to the constant within a quarter."""
    measured = re.search(r"a changed one (\d+) ms(?: of CPU)? and (\d+)", PAGE.read_text("utf-8"))
    assert measured is not None
    visit = Visit(int(measured[1]) / 1_000, int(measured[2]), 2, 3)
    config = load_stage({})
    cost = visit_cost(
        visit,
        visit,
        gigabytes=config.worker_memory_mb / 1_024,
        batch=config.worker_batch_size,
        architecture=config.architecture,
    )

    assert 0.75 <= cost * 1e6 / CRAWL_MICRO_USD <= 1.25
