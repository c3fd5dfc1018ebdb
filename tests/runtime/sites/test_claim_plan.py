"""How PostgreSQL finds due rows: by the partial index, reading what it hands out and no more, at any size."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from benchmarks.claims import fill
from tests.stand_ins.postgres import Postgres
from tests.stand_ins.postgrest import PostgrestServer

CLAIM = "SELECT jsonb_array_length(claim_due_sites(%s, 60, 'worker-1', 1, 0))"
TOUCHED = """
SELECT seq_scan, idx_scan, n_tup_upd FROM pg_stat_xact_user_tables WHERE relname = 'crawl_sites'
"""


def due_query(owner: psycopg.Connection) -> str:
    """The statement inside `claim_due_sites` that finds and locks due rows, with values for its variables."""
    row = owner.execute("SELECT prosrc FROM pg_proc WHERE proname = 'claim_due_sites'").fetchone()
    assert row is not None
    source = str(row[0])
    query = source.partition("with due as materialized (")[2].partition("), fleet as")[0]
    assert query.lstrip().startswith("select")
    values = {"v_due": "now()", "v_now": "now()", "v_full": "'{}'::text[]", "v_window": "100"}
    for name, value in values.items():
        query = query.replace(name, value)
    return query


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]


@pytest.mark.parametrize("rows", [20_000, 60_000])
def test_a_claim_reads_the_partial_index_and_only_what_it_takes(
    postgres: Postgres, project: tuple[str, PostgrestServer], rows: int
) -> None:
    """5 % of the rows are due; to claim a hundred of them, a hundred are read, whatever the table's size."""
    database, _ = project
    fill(postgres.uri(database), rows=rows, due=rows // 20)
    with psycopg.connect(postgres.uri(database)) as owner:
        owner.execute("SET LOCAL ROLE service_role")
        found = owner.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {due_query(owner)}").fetchone()
        assert found is not None
        plan = found[0][0]["Plan"]
        owner.rollback()

    assert [node["Node Type"] for node in nodes(plan)] == ["Limit", "LockRows", "Index Scan"]
    scan = nodes(plan)[-1]
    assert scan["Index Name"] == "idx_next_crawl"
    assert scan["Actual Rows"] == 100
    assert scan.get("Rows Removed by Filter", 0) == 0
    assert scan["Shared Hit Blocks"] + scan["Shared Read Blocks"] < 120


def test_the_function_itself_scans_no_table(postgres: Postgres, project: tuple[str, PostgrestServer]) -> None:
    """The whole call, as the service role runs it: index scans only, one update a claimed row."""
    database, _ = project
    fill(postgres.uri(database), rows=20_000, due=1_000)
    with psycopg.connect(postgres.uri(database)) as owner:
        owner.execute("SET LOCAL ROLE service_role")
        # Six calls: after five, PL/pgSQL may change to a plan that does not know the values.
        taken = [owner.execute(CLAIM, (100,)).fetchone() for _ in range(6)]
        owner.execute("RESET ROLE")
        touched = owner.execute(TOUCHED).fetchone()

    assert taken == [(100,)] * 6
    assert touched is not None
    assert touched[0] == 0
    assert touched[1] >= 6
    assert touched[2] == 600


def test_a_limit_is_kept_with_stale_statistics(postgres: Postgres, project: tuple[str, PostgrestServer]) -> None:
    """A table that grew since it was last looked at: five are asked for, five are leased, no other row is touched."""
    database, _ = project
    fill(postgres.uri(database), rows=100, due=100)
    fill(postgres.uri(database), rows=20_000, due=20_000, analyze=False)
    with psycopg.connect(postgres.uri(database), autocommit=True) as owner:
        assert owner.execute(CLAIM, (5,)).fetchone() == (5,)
        assert owner.execute("SELECT count(*) FROM crawl_sites WHERE lease_owner IS NOT NULL").fetchone() == (5,)


def test_rows_out_of_the_schedule_are_out_of_the_index(
    postgres: Postgres, project: tuple[str, PostgrestServer]
) -> None:
    """Thousands of sites that were given up do not lie in front of the due ones."""
    database, _ = project
    fill(postgres.uri(database), rows=20_000, due=20_000)
    with psycopg.connect(postgres.uri(database), autocommit=True) as owner:
        owner.execute("UPDATE crawl_sites SET status = 'disabled' WHERE base_url !~ '7\\.example$'")
        owner.execute("VACUUM ANALYZE crawl_sites")
        found = owner.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {due_query(owner)}").fetchone()
    assert found is not None
    scan = nodes(found[0][0]["Plan"])[-1]

    assert scan["Index Name"] == "idx_next_crawl"
    assert scan["Actual Rows"] <= 2_000
