"""Who may do what: the service role what the product needs, the public keys nothing, whatever Supabase's defaults are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtime.errors import Misconfigured, ServiceError
from runtime.sites.supabase import SupabaseSites
from tests.stand_ins.postgres import Postgres
from tests.stand_ins.postgrest import PostgrestServer, token

Project = tuple[str, PostgrestServer]

OURS = """
SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
"""


@pytest.fixture
def sites(project: Project) -> Iterator[SupabaseSites]:
    sites = SupabaseSites(project[1].url, token("service_role"))
    yield sites
    sites.close()


@pytest.mark.parametrize("role", ["anon", "authenticated"])
def test_the_public_keys_reach_nothing(postgres: Postgres, project: Project, role: str) -> None:
    """No right on any table, no EXECUTE on any function, although the project's defaults hand out all of them."""
    database, _ = project
    tables = postgres.rows(
        database,
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'S')"
        " AND has_table_privilege(%s, c.oid, 'select, insert, update, delete, truncate, references, trigger')",
        (role,),
    )
    functions = postgres.rows(database, f"{OURS} AND has_function_privilege(%s, p.oid, 'execute')", (role,))

    assert (tables, functions) == ([], [])


def test_the_service_role_has_what_it_needs_and_no_more(postgres: Postgres, project: Project) -> None:
    """It cannot truncate, alter or drop, and only reads the version."""
    database, _ = project
    rights = postgres.rows(
        database,
        "SELECT table_name, string_agg(lower(privilege_type), ' ' ORDER BY privilege_type) "
        "FROM information_schema.role_table_grants WHERE grantee = 'service_role' AND table_schema = 'public' GROUP BY 1",
    )

    full = "delete insert select update"
    assert dict(rights) == {
        "crawl_sites": full, "crawl_runs": full, "webhook_messages": full, "schema_version": "select",
        "crawl_spending": full, "crawl_budget": full, "unlock_spending": full, "live_clients": full,
    }  # fmt: skip


def test_every_table_has_row_level_security_and_no_policy(postgres: Postgres, project: Project) -> None:
    """Should a grant be given by mistake, there are still no rows behind it."""
    database, _ = project
    unprotected = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND NOT relrowsecurity"

    assert postgres.rows(database, unprotected) == []
    assert postgres.rows(database, "SELECT policyname FROM pg_policies") == []


def test_functions_run_with_the_rights_of_the_caller_and_look_nowhere_else(
    postgres: Postgres, project: Project
) -> None:
    """None is SECURITY DEFINER, and each fixes its search path."""
    database, _ = project
    assert len(postgres.rows(database, OURS)) == 37
    assert postgres.rows(database, f"{OURS} AND p.prosecdef") == []
    assert postgres.rows(database, f"{OURS} AND NOT 'search_path=\"\"' = ANY (coalesce(p.proconfig, '{{}}'))") == []


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (token("anon"), "store_key_powerless"),
        (token("authenticated"), "store_key_powerless"),
        (token("service_role", expires_in=-10), "store_key_refused"),
        (token("service_role", secret="another-project-s-secret-of-32-characters"), "store_key_refused"),
        ("no-jwt-at-all", "store_key_refused"),
        ("sb_publishable_abc", "store_key_powerless"),
        ("", "store_url_wrong"),
        ("two\nlines", "store_url_wrong"),
        ("clé", "store_url_wrong"),
    ],
)
async def test_a_wrong_key_is_a_misconfiguration_and_never_nothing_due(project: Project, key: str, code: str) -> None:
    """The start-up check and every call say what is wrong with the key, without showing it."""
    sites = SupabaseSites(project[1].url, key)
    for call in (
        sites.check(),
        sites.claim_due(limit=10, lease_seconds=60, owner="worker-1"),
        sites.due_summary(),
        sites.list_sites(),
    ):
        with pytest.raises(Misconfigured) as refused:
            await call
        assert refused.value.code == code
        assert not key or key not in str(refused.value)
    sites.close()


async def test_a_key_with_a_newline_at_its_end_works(project: Project) -> None:
    """Secrets are often stored with the newline of the editor."""
    sites = SupabaseSites(f" {project[1].url}/rest/v1/\n", f"{token('service_role')}\n")
    await sites.check()
    sites.close()


@pytest.mark.parametrize(
    "right",
    [
        "REVOKE UPDATE ON crawl_sites FROM service_role",
        "REVOKE INSERT ON crawl_runs FROM service_role",
        "REVOKE EXECUTE ON FUNCTION claim_due_sites FROM service_role",
        "REVOKE EXECUTE ON FUNCTION check_schema FROM service_role",
        "DROP TABLE webhook_messages",
        "DROP FUNCTION commit_run",
    ],
)
async def test_a_missing_right_is_found_at_start_up(
    postgres: Postgres, project: Project, sites: SupabaseSites, right: str
) -> None:
    """Each right that a call would miss later is missed by the check."""
    await sites.check()
    postgres.execute(right, database=project[0])

    with pytest.raises(Misconfigured) as refused:
        await sites.check()
    assert refused.value.code == "store_key_powerless"
    assert "migrate" in str(refused.value)


async def test_rows_hidden_by_row_level_security_are_not_no_rows(
    postgres: Postgres, project: Project, sites: SupabaseSites
) -> None:
    """A role that does not bypass the policies sees an empty table without an error: nobody is told "0 due"."""
    postgres.execute("ALTER ROLE service_role NOBYPASSRLS")
    try:
        for call in (
            sites.check(),
            sites.claim_due(limit=1, lease_seconds=60, owner="worker-1"),
            sites.due_summary(),
            sites.list_sites(),
            sites.find("https://a.example"),
        ):
            with pytest.raises(Misconfigured, match="row level security"):
                await call
    finally:
        postgres.execute("ALTER ROLE service_role BYPASSRLS")


@pytest.mark.parametrize(
    "right",
    [
        "GRANT SELECT ON crawl_sites TO anon",
        "GRANT DELETE ON crawl_runs TO authenticated",
        "GRANT EXECUTE ON FUNCTION find_site TO anon",
        "GRANT EXECUTE ON FUNCTION claim_site TO PUBLIC",
    ],
)
async def test_a_right_of_the_public_keys_is_found_at_start_up(
    postgres: Postgres, project: Project, sites: SupabaseSites, right: str
) -> None:
    """Rows hold secrets, and the public key is in every browser."""
    postgres.execute(right, database=project[0])

    with pytest.raises(Misconfigured) as refused:
        await sites.check()
    assert refused.value.code == "store_open"


async def test_a_schema_that_is_behind_is_found_at_start_up(
    postgres: Postgres, project: Project, sites: SupabaseSites
) -> None:
    """Older version, or none at all: what to type is in the sentence."""
    postgres.execute("DELETE FROM schema_version", database=project[0])
    with pytest.raises(Misconfigured) as refused:
        await sites.check()
    assert refused.value.code == "schema_behind"

    postgres.execute("DROP FUNCTION check_schema; DROP FUNCTION claim_due_sites", database=project[0])
    for call in (sites.check(), sites.claim_due(limit=1, lease_seconds=60, owner="worker-1")):
        with pytest.raises(Misconfigured, match="runtime migrate"):
            await call


async def test_a_newer_schema_serves_this_program(postgres: Postgres, project: Project, sites: SupabaseSites) -> None:
    """During a deploy the schema is ahead of the code that still runs."""
    postgres.execute("INSERT INTO schema_version (version) VALUES (99)", database=project[0])
    await sites.check()


async def test_revoking_a_right_while_running_is_an_error_not_an_empty_answer(
    postgres: Postgres, project: Project, sites: SupabaseSites
) -> None:
    """No call takes a refusal for "there is nothing"."""
    postgres.execute("REVOKE ALL ON crawl_sites FROM service_role", database=project[0])
    calls = (
        sites.list_sites(),
        sites.find("https://a.example"),
        sites.due_summary(),
        sites.claim_due(limit=1, lease_seconds=60, owner="worker-1"),
    )
    for call in calls:
        with pytest.raises(ServiceError) as refused:
            await call
        assert refused.value.code == "store_key_powerless"
