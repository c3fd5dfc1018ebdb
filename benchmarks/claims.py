"""Claims under load, on a real PostgreSQL started from a wheel.

    python -m benchmarks.claims                    100,000 rows
    python -m benchmarks.claims --rows 1000000     the size of the promise

1. A claim of 100 sites from the big table against the same claim from one of 10,000 rows, in turn, in one run. The
   promise is that the big one takes at most twice as long; more, and the exit status is 1.
2. Claims of 100 per second with 1, 4 and 8 worker processes that drain all due sites, at the database and through
   HTTP (`SupabaseSites` and the PostgREST stand-in, which is Python and the bottleneck of that row).

The server keeps nothing on disk (fsync off) and shares the machine with its clients: compare figures of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier as BarrierType

import psycopg

from runtime.sites.supabase import SupabaseSites
from tests.stand_ins.postgres import Postgres, running_postgres
from tests.stand_ins.postgrest import running_postgrest, token

SMALL = 10_000
BATCH = 100
WORKERS = (1, 4, 8)
CLAIM = "SELECT jsonb_array_length(claim_due_sites(100, 600, 'bench', 1, 0))"

FILL = """
INSERT INTO crawl_sites (base_url, next_crawl_at)
SELECT 'https://s' || n || '.example', now() + make_interval(
    secs => CASE WHEN n <= %(due)s THEN -1 - random() * 86400 ELSE 60 + random() * 604800 END
) FROM generate_series(1, %(rows)s) n ON CONFLICT DO NOTHING
"""


def fill(uri: str, *, rows: int, due: int, analyze: bool = True) -> None:
    """Rows of as many hosts, `due` of them over the last day, the others within the next week."""
    with psycopg.connect(uri, autocommit=True) as owner:
        owner.execute(FILL, {"rows": rows, "due": due})
        if analyze:
            owner.execute("VACUUM ANALYZE crawl_sites")


def milliseconds(connection: psycopg.Connection) -> float:
    """One claim, undone again, so that every one meets the same table."""
    started = time.perf_counter()
    taken = connection.execute(CLAIM).fetchone()
    passed = time.perf_counter() - started
    connection.rollback()
    assert taken == (BATCH,), taken
    return passed * 1000


def compare(small: str, big: str, *, rounds: int) -> tuple[float, float]:
    """Medians of claims from either table, taken in turn."""
    with psycopg.connect(small) as first, psycopg.connect(big) as second:
        for connection in (first, second):
            for _ in range(8):
                milliseconds(connection)
        times = [(milliseconds(first), milliseconds(second)) for _ in range(rounds)]
    return statistics.median(time[0] for time in times), statistics.median(time[1] for time in times)


def drain_database(place: str, start: BarrierType, claims: multiprocessing.Queue[int]) -> None:
    with psycopg.connect(place, autocommit=True) as connection:
        start.wait()
        count = 0
        while (row := connection.execute(CLAIM).fetchone()) and row[0]:
            count += 1
    claims.put(count)


def drain_api(place: str, start: BarrierType, claims: multiprocessing.Queue[int]) -> None:
    async def drain() -> int:
        sites = SupabaseSites(place, token("service_role"), timeout_seconds=60)
        await sites.check()
        start.wait()
        count = 0
        while await sites.claim_due(limit=BATCH, lease_seconds=600, owner="bench"):
            count += 1
        sites.close()
        return count

    claims.put(asyncio.run(drain()))


Drain = Callable[[str, BarrierType, "multiprocessing.Queue[int]"], None]


def per_second(drain: Drain, place: str, workers: int) -> float:
    """Claims a second while `workers` processes take all that is due."""
    spawn = multiprocessing.get_context("spawn")
    start, claims = spawn.Barrier(workers + 1), spawn.Queue()
    processes = [spawn.Process(target=drain, args=(place, start, claims)) for _ in range(workers)]
    for process in processes:
        process.start()
    start.wait()
    began = time.perf_counter()
    total = float(sum(claims.get() for _ in processes))
    passed = time.perf_counter() - began
    for process in processes:
        process.join()
    return total / passed


@contextmanager
def freed(postgres: Postgres, database: str) -> Iterator[None]:
    """The table as it was before the block: every lease given back, every dead row gone."""
    yield
    postgres.execute(
        "UPDATE crawl_sites SET lease_owner = NULL, lease_until = NULL, attempts = 0 WHERE lease_owner IS NOT NULL",
        database=database,
    )
    postgres.execute("VACUUM ANALYZE crawl_sites", database=database)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=50)
    given = options.parse_args()
    with running_postgres() as postgres:
        small, big = postgres.create(), postgres.create()
        fill(postgres.uri(small), rows=SMALL, due=SMALL // 20)
        fill(postgres.uri(big), rows=given.rows, due=given.rows // 20)
        few, many = compare(postgres.uri(small), postgres.uri(big), rounds=given.rounds)
        print(
            f"claim of {BATCH}, ms: {few:.2f} of {SMALL:,} rows, {many:.2f} of {given.rows:,} rows: x {many / few:.2f}"
        )
        for workers in WORKERS:
            with freed(postgres, big):
                rate = per_second(drain_database, postgres.uri(big), workers)
            print(f"claims of {BATCH} per second, {workers} workers, at the database: {rate:.0f}")
        with running_postgrest(postgres.uri(big, user="authenticator")) as api:
            for workers in WORKERS:
                with freed(postgres, big):
                    rate = per_second(drain_api, api.url, workers)
                print(f"claims of {BATCH} per second, {workers} workers, through HTTP: {rate:.0f}")
    return int(many > 2 * few)


if __name__ == "__main__":
    sys.exit(main())
