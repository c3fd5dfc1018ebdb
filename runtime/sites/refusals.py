"""What a failed call to the database means, in errors of ours.

PostgREST answers with PostgreSQL's SQLSTATE, a code of its own (PGRST…) or, from the gateway before it, with a bare
status (https://docs.postgrest.org/en/stable/references/errors.html). Their texts can quote a row, secrets included:
only codes are read, and nothing of the text goes on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from runtime.errors import BudgetSpent, InputError, Misconfigured, NotFound, ServiceError, StaleClaim, StoreDown
from runtime.sites import rows
from runtime.sites.rows import Row

CODE = re.compile(r"[0-9A-Z]{5,8}")

SPENT = "the crawls of the last 24 hours are used up; the site stays due and is crawled when the oldest is a day old"

FIELDS = {
    "crawl_sites_max_pages": "maxPages",
    "crawl_sites_desc_length": "descLength",
    "crawl_sites_interval": "recrawlIntervalMinutes",
    "crawl_sites_policy": "schedule",
    "crawl_sites_weight": "weight",
    "crawl_sites_base_url": "url",
}
"""Constraints of the schema, and the field of the request that each one guards."""


class Again(Enum):
    """When a call may be repeated."""

    NEVER = "never"
    UNSENT = "unsent"  # nothing was done: any call may be repeated
    UNSURE = "unsure"  # it may have been done: only a call that is harmless twice


@dataclass(frozen=True, slots=True)
class Failure:
    error: ServiceError
    again: Again = Again.NEVER


def unreachable(*, sent: bool) -> Failure:
    """No answer: refused, reset, or too late."""
    down = StoreDown("the database does not answer: check that the Supabase project is running and not paused")
    return Failure(down, Again.UNSURE if sent else Again.UNSENT)


def timed_out(seconds: float) -> StoreDown:
    return StoreDown(f"the database did not answer within {seconds:g} s", code="store_timeout")


def not_postgrest() -> Failure:
    return Failure(
        Misconfigured(
            "SUPABASE_URL answers, but not like a Supabase project: it must look like https://<project>.supabase.co",
            code="store_url_wrong",
        )
    )


def unusable_url() -> Failure:
    return Failure(
        Misconfigured(
            "the Supabase URL or key cannot be used in a request: the URL must look like "
            "https://<project>.supabase.co, the key is one line of ASCII",
            code="store_url_wrong",
        )
    )


def not_text() -> Failure:
    return Failure(InputError("request", "holds characters that no text can hold"))


def refused(function: str, code: str | None, status: int | None, message: str | None) -> Failure:
    """The meaning of an error answer; `message` is only searched for the name of one of our constraints."""
    known = code if code and CODE.fullmatch(code) else None
    failure = _ours(known, message) or _denied(known, status) or _schema(known, status) or _down(known, status)
    if failure is not None:
        return failure
    return Failure(
        Misconfigured(
            f"the database refused {function} with {known or status or 'no code'}: compare the version of its schema "
            "with this program's",
            code="store_refused",
        )
    )


def _ours(code: str | None, message: str | None) -> Failure | None:
    if code == "PT404":
        return Failure(NotFound("there is no such site"))
    if code == "PT409":
        return Failure(StaleClaim("the lease was lost; nothing was written"))
    if code == "PT429":
        return Failure(BudgetSpent(SPENT))
    if code in ("23514", "23502") or (code or "").startswith("22"):
        field = next((field for name, field in FIELDS.items() if name in (message or "")), "site")
        return Failure(InputError(field, "a value is outside its bounds"))
    return None


def _denied(code: str | None, status: int | None) -> Failure | None:
    if code == "42501":
        return Failure(
            Misconfigured(
                "the Supabase key may not do this: use the service role (secret) key, and run "
                "`python -m runtime migrate` if grants are missing",
                code="store_key_powerless",
            )
        )
    if (code or "").startswith("PGRST30") or code == "28000" or status in (401, 403):
        return Failure(
            Misconfigured(
                "the Supabase key was refused, being expired or of another project: put the project's service role "
                "(secret) key into the secret",
                code="store_key_refused",
            )
        )
    return None


def _schema(code: str | None, status: int | None) -> Failure | None:
    if code in ("PGRST202", "PGRST203", "PGRST205", "42883", "42P01", "42703"):
        return Failure(schema_behind())
    if code is None and (status == 404 or 300 <= (status or 0) < 400):
        return not_postgrest()
    return None


def schema_behind() -> Misconfigured:
    return Misconfigured(
        "the database's schema is older than this program: run `python -m runtime migrate` with the database's URL",
        code="schema_behind",
    )


def misinstalled(found: Row, version: int) -> Misconfigured | None:
    """What `check_schema` found wrong, first what the caller's role lacks: it may be what hides the rest.

    :raises CorruptState: the answer is not one of that function.
    """
    with rows.readable("the answer to the start-up check"):
        missing, opened, installed = list(found["missing"]), list(found["open"]), int(found["version"])
    if missing:
        return Misconfigured(
            f"the Supabase key's role lacks {_listed(missing)}: use the service role (secret) key, or run "
            "`python -m runtime migrate` again",
            code="store_key_powerless",
        )
    if installed < version:
        return schema_behind()
    if opened:
        return Misconfigured(
            f"the public keys of the Supabase project can reach {_listed(opened)}: revoke these rights, the rows hold "
            "secrets",
            code="store_open",
        )
    return None


def _listed(names: list[str], *, most: int = 5) -> str:
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _down(code: str | None, status: int | None) -> Failure | None:
    if code == "25006" or status == 405:
        return Failure(StoreDown("the database is read-only: free disk space in Supabase", code="store_read_only"))
    if status == 540:
        return Failure(StoreDown("the Supabase project is paused: resume it in its dashboard", code="store_paused"))
    busy = StoreDown("the database is busy or short of something: try again", code="store_busy")
    undone = ("40001", "40P01", "55P03", "57014", "PGRST000", "PGRST002", "PGRST003")
    if code in undone or (code or "").startswith("53") or status == 429:
        return Failure(busy, Again.UNSENT)
    if code == "PGRST001" or (code or "")[:2] in ("08", "57", "58", "XX") or (status or 0) >= 500:
        return Failure(busy, Again.UNSURE)
    return None
