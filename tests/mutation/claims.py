"""Claims: who may write to a row."""

from __future__ import annotations

from tests.mutation.workshop import Mutant

_CLAIMS = "supabase/migrations/20261202000004_claims.sql"
_COMMIT = "supabase/migrations/20261202000007_decisions.sql"
_SITES = ("tests/runtime/sites/test_claims.py", "tests/runtime/sites/test_commits.py")
_REQUESTS = ("tests/runtime/sites/test_requests.py",)
_UPLOADS = ("tests/faults/test_rows_upload.py",)
_KILLS = ("tests/faults/test_kills.py",)

MUTANTS = (
    Mutant(
        "the fence of a commit (SQLite)",
        "runtime/sites/sqlite_statements.py",
        'if (row["generation"], row["lease_owner"]) == (claim.generation, claim.lease_owner)]',
        "if row]",
        _SITES,
    ),
    Mutant(
        "the fence of a commit (PostgreSQL)",
        _COMMIT,
        "    if not found or s.generation <> p_generation or s.lease_owner is distinct from p_owner then\n"
        "        if exists (",
        "    if not found then\n        if exists (",
        _SITES,
    ),
    Mutant(
        "the fence of a renewal (PostgreSQL)",
        _CLAIMS,
        "    if not found or s.generation <> p_generation or s.lease_owner is distinct from p_owner then\n"
        "        raise exception",
        "    if not found then\n        raise exception",
        _SITES,
    ),
    Mutant(
        "the generation that a claim counts up",
        "runtime/sites/transitions.py",
        '"generation": row["generation"] + 1,',
        '"generation": row["generation"],',
        _SITES,
    ),
    Mutant(
        "the lease, for ticks (SQLite)",
        "runtime/sites/sqlite_statements.py",
        " AND (lease_until IS NULL OR lease_until <= :now)",
        "",
        _SITES,
    ),
    Mutant(
        "the lease, for ticks (PostgreSQL)",
        _CLAIMS,
        " and (lease_until is null or lease_until <= v_now)\n              and host",
        "\n              and host",
        _SITES,
    ),
    Mutant(
        "the lease, for one site (SQLite)",
        "runtime/sites/sqlite.py",
        'if row["lease_until"] is not None and row["lease_until"] > stamp(now):',
        "if False:",
        _SITES,
    ),
    Mutant(
        "the lease, for one site (PostgreSQL)",
        _CLAIMS,
        "    if s.lease_until > v_now then\n        return null;\n    end if;\n",
        "",
        _SITES,
    ),
    Mutant(
        "the end of a lease",
        "runtime/sites/transitions.py",
        '"lease_until": stamp(now + timedelta(seconds=lease_seconds)),',
        '"lease_until": stamp(now + timedelta(days=3650)),',
        _SITES,
    ),
    Mutant(
        "the lease that is asked for before an upload",
        "runtime/publishing.py",
        "    await world.sites.renew_lease(claim, lease_seconds=world.settings.lease_seconds)\n    publisher, ",
        "    publisher, ",
        (*_UPLOADS, *_KILLS),
    ),
    Mutant(
        "the attempt that is counted with the claim",
        "runtime/sites/transitions.py",
        '"attempts": row["attempts"] + 1,',
        '"attempts": row["attempts"],',
        _SITES,
    ),
    Mutant(
        "the wish of a webhook that came during a crawl",
        "runtime/sites/transitions.py",
        'came_late = bool(row["requested_at"]) and row["requested_generation"] >= row["generation"]',
        "came_late = False",
        _REQUESTS,
    ),
)
