"""The stores of the contract suite, each with a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from runtime.sites.sqlite import SqliteSites
from runtime.sites.supabase import SupabaseSites
from tests.runtime.sites.store import START, Store
from tests.stand_ins.postgres import Postgres, running_postgres
from tests.stand_ins.postgrest import PostgrestServer, running_postgrest, token


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for the whole run."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def frozen(postgres: Postgres) -> Iterator[tuple[str, PostgrestServer]]:
    """A migrated database whose clock stands still, and the API in front of it."""
    database = postgres.create(frozen_clock=True)
    with running_postgrest(postgres.uri(database, user="authenticator")) as api:
        yield database, api


@pytest.fixture
def project(postgres: Postgres) -> Iterator[tuple[str, PostgrestServer]]:
    """A migrated database of its own, with the real clock, and the API in front of it."""
    database = postgres.create()
    with running_postgrest(postgres.uri(database, user="authenticator")) as api:
        yield database, api
    postgres.drop(database)


@pytest.fixture(params=["sqlite", "supabase"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "sqlite":
        clock = [START]
        with SqliteSites(tmp_path / "sites.db", clock=lambda: clock[0]) as sites:
            yield Store("sqlite", sites, lambda at: clock.__setitem__(0, at))
        return
    server: Postgres = request.getfixturevalue("postgres")
    database, api = request.getfixturevalue("frozen")

    def move(at: datetime) -> None:
        server.execute("UPDATE public.test_clock SET at = %s", (at,), database=database)

    server.empty(database)
    move(START)
    remote = SupabaseSites(api.url, token("service_role"))
    yield Store("supabase", remote, move)
    remote.close()
