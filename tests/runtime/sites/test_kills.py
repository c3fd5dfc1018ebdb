"""Eight worker processes share two hundred sites, and are killed at random, on a real PostgreSQL with its own clock."""

from __future__ import annotations

import pytest

from tests.runtime.sites.fleet import Fleet
from tests.stand_ins.postgres import Postgres
from tests.stand_ins.postgrest import PostgrestServer, token

DUE = """
INSERT INTO crawl_sites (base_url, next_crawl_at)
SELECT 'https://s' || n || '.example', now() - interval '1 hour' FROM generate_series(1, %s) n
"""
LEFT = "SELECT count(*) FROM crawl_sites WHERE status = 'active' AND next_crawl_at <= now()"
LINES = "SELECT site_id, generation, outcome FROM crawl_runs"
ROWS = "SELECT id, generation, attempts, status, lease_owner, last_outcome FROM crawl_sites"

UNFENCED = ("not found or s.generation <> p_generation or s.lease_owner is distinct from p_owner", "not found")


class Site:
    """What the tables say of one site when all is done."""

    def __init__(self, row: tuple[object, ...], lines: list[tuple[object, ...]]) -> None:
        self.id, self.generation, self.attempts, self.status, self.lease_owner, self.last_outcome = row
        self.generations = [line[1] for line in lines if line[0] == self.id]
        self.updates = sum(line[0] == self.id and line[2] == "updated" for line in lines)


def read(postgres: Postgres, database: str) -> list[Site]:
    lines = postgres.rows(database, LINES)
    return [Site(row, lines) for row in postgres.rows(database, ROWS)]


def run(
    postgres: Postgres, project: tuple[str, PostgrestServer], fleet: Fleet, *, sites: int, kills: int
) -> list[Site]:
    database, _ = project
    postgres.execute(DUE, (sites,), database=database)
    fleet.run(lambda: postgres.rows(database, LEFT) == [(0,)], kills=kills)
    return read(postgres, database)


def prove(sites: list[Site], expected: int) -> list[Site]:
    """Every site was committed by exactly one worker, or three workers died on it and it says so. Gives the latter."""
    assert len(sites) == expected
    quarantined = [site for site in sites if site.status == "disabled"]
    for site in sites:
        assert len(site.generations) == len(set(site.generations)) == 1
        assert site.generations == [site.generation]
        assert site.lease_owner is None
        if site in quarantined:
            assert (site.attempts, site.last_outcome, site.updates) == (3, "failed", 0)
        else:
            assert (site.attempts, site.last_outcome, site.updates) == (0, "updated", 1)
    return quarantined


def test_killed_workers_lose_no_site_and_commit_none_twice(
    postgres: Postgres, project: tuple[str, PostgrestServer]
) -> None:
    """Each generation is committed at most once, and every site ends with one commit."""
    fleet = Fleet((project[1].url, token("service_role"), "2", "2", "0.1"))
    sites = run(postgres, project, fleet, sites=200, kills=12)
    quarantined = prove(sites, 200)

    assert fleet.kills == 12
    assert len(quarantined) <= 2 * 12 / 3, "each was in three dead hands"
    print(f"{fleet.kills} kills, {len(quarantined)} in quarantine; sites {dict(fleet.heard)}")


def test_a_lease_shorter_than_the_work_costs_work_and_nothing_else(
    postgres: Postgres, project: tuple[str, PostgrestServer]
) -> None:
    """Every first attempt outlives its lease: another worker takes over, and the late commit is refused."""
    fleet = Fleet((project[1].url, token("service_role"), "1", "40", "0.1", "late"))
    sites = run(postgres, project, fleet, sites=200, kills=3)
    quarantined = prove(sites, 200)

    in_dead_hands = 40 * fleet.kills
    assert fleet.heard["stale"] >= 200 - in_dead_hands
    print(f"{fleet.kills} kills, {len(quarantined)} in quarantine; sites {dict(fleet.heard)}")


def test_without_the_fence_sites_are_committed_twice(postgres: Postgres, project: tuple[str, PostgrestServer]) -> None:
    """The test of the test: with the fence taken out of `commit_run`, the proof above fails."""
    database, api = project
    [(source,)] = postgres.rows(database, "SELECT pg_get_functiondef('public.commit_run'::regproc)")
    assert UNFENCED[0] in str(source)
    postgres.execute(str(source).replace(*UNFENCED), database=database)
    postgres.execute("ALTER TABLE crawl_runs DROP CONSTRAINT crawl_runs_pkey", database=database)
    fleet = Fleet((api.url, token("service_role"), "1", "40", "0.1", "late"), size=4)
    sites = run(postgres, project, fleet, sites=40, kills=0)

    # The first worker's late commit went through as if the second one did not exist.
    with pytest.raises(AssertionError):
        prove(sites, 40)
    assert fleet.heard["stale"] == 0
