"""Brings a Supabase project's schema up to date: `python -m runtime migrate`.

The same files and the same bookkeeping (`supabase_migrations.schema_migrations`) as `supabase db push`, so that either
can follow the other. Each file is one transaction: it is applied and noted, or neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.errors import CorruptState, Misconfigured, StoreDown

if TYPE_CHECKING:
    import psycopg

FOLDER = Path(__file__).resolve().parents[2] / "supabase" / "migrations"
LOCK = 7_266_219_041_250_336_905
"""An advisory lock of our own, so that two operators do not migrate at once."""

HISTORY = """
CREATE SCHEMA IF NOT EXISTS supabase_migrations;
CREATE TABLE IF NOT EXISTS supabase_migrations.schema_migrations (
    version text PRIMARY KEY, statements text[], name text
);
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file, `<version>_<name>.sql`."""

    version: str
    name: str
    sql: str

    @property
    def title(self) -> str:
        return f"{self.version}_{self.name}"


def migrations(folder: Path = FOLDER) -> list[Migration]:
    """The files in order of their versions.

    :raises Misconfigured: there are none: the program was installed without its schema.
    """
    found = []
    for path in sorted(folder.glob("*.sql")):
        version, _, name = path.stem.partition("_")
        found.append(Migration(version, name, path.read_text(encoding="utf-8")))
    if not found:
        raise Misconfigured(f"{folder} has no migrations: run this from the project's folder", code="no_migrations")
    return found


def silent(_line: str) -> None:
    """For who does not care what is applied."""


def migrate(
    database_url: str,
    *,
    apply: bool,
    report: Callable[[str], None] = silent,
    folder: Path = FOLDER,
) -> list[Migration]:
    """The migrations that the database lacks, applied if asked for; `report` gets one line a file.

    `database_url` is the direct or session-pooler connection string of the project, as its owner (`postgres`).

    :raises Misconfigured: the URL, the password or the rights are wrong, psycopg is not installed, or a file does not
        apply: then that file and those after it have changed nothing.
    :raises StoreDown: the database does not answer.
    :raises CorruptState: the database has a migration that is newer than one it lacks.
    """
    try:
        import psycopg
    except ImportError:
        raise Misconfigured(
            "psycopg is needed to migrate: pip install 'psycopg[binary]'", code="missing_psycopg"
        ) from None
    failure: Misconfigured | StoreDown
    try:
        with psycopg.connect(database_url, autocommit=True, connect_timeout=10) as owner:
            return _run(owner, migrations(folder), apply=apply, report=report)
    except psycopg.OperationalError as error:
        failure = _unreachable(error.sqlstate)
    except psycopg.ProgrammingError as error:
        failure = Misconfigured(
            f"the database URL cannot be used, or its user may not do this ({error.sqlstate or 'no code'}): use the "
            "connection string of the user postgres from the project's dashboard",
            code="store_url_wrong",
        )
    raise failure


def _run(
    owner: psycopg.Connection, wanted: Sequence[Migration], *, apply: bool, report: Callable[[str], None]
) -> list[Migration]:
    if not apply:
        missing = _missing(wanted, _applied(owner))
        for migration in missing:
            report(f"would apply {migration.title}")
        return missing
    owner.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
    owner.execute(HISTORY)
    missing = _missing(wanted, _applied(owner))
    for migration in missing:
        _apply(owner, migration)
        report(f"applied {migration.title}")
    return missing


def _applied(owner: psycopg.Connection) -> set[str]:
    there = owner.execute("SELECT to_regclass('supabase_migrations.schema_migrations') IS NOT NULL").fetchone()
    if there is None or not there[0]:
        return set()
    return {str(row[0]) for row in owner.execute("SELECT version FROM supabase_migrations.schema_migrations")}


def _missing(wanted: Sequence[Migration], applied: set[str]) -> list[Migration]:
    missing = [migration for migration in wanted if migration.version not in applied]
    ours = [migration.version for migration in wanted if migration.version in applied]
    if missing and ours and missing[0].version < max(ours):
        raise CorruptState(
            f"the database lacks {missing[0].title} but has a later migration: compare "
            "supabase_migrations.schema_migrations with supabase/migrations before going on",
            code="migrations_out_of_order",
        )
    return missing


def _apply(owner: psycopg.Connection, migration: Migration) -> None:
    import psycopg

    failed: str | None = None
    try:
        with owner.transaction():
            owner.execute(migration.sql)
            owner.execute(
                "INSERT INTO supabase_migrations.schema_migrations (version, statements, name) VALUES (%s, %s, %s)",
                (migration.version, [migration.sql], migration.name),
            )
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        failed = error.sqlstate or "no code"
    if failed is not None:
        raise Misconfigured(
            f"{migration.title} does not apply to this database (SQLSTATE {failed}); nothing of it was kept: run "
            "the file in the project's SQL editor to see why",
            code="migration_failed",
        )


def _unreachable(code: str | None) -> Misconfigured | StoreDown:
    if (code or "").startswith("28"):
        return Misconfigured("the database refused the user or the password of its URL", code="store_key_refused")
    return StoreDown("the database does not answer: check the host and port of its URL, and that it is running")
