"""A tick with 100,000 due sites: the real dispatcher, its database calls and its messages, in a process of its own.

PostgreSQL is real (from a wheel). PostgREST and SQS are stand-ins in Python and share the machine, so the time is an
upper bound; what the dispatcher's process itself used is given beside it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

from benchmarks.process import Ran, measured, run
from benchmarks.table import Table

DUE = 100_000


def tick_alone(api: str, key: str, queue: str) -> None:
    """The child: what the dispatcher's Lambda does, with adapters at the given addresses. Prints one JSON object."""
    from runtime.aws.client import Sqs
    from runtime.dispatch import tick
    from runtime.ports import Publisher, States, Web, World
    from runtime.publish.opening import OnFirstUse
    from runtime.queues.sqs import SqsQueue
    from runtime.settings import Settings
    from runtime.sites.supabase import SupabaseSites

    told: dict[str, Any] = {}

    class Told:
        def event(self, name: str, **fields: Any) -> None:
            told[name] = fields

    def nothing() -> object:
        raise AssertionError("a tick neither crawls nor publishes")

    keys = {
        "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_ENDPOINT_URL": queue,
    }
    client = Sqs(keys, lambda: datetime.now(UTC))
    world = World(
        web=cast("Web", OnFirstUse(nothing)),
        sites=SupabaseSites(api, key),
        publisher=cast("Publisher", OnFirstUse(nothing)),
        states=cast("States", OnFirstUse(nothing)),
        queue=SqsQueue(client, f"{queue}/123456789012/work", events=Told()),
        events=Told(),
        clock=lambda: datetime.now(UTC),
        settings=Settings(claims_per_tick=DUE),
    )
    began = time.perf_counter()
    done = asyncio.run(tick(world, tick_id="bench", remaining_seconds=880))
    print(json.dumps({"total": done.total, "unqueued": done.unqueued, "seconds": time.perf_counter() - began}))


def dispatch(due: int) -> tuple[Ran, int]:
    """The child's run, and how many messages the queue got."""
    from benchmarks.claims import fill
    from benchmarks.cold import running
    from tests.stand_ins.postgres import running_postgres
    from tests.stand_ins.postgrest import running_postgrest, token

    with running_postgres() as postgres:
        name = postgres.create()
        fill(postgres.uri(name), rows=due, due=due)
        with running_postgrest(postgres.uri(name, user="authenticator")) as api, running() as services:
            command: Sequence[str] = [
                sys.executable,
                "-m",
                "benchmarks.dispatching",
                api.url,
                token("service_role"),
                services.url,
            ]
            ran = run(measured(command), timeout=400)
            return ran, services.messages


def fill_table(table: Table, *, quick: bool) -> None:
    due = DUE // 20 if quick else DUE
    ran, messages = dispatch(due)
    assert (ran.said["total"], ran.said["unqueued"], messages) == (due, 0, due), (ran.said, messages)
    seconds = ran.said["seconds"] * DUE / due
    detail = f"{due:,} sites, stand-ins on the same two cores; the dispatcher itself used {ran.cpu:.1f} s of CPU"
    table.at_most("dispatcher, 100,000 due", 60.0, seconds, "s", detail)
    table.at_most("dispatcher, peak memory", 512.0, ran.megabytes, "MB", f"with {due:,} sites")


if __name__ == "__main__":
    tick_alone(*sys.argv[1:4])
