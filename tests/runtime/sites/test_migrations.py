"""The schema: from an empty project, from the specification's table with rows in it, and once more on top of itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest

from runtime.errors import CorruptState, Misconfigured, StoreDown
from runtime.models import MAX_DESC, MAX_INTERVAL, MAX_PAGES, SiteStatus
from runtime.sites.migrate import FOLDER, migrate, migrations
from runtime.sites.supabase import SCHEMA_VERSION, SupabaseSites
from tests.stand_ins.postgres import Postgres
from tests.stand_ins.postgrest import running_postgrest, token

SPECIFICATION = """
CREATE TABLE crawl_sites (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    base_url TEXT UNIQUE NOT NULL,
    max_pages INTEGER DEFAULT 50,
    desc_length INTEGER DEFAULT 500,
    recrawl_interval_minutes INTEGER DEFAULT 10080,
    last_crawled_at TIMESTAMP WITH TIME ZONE,
    last_changed_at TIMESTAMP WITH TIME ZONE,
    latest_llms_hash TEXT,
    latest_llms_url TEXT,
    sentinel_url TEXT,
    sentinel_last_modified TIMESTAMP WITH TIME ZONE,
    avg_change_interval_minutes FLOAT,
    next_crawl_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT NOW(),
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT NOW()
);
CREATE INDEX idx_next_crawl ON crawl_sites (next_crawl_at) WHERE next_crawl_at IS NOT NULL;
"""
"""The table as the specification document prints it."""

ROWS = """
INSERT INTO crawl_sites (base_url, max_pages, desc_length, recrawl_interval_minutes, last_crawled_at, last_changed_at,
    latest_llms_hash, latest_llms_url, sentinel_url, sentinel_last_modified, avg_change_interval_minutes, next_crawl_at)
VALUES ('https://full.example', 77, 300, 1440, '2026-11-01 08:00+00', '2026-10-01 08:00+02', repeat('a', 64),
    'https://pub.example/full.example/llms.txt', 'https://full.example/sitemap.xml', '2026-09-30', 1234.5,
    '2026-11-02 08:00+00');
INSERT INTO crawl_sites (base_url, max_pages, desc_length, recrawl_interval_minutes, created_at, updated_at)
VALUES ('https://nulls.example', NULL, NULL, NULL, NULL, NULL);
INSERT INTO crawl_sites (base_url, max_pages, desc_length, recrawl_interval_minutes, avg_change_interval_minutes)
VALUES ('https://wild.example', 1000000, 90000, 2000000000, -2130), ('https://zero.example', 0, 0, 0, 'NaN');
INSERT INTO crawl_sites (base_url, last_crawled_at, recrawl_interval_minutes)
VALUES ('https://unplanned.example', '2026-11-05 08:00+00', 60);
INSERT INTO crawl_sites (base_url, last_crawled_at, latest_llms_hash) VALUES
    ('https://Twice.Example/', '2026-10-01', 'older'), ('https://twice.example', '2026-11-01', 'newer'),
    ('HTTPS://twice.example:443', NULL, 'never'),
    ('https://once.example/Docs/', NULL, NULL), ('http://port.example:80/a/?q=1#f', NULL, NULL),
    ('http://port.example:8080/', NULL, NULL), ('example.com', NULL, NULL), ('', NULL, NULL),
    ('ftp://files.example/', NULL, NULL);
"""


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    name = postgres.create(migrated=False)
    yield name
    postgres.drop(name)


def columns(postgres: Postgres, database: str, base_url: str, names: str) -> tuple[Any, ...]:
    query = f"SELECT {names} FROM crawl_sites WHERE base_url = %s"  # noqa: S608 - names from this file
    (row,) = postgres.rows(database, query, (base_url,))
    return row


def test_the_files_are_named_as_the_supabase_command_line_expects() -> None:
    """`supabase db push` applies `<timestamp>_<name>.sql` in order; the last one writes the version the code wants."""
    assert all(re.fullmatch(r"\d{14}_\w+\.sql", path.name) for path in FOLDER.iterdir())
    written = re.findall(r"insert into public\.schema_version \(version\) values \((\d+)\)", migrations()[-1].sql)

    assert written == [str(SCHEMA_VERSION)]


RELEASED = {
    "20261202000001_crawl_sites.sql": "4ff085ae95bed31f7fce7d8e08d2c8924be84c330f5d0385f851b375e114c47e",
    "20261202000002_crawl_runs.sql": "b4a2ea7828cd02c0aaf22b165e7f551e15418cc7351d5952459b1755c91d0f1f",
    "20261202000003_enrolment.sql": "ea1479cfe20aa110b1733ef20ae8a7da417e56e0edd638c2f2c188cd39862999",
    "20261202000004_claims.sql": "9c61e6a96395b3d974da3c7bdb20663205af7925d3ca05666b09349d70c09f25",
    "20261202000005_reports.sql": "338b3ee1867907cef376d94415b2599b6d17ea637a893d21e3b5dfe061470519",
    "20261202000006_allowances.sql": "56168a774b83c34072c74b9a5f2b58c6330e05996ada8a83b0dcda6df371c19f",
    "20261202000007_decisions.sql": "2effad1584d8e9132734841149b1a807b5bef448729a8ecec524a131ec04a6a9",
}
"""SHA-256 of each file that a deployment may have applied."""


def test_a_released_migration_is_not_edited() -> None:
    """A deployment applies each file once: a change of the schema is a new file, and a line here."""
    assert {path.name: sha256(path.read_bytes()).hexdigest() for path in FOLDER.iterdir()} == RELEASED


def test_a_deployment_of_the_first_release_is_upgraded(postgres: Postgres, database: str, tmp_path: Path) -> None:
    """Its rows stay, the schema is whole, and a program of the first release still changes them and keeps a rollback."""
    for name in sorted(RELEASED)[:5]:
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    migrate(postgres.uri(database), apply=True, folder=tmp_path)
    postgres.execute("INSERT INTO crawl_sites (base_url) VALUES ('https://a.example')", database=database)

    applied = migrate(postgres.uri(database), apply=True)

    assert [migration.name for migration in applied] == ["allowances", "decisions"]
    run = {"run_id": "r", "outcome": "unchanged_sitemap", "reason": "quiet", "counts": {}, "duration_ms": 5}
    run |= {"crawled": False, "changed": False, "failure_count": 0}
    with psycopg.connect(postgres.uri(database), autocommit=True) as owner:
        checked = owner.execute("SELECT check_schema() -> 'version', check_schema() -> 'missing'").fetchone()
        owner.execute("SELECT update_site(id, null, 'disabled'), due_summary(60) FROM crawl_sites")
        owner.execute(
            "UPDATE crawl_sites SET pinned_over = 'hash', lease_owner = 'w', lease_until = now(), claimed_at = now()"
        )
        owner.execute(
            "SELECT commit_run(id, generation, 'w', %s) FROM crawl_sites",
            (json.dumps(run),),
        )
        kept = owner.execute("SELECT status, pinned_over FROM crawl_sites").fetchone()
    assert checked == (SCHEMA_VERSION, [])
    assert kept == ("disabled", "hash")


def test_an_empty_project_gets_the_specifications_columns_and_index(postgres: Postgres, database: str) -> None:
    """Names and types of the specification, and its partial index, are all there."""
    migrate(postgres.uri(database), apply=True)
    query = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'crawl_sites'"
    found = dict(postgres.rows(database, query))
    postgres.execute("CREATE SCHEMA document", database=database)
    postgres.execute(SPECIFICATION.replace("crawl_sites", "document.crawl_sites"), database=database)
    wanted = dict(postgres.rows(database, f"{query} AND table_schema = 'document'"))

    assert wanted
    assert wanted.items() <= found.items()
    [(index,)] = postgres.rows(
        database, "SELECT indexdef FROM pg_indexes WHERE indexname = 'idx_next_crawl' AND schemaname = 'public'"
    )
    assert "(next_crawl_at) WHERE (next_crawl_at IS NOT NULL)" in str(index)


def test_rows_of_the_specifications_table_survive(postgres: Postgres, database: str) -> None:
    """A full row keeps every value; NULLs become defaults; what is out of bounds comes to the nearest bound."""
    postgres.execute(SPECIFICATION + ROWS, database=database)
    before = columns(postgres, database, "https://full.example", "*")
    migrate(postgres.uri(database), apply=True)

    kept = """id, base_url, max_pages, desc_length, recrawl_interval_minutes, last_crawled_at, last_changed_at,
        latest_llms_hash, latest_llms_url, sentinel_url, sentinel_last_modified, avg_change_interval_minutes,
        next_crawl_at, created_at"""
    assert before[:-1] == columns(postgres, database, "https://full.example", kept)
    assert columns(
        postgres,
        database,
        "https://full.example",
        "status, attempts, webhook_secret, last_checked_at = last_crawled_at",
    ) == ("active", 0, None, True)
    numbers = "max_pages, desc_length, recrawl_interval_minutes, avg_change_interval_minutes"
    assert columns(postgres, database, "https://nulls.example", numbers) == (50, 500, 10_080, None)
    assert columns(postgres, database, "https://wild.example", numbers) == (MAX_PAGES, MAX_DESC, MAX_INTERVAL, None)
    assert columns(postgres, database, "https://zero.example", numbers) == (1, 50, 60, None)
    assert columns(postgres, database, "https://unplanned.example", "next_crawl_at") == (
        datetime(2026, 11, 5, 9, tzinfo=UTC),
    )
    assert postgres.rows(database, "SELECT count(*) FROM crawl_sites") == [(14,)]


def test_one_site_has_one_row_whatever_its_spelling_was(postgres: Postgres, database: str) -> None:
    """The row that was crawled last is the site; the others stay, disabled, and say why. So does what is no URL."""
    postgres.execute(SPECIFICATION + ROWS, database=database)
    migrate(postgres.uri(database), apply=True)

    assert columns(postgres, database, "https://twice.example", "latest_llms_hash, status") == ("newer", "active")
    doubles = postgres.rows(
        database,
        "SELECT latest_llms_hash, status, next_crawl_at, last_error FROM crawl_sites WHERE base_url ~ 'duplicate'",
    )
    assert sorted(str(row[0]) for row in doubles) == ["never", "older"]
    assert {row[1:] for row in doubles} == {("disabled", None, "duplicate of https://twice.example")}
    active = postgres.rows(database, "SELECT base_url FROM crawl_sites WHERE status = 'active' ORDER BY base_url")
    assert {str(row[0]) for row in active} >= {
        "https://once.example/Docs", "http://port.example/a", "http://port.example:8080",
    }  # fmt: skip
    broken = postgres.rows(database, "SELECT status, last_error FROM crawl_sites WHERE base_url !~* '^http'")
    assert len(broken) == 3
    assert all(row[0] == "disabled" and "not an http(s) URL" in str(row[1]) for row in broken)


async def test_a_migrated_table_is_served(postgres: Postgres, database: str) -> None:
    """Every old row can be read, listed and, if it is active, claimed and committed."""
    postgres.execute(SPECIFICATION + ROWS, database=database)
    migrate(postgres.uri(database), apply=True)
    with running_postgrest(postgres.uri(database, user="authenticator")) as api:
        sites = SupabaseSites(api.url, token("service_role"))
        await sites.check()
        listed = await sites.list_sites()
        claims = await sites.claim_due(limit=100, lease_seconds=60, owner="worker-1", per_host=10)
        sites.close()

    assert len(listed) == 14
    assert {claim.site.id for claim in claims} == {site.id for site in listed if site.status is SiteStatus.ACTIVE}
    assert all(site.webhook_secret == "" for site in listed)


def test_migrating_again_does_nothing(postgres: Postgres, database: str) -> None:
    """What is noted as applied, by us or by `supabase db push`, is not applied again."""
    lines: list[str] = []
    first = migrate(postgres.uri(database), apply=True, report=lines.append)
    again = migrate(postgres.uri(database), apply=True, report=lines.append)

    assert first == migrations()
    assert again == []
    assert lines == [f"applied {migration.title}" for migration in first]
    noted = postgres.rows(database, "SELECT version, name FROM supabase_migrations.schema_migrations ORDER BY version")
    assert noted == [(migration.version, migration.name) for migration in first]


def test_printing_changes_nothing(postgres: Postgres, database: str) -> None:
    """Without `apply` the database is only read."""
    lines: list[str] = []
    missing = migrate(postgres.uri(database), apply=False, report=lines.append)

    assert missing == migrations()
    assert lines == [f"would apply {migration.title}" for migration in missing]
    assert postgres.rows(
        database, "SELECT to_regclass('crawl_sites')::text, to_regnamespace('supabase_migrations')::text"
    ) == [(None, None)]


def test_a_file_that_fails_leaves_nothing_of_itself(postgres: Postgres, database: str, tmp_path: Path) -> None:
    """The files before it are in, it is not, and no text of the database comes out."""
    (tmp_path / "20260101000000_good.sql").write_text("create table good (a int);")
    (tmp_path / "20260102000000_bad.sql").write_text("create table half (a int); select 'hush' / 0;")
    with pytest.raises(Misconfigured) as failed:
        migrate(postgres.uri(database), apply=True, folder=tmp_path)

    assert "20260102000000_bad" in str(failed.value)
    assert "hush" not in str(failed.value)
    assert failed.value.__context__ is None
    assert postgres.rows(database, "SELECT to_regclass('good')::text, to_regclass('half')::text") == [("good", None)]
    assert postgres.rows(database, "SELECT name FROM supabase_migrations.schema_migrations") == [("good",)]


def test_a_hole_in_the_history_is_not_filled_silently(postgres: Postgres, database: str) -> None:
    """A later migration that is applied while an earlier one is not: a person has to look."""
    migrate(postgres.uri(database), apply=True)
    postgres.execute("DELETE FROM supabase_migrations.schema_migrations WHERE name = 'crawl_runs'", database=database)

    with pytest.raises(CorruptState, match="crawl_runs"):
        migrate(postgres.uri(database), apply=True)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("postgresql://postgres:hush@127.0.0.1:1/postgres", StoreDown),
        ("postgresql://postgres:hush@%2Fno%2Fsuch/postgres", StoreDown),
        ("not a url at all hush", Misconfigured),
        ("mysql://hush@x/y", Misconfigured),
    ],
)
def test_a_wrong_database_url_is_said_without_its_password(url: str, kind: type[Exception]) -> None:
    """Nothing there, or nothing that could be there."""
    with pytest.raises(kind) as failed:
        migrate(url, apply=False)

    assert "hush" not in repr(failed.value) + str(failed.value)
    assert failed.value.__context__ is None


def test_a_person_at_the_prompt_cannot_break_the_schedule(postgres: Postgres, database: str) -> None:
    """Disabling by hand takes a row out of the index of due rows, and activating brings it back, due and forgiven."""
    migrate(postgres.uri(database), apply=True)
    with psycopg.connect(postgres.uri(database), autocommit=True) as owner:
        owner.execute(
            "INSERT INTO crawl_sites (base_url, next_crawl_at, failure_count) VALUES ('https://a.example', now(), 3)"
        )
        off = owner.execute(
            "UPDATE crawl_sites SET status = 'disabled' RETURNING next_crawl_at, failure_count"
        ).fetchone()
        on = owner.execute(
            "UPDATE crawl_sites SET status = 'active' RETURNING next_crawl_at > now() - interval '1 minute', failure_count"
        ).fetchone()
        stamped = owner.execute("SELECT updated_at > created_at FROM crawl_sites").fetchone()
        for nonsense in ("max_pages = 0", "status = 'on'", "recrawl_interval_minutes = 5", "lease_owner = 'me'",
                         "last_outcome = 'fine'", "include = array[null]", "base_url = 'example.com'",
                         "avg_change_interval_minutes = 'NaN'", "failure_count = -1"):  # fmt: skip
            with pytest.raises(psycopg.errors.CheckViolation):
                owner.execute(f"UPDATE crawl_sites SET {nonsense}")  # noqa: S608 - from this file

    assert (off, on, stamped) == ((None, 3), (True, 0), (True,))
