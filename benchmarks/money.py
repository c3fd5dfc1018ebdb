"""What one site costs a month, from measured unit costs, the template's sizes and list prices.

Weekly visits to a site of 50 pages, a quarter of which find a change. A worker takes a batch of sites and is billed for
the longer of two times: what its share of a CPU needs for all of them, and what the slowest of them waits.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.crawling import ours
from benchmarks.process import serving
from benchmarks.table import Table
from cdk import prices
from cdk.config import load_stage
from runtime.settings import CrawlLimits

PAGES = 50
CHANGED = 0.25
VISITS = prices.DAYS_A_MONTH / 7
VCPU_PER_GB = 1 / 1.769
"""Lambda gives one vCPU for every 1,769 MB."""

LATENCY = 0.2
"""Seconds a real site takes to answer."""

SERIAL = 4
"""Answers that wait for each other: robots.txt, the sitemap index, its children, the entry page."""

LOG_GB = 3e-6


@dataclass(frozen=True)
class Visit:
    """One look at a site, as measured: CPU seconds and requests; and the objects read and written."""

    cpu: float
    requests: float
    reads: int
    writes: int

    @property
    def waits(self) -> float:
        return self.requests / CrawlLimits().requests_per_second + SERIAL * LATENCY


def visit_cost(visit: Visit, slowest: Visit, *, gigabytes: float, batch: int, architecture: str) -> float:
    """USD for one visit in a full batch whose slowest site is `slowest`."""
    seconds = max(visit.cpu / (gigabytes * VCPU_PER_GB), slowest.waits / batch)
    queue = 3 / 10 * prices.SQS_REQUEST  # sent, received and deleted in batches of ten
    objects = visit.reads * prices.S3_GET + visit.writes * prices.S3_PUT
    return (
        seconds * gigabytes * prices.GB_SECOND[architecture]
        + prices.LAMBDA_REQUEST / batch
        + queue
        + objects
        + LOG_GB * prices.LOGS_GB
    )


def measure() -> tuple[Visit, Visit]:
    """(unchanged, changed) on a site of 50 pages."""
    with serving("--pages", str(PAGES)) as origin:
        said = ours(origin, PAGES, "recrawl").said
    quiet, edited = said["quiet_again"], said["edited"]
    # Read: the state and the public file. Written after a change: version, public file, state.
    return Visit(quiet["cpu"], quiet["requests"], 2, 0), Visit(edited["cpu"], edited["requests"], 2, 3)


def fill_table(table: Table) -> None:
    config = load_stage({})
    gigabytes, batch = config.worker_memory_mb / 1024, config.worker_batch_size
    quiet, changed = measure()
    each = [
        visit_cost(visit, changed, gigabytes=gigabytes, batch=batch, architecture=config.architecture)
        for visit in (quiet, changed)
    ]
    month = VISITS * ((1 - CHANGED) * each[0] + CHANGED * each[1])
    floor = VISITS * ((1 - CHANGED) * quiet.cpu + CHANGED * changed.cpu) / VCPU_PER_GB * prices.GB_SECOND["arm64"]
    detail = (
        f"a quiet visit {1000 * quiet.cpu:.0f} ms of CPU and {quiet.requests:.0f} requests, a changed one "
        f"{1000 * changed.cpu:.0f} ms and {changed.requests:.0f}; CPU alone {floor:.7f} USD"
    )
    table.at_most("variable cost a site and month", 0.00005, month, "USD", detail)
