"""The long runs: killed workers, readers during publishing, fuzzed webhooks, anything in any order. Each ends with 1 if a
promise was broken.

python -m tests.soak                            all of them
python -m tests.soak kills cloud --minutes 20   some, each within a total time; what did not fit is counted
python -m tests.soak --write                    and the results into docs/reliability.md
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from tests.faults.test_state_machine import explore
from tests.faults.workers import running_workers
from tests.mutation.page import origin, write
from tests.safety.fuzz_webhook import fuzz
from tests.soak.kills import Tally, soak_kills, soak_kills_in_the_cloud
from tests.soak.readers import soak_readers

Result = tuple[str, dict[str, Any], list[str]]
"""A sentence of the page, the numbers, and what went wrong."""


def _told(tally: Tally, sites: int, where: str) -> Result:
    sentence = (
        f"{where}: {tally.runs} runs of {sites} sites, {tally.killed} workers killed and {tally.stopped} stopped beyond "
        f"their lease; {tally.commits:,} sites committed once, {len(tally.problems)} promises broken; "
        f"{tally.unserved} runs did not fit into the time; {tally.seconds:.0f} s."
    )
    return sentence, asdict(tally), tally.problems


def kills(given: argparse.Namespace) -> Result:
    with running_workers() as workers:
        tally = soak_kills(workers, sites=given.sites, seeds=given.seeds, until=_until(given))
    return _told(tally, given.sites, "SQLite and folders")


def cloud(given: argparse.Namespace) -> Result:
    with running_workers() as workers:
        tally = soak_kills_in_the_cloud(workers, sites=given.cloud_sites, seeds=given.cloud_seeds, until=_until(given))
    return _told(tally, given.cloud_sites, "PostgreSQL and an S3-compatible server")


def readers(given: argparse.Namespace) -> Result:
    views = [
        soak_readers(kind, publishes=given.publishes, readers=given.readers, until=_until(given))
        for kind in ("folder", "s3")
    ]
    parts = [
        f"{view.kind}: {view.publishes} publishes, {view.killed} of them killed under way, {view.reads:,} reads "
        f"({view.old:,} of the old file, {view.new:,} of the new one), {len(view.problems)} broken; {view.seconds:.0f} s"
        for view in views
    ]
    problems = [problem for view in views for problem in view.problems]
    return "; ".join(parts) + ".", {view.kind: asdict(view) for view in views}, problems


def webhook(given: argparse.Namespace) -> Result:
    started = time.monotonic()
    statuses, problems, slowest = asyncio.run(fuzz(given.calls, given.seed))
    seconds = time.monotonic() - started
    found = ", ".join(f"{count:,} × {status}" for status, count in sorted(statuses.items()))
    sentence = (
        f"{given.calls:,} fuzzed calls: {found}; {len(problems)} problems, the slowest answer took "
        f"{slowest * 1000:.0f} ms; {seconds:.0f} s."
    )
    return sentence, {"statuses": dict(statuses), "slowest": slowest, "seconds": seconds}, problems


def orders(given: argparse.Namespace) -> Result:
    minutes, started, problems, steps = min(given.minutes, given.order_minutes), time.monotonic(), [], 0
    try:
        steps = explore(minutes)
    except AssertionError as error:
        problems.append(str(error))
    seconds = time.monotonic() - started
    sentence = f"{steps:,} steps in random orders, {len(problems)} promises broken; {seconds:.0f} s."
    return sentence, {"steps": steps, "seconds": seconds}, problems


PARTS: dict[str, Callable[[argparse.Namespace], Result]] = {
    "kills": kills,
    "cloud": cloud,
    "readers": readers,
    "webhook": webhook,
    "orders": orders,
}


def _until(given: argparse.Namespace) -> float:
    return time.monotonic() + 60 * float(given.minutes)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("parts", nargs="*", default=[], metavar="part", help=", ".join(PARTS))
    parser.add_argument("--minutes", type=float, default=120, help="for each part")
    for name, default in (("sites", 200), ("seeds", 20), ("cloud-sites", 20), ("cloud-seeds", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in (("publishes", 100), ("readers", 1_000), ("calls", 1_000_000), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--order-minutes", type=float, default=10, help="for the part that never ends by itself")
    parser.add_argument("--write", action="store_true", help="write the results into docs/reliability.md")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    broken = 0
    for name in given.parts or PARTS:
        sentence, numbers, problems = PARTS[name](given)
        broken += len(problems)
        print(json.dumps({"part": name, **numbers}, default=str))
        print("\n".join([*problems[:20], sentence]), flush=True)
        if given.write:
            command = " ".join(["python -m tests.soak", *arguments])
            write(f"soak-{name}", f"{sentence} {origin(command)}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
