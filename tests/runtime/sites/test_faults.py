"""A database that is down, slow, half-open, read-only, full of NULLs, or not there at all: always an error of ours."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from runtime.errors import CorruptState, InputError, Misconfigured, NotFound, ServiceError, StaleClaim, StoreDown
from runtime.models import Outcome, SiteOptions
from runtime.sites.rpc import ATTEMPTS, Rpc
from runtime.sites.supabase import SupabaseSites
from tests.runtime.sites.store import START, commit, enrollment
from tests.stand_ins.faulty import Answer, Fault, FaultyServer, running_faulty
from tests.stand_ins.postgres import Postgres
from tests.stand_ins.postgrest import PostgrestServer, running_postgrest, token

Project = tuple[str, PostgrestServer]
HUSH = "hush-hush"


@pytest.fixture
def faulty(project: Project) -> Iterator[FaultyServer]:
    with running_faulty(project[1].url) as server:
        yield server


@pytest.fixture
async def sites(faulty: FaultyServer) -> AsyncIterator[SupabaseSites]:
    sites = SupabaseSites(faulty.url, token("service_role"))
    yield sites
    sites.close()


async def failure(call: Awaitable[object], kind: type[ServiceError] = StoreDown) -> ServiceError:
    """The error of a call, which carries nothing that was not written by us."""
    with pytest.raises(kind) as failed:
        await call
    error = failed.value
    assert type(error) is kind
    assert HUSH not in repr(error) + str(error)
    assert (error.__cause__, error.__context__) == (None, None)
    return error


def problem(code: str | None, message: str = HUSH) -> str:
    import json

    return json.dumps({"code": code, "message": message, "details": f"Failing row contains ({HUSH}).", "hint": HUSH})


JSON = "application/json"


@pytest.mark.parametrize(
    ("answer", "kind", "code", "requests"),
    [
        (Answer(503, problem("PGRST000"), JSON), StoreDown, "store_busy", ATTEMPTS),
        (Answer(503, problem("PGRST002"), JSON), StoreDown, "store_busy", ATTEMPTS),
        (Answer(504, problem("PGRST003"), JSON), StoreDown, "store_busy", ATTEMPTS),
        (Answer(503, problem("57P01"), JSON), StoreDown, "store_busy", ATTEMPTS),
        (Answer(500, problem("57014"), JSON), StoreDown, "store_busy", ATTEMPTS),
        (Answer(500, problem("40001"), JSON), StoreDown, "store_busy", ATTEMPTS),
        (Answer(500, problem("55P03"), JSON), StoreDown, "store_busy", ATTEMPTS),
        (Answer(503, problem("53300"), JSON), StoreDown, "store_busy", ATTEMPTS),
        (Answer(500, problem("XX000"), JSON), StoreDown, "store_busy", ATTEMPTS),
        (Answer(429, "<h1>slow down</h1>"), StoreDown, "store_busy", ATTEMPTS),
        (Answer(502, f"<h1>Bad gateway {HUSH}</h1>"), StoreDown, "store_busy", ATTEMPTS),
        (Answer(522, ""), StoreDown, "store_busy", ATTEMPTS),
        (Answer(540, '{"message":"Project paused"}', JSON), StoreDown, "store_paused", 1),
        (Answer(405, problem("25006"), JSON), StoreDown, "store_read_only", 1),
        (Answer(401, '{"message":"Invalid API key"}', JSON), Misconfigured, "store_key_refused", 1),
        (Answer(401, problem("PGRST301"), JSON), Misconfigured, "store_key_refused", 1),
        (Answer(401, problem("PGRST303"), JSON), Misconfigured, "store_key_refused", 1),
        (Answer(403, problem("42501"), JSON), Misconfigured, "store_key_powerless", 1),
        (Answer(404, problem("PGRST202"), JSON), Misconfigured, "schema_behind", 1),
        (Answer(300, problem("PGRST203"), JSON), Misconfigured, "schema_behind", 1),
        (Answer(404, problem("42883"), JSON), Misconfigured, "schema_behind", 1),
        (Answer(400, problem("P0001"), JSON), Misconfigured, "store_refused", 1),
        (Answer(400, problem(HUSH), JSON), Misconfigured, "store_refused", 1),
        (Answer(400, "[]", JSON), Misconfigured, "store_refused", 1),
        (Answer(404, "<h1>Not found</h1>"), Misconfigured, "store_url_wrong", 1),
        (Answer(301, "", headers={"Location": "https://elsewhere.example/"}), Misconfigured, "store_url_wrong", 1),
        (Answer(200, f"<h1>Welcome {HUSH}</h1>"), Misconfigured, "store_url_wrong", 1),
        (Answer(200, ""), Misconfigured, "store_url_wrong", 1),
        (Answer(200, '"text"', JSON), Misconfigured, "store_url_wrong", 1),
        (Answer(200, "{", JSON), Misconfigured, "store_url_wrong", 1),
        (Answer(200, "[]", JSON), Misconfigured, "store_url_wrong", 1),
        (Answer(204, ""), Misconfigured, "store_url_wrong", 1),
        (Answer(404, problem("PT404"), JSON), NotFound, "not_found", 1),
        (Answer(400, problem("23514", 'violates "crawl_sites_max_pages"'), JSON), InputError, "invalid", 1),
        (Answer(400, problem("22003"), JSON), InputError, "invalid", 1),
    ],
)
async def test_every_answer_has_its_error(answer: Answer, kind: type[ServiceError], code: str, requests: int) -> None:
    """What PostgREST, PostgreSQL, the gateway or a stranger's web server says becomes one of ours, repeated or not."""
    with running_faulty() as server:
        server.script.extend([answer] * ATTEMPTS)
        sites = SupabaseSites(server.url, "a-key")
        error = await failure(sites.get("00000000-0000-0000-0000-000000000007"), kind)
        sites.close()

    assert error.code == code
    assert len(server.requests) == requests


async def test_an_answer_that_lacks_what_it_must_have_is_corrupt(faulty: FaultyServer, sites: SupabaseSites) -> None:
    """A row without columns, from a schema that nobody here wrote."""
    site_id = "00000000-0000-0000-0000-000000000007"
    calls = (sites.get(site_id), sites.enroll(enrollment()), sites.due_summary(), sites.request_recrawl(site_id),
             sites.check(), sites.database_now())  # fmt: skip
    for call in calls:
        faulty.script.append(Answer(200, "{}", JSON))
        with pytest.raises(CorruptState):
            await call


async def test_nothing_listens() -> None:
    """A project that is gone: not reached, tried again, given up."""
    with running_faulty() as server:
        url = server.url
    sites = SupabaseSites(url, "a-key")
    error = await failure(sites.check())
    sites.close()

    assert error.code == "store_down"


@pytest.mark.parametrize(
    "url", ["", "ftp://x", "https://", "https://[::1", "nonsense", "https://a:b/", "https://a\x00b"]
)
async def test_a_url_that_cannot_be_one(url: str) -> None:
    """Said in words, before anything is sent."""
    sites = SupabaseSites(url, "a-key")

    assert (await failure(sites.check(), Misconfigured)).code == "store_url_wrong"
    sites.close()


async def test_the_database_behind_the_api_is_down(postgres: Postgres) -> None:
    """PostgREST is up and says PGRST000."""
    with running_postgrest(postgres.uri("no_such_database", user="authenticator")) as api:
        sites = SupabaseSites(api.url, token("service_role"))
        error = await failure(sites.claim_due(limit=1, lease_seconds=60, owner="worker-1"))
        sites.close()

    assert error.code == "store_busy"


@pytest.mark.parametrize("fault", [Fault.HANG])
async def test_a_half_open_connection_costs_the_time_out_and_no_more(
    faulty: FaultyServer, sites: SupabaseSites, fault: Fault
) -> None:
    """The far end is gone without a word: the call ends in time, and the next one is served."""
    impatient = SupabaseSites(faulty.url, token("service_role"), timeout_seconds=0.2)
    await sites.check()
    faulty.script.append(fault)
    started = asyncio.get_running_loop().time()
    error = await failure(impatient.claim_due(limit=1, lease_seconds=60, owner="worker-1"))
    passed = asyncio.get_running_loop().time() - started
    impatient.close()

    assert error.code in ("store_timeout", "store_down")
    assert passed < 5
    assert await sites.claim_due(limit=1, lease_seconds=60, owner="worker-1") == []


async def test_a_slow_statement_is_given_up_and_its_late_effect_is_harmless(
    postgres: Postgres, project: Project, faulty: FaultyServer, sites: SupabaseSites
) -> None:
    """A commit waits for a lock longer than we wait for it; the same commit, sent again, leaves one line."""
    site, _ = await sites.enroll(enrollment())
    (claim,) = await sites.claim_due(limit=1, lease_seconds=60, owner="worker-1")
    impatient = SupabaseSites(faulty.url, token("service_role"), timeout_seconds=0.3)
    with psycopg.connect(postgres.uri(project[0])) as other:
        other.execute("SELECT * FROM crawl_sites FOR UPDATE")
        error = await failure(impatient.commit_run(claim, commit(next_crawl_at=START + timedelta(days=1))))
        other.rollback()
    impatient.close()
    done = await sites.commit_run(claim, commit(next_crawl_at=START + timedelta(days=1)))

    assert error.code in ("store_timeout", "store_down")
    assert (done.last_outcome, done.lease_owner) == (Outcome.UPDATED, None)
    assert [line.id for line in await sites.runs(site.id)] == ["run-1"]


async def test_a_lock_that_is_never_released_ends_on_the_servers_side_too(postgres: Postgres, project: Project) -> None:
    """Abandoned statements do not pile up behind a lock: the functions wait three seconds at most."""
    waits = postgres.rows(
        project[0],
        "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND provolatile = 'v' AND NOT "
        "'lock_timeout=3s' = ANY (proconfig) AND has_function_privilege('service_role', oid, 'execute')",
    )

    # These take their locks inside one of the others, under its limit.
    assert {row[0] for row in waits} == {
        "crawl_now", "locked_site", "held_site", "write_run", "quarantine", "crawls_left", "charge_crawls", "refund_crawl",
    }  # fmt: skip


async def test_a_commit_whose_answer_is_lost_is_repeated(faulty: FaultyServer, sites: SupabaseSites) -> None:
    """The database did it and the answer never came: the second try is answered as the first would have been."""
    site, _ = await sites.enroll(enrollment())
    (claim,) = await sites.claim_due(limit=1, lease_seconds=60, owner="worker-1")
    faulty.script.append(Fault.LOSE)
    done = await sites.commit_run(claim, commit(next_crawl_at=START))

    assert done.last_outcome is Outcome.UPDATED
    assert len(await sites.runs(site.id)) == 1


async def test_a_claim_whose_answer_is_lost_is_not_repeated(faulty: FaultyServer, sites: SupabaseSites) -> None:
    """Repeating it would take a second batch; the first comes back when its lease has run out."""
    site, _ = await sites.enroll(enrollment())
    faulty.script.append(Fault.LOSE)
    error = await failure(sites.claim_due(limit=1, lease_seconds=60, owner="worker-1"))

    row = await sites.get(site.id)
    assert (error.code, row.generation, row.attempts) == ("store_down", 1, 1)


@pytest.mark.parametrize("call", ["enroll", "request_recrawl", "remember_webhook", "claim_site"])
async def test_what_would_mean_something_else_the_second_time_is_not_repeated(
    faulty: FaultyServer, sites: SupabaseSites, call: str
) -> None:
    """A lost answer is an error that the caller decides on; each of these was asked for once."""
    site, _ = await sites.enroll(enrollment())
    calls: dict[str, Callable[[], Awaitable[Any]]] = {
        "enroll": lambda: sites.enroll(enrollment("https://other.example")),
        "request_recrawl": lambda: sites.request_recrawl(site.id),
        "remember_webhook": lambda: sites.remember_webhook(site.id, "msg_1"),
        "claim_site": lambda: sites.claim_site(site.id, lease_seconds=60, owner="worker-1"),
    }
    faulty.requests.clear()
    faulty.script.append(Fault.LOSE)
    await failure(calls[call]())

    assert len(faulty.requests) == 1


async def test_a_reset_before_the_answer_is_survived_by_what_may_be_repeated(
    faulty: FaultyServer, sites: SupabaseSites
) -> None:
    """A load balancer that drops idle connections is not an outage."""
    site, _ = await sites.enroll(enrollment())
    faulty.script.extend([Fault.CLOSE, Fault.CLOSE])

    assert (await sites.get(site.id)).id == site.id


async def test_a_read_only_database_refuses_and_keeps_everything(
    project: Project, faulty: FaultyServer, sites: SupabaseSites
) -> None:
    """Reading goes on; writing says why not, and nothing is half written."""
    site, _ = await sites.enroll(enrollment())
    claim = await sites.claim_site(site.id, lease_seconds=60, owner="worker-1")
    assert claim is not None
    before = await sites.get(site.id)
    project[1].read_only = True
    for call in (
        sites.commit_run(claim, commit()),
        sites.enroll(enrollment("https://other.example")),
        sites.request_recrawl(site.id),
        sites.claim_due(limit=1, lease_seconds=60, owner="worker-2"),
    ):
        assert (await failure(call)).code == "store_read_only"

    assert await sites.get(site.id) == before
    assert await sites.runs(site.id) == []


async def test_a_commit_that_cannot_be_written_whole_is_not_written_at_all(
    postgres: Postgres, project: Project, sites: SupabaseSites
) -> None:
    """The line of the run goes in first; when the row then refuses, the line is gone again."""
    site, _ = await sites.enroll(enrollment())
    claim = await sites.claim_site(site.id, lease_seconds=60, owner="worker-1")
    assert claim is not None
    before = await sites.get(site.id)
    await failure(sites.commit_run(claim, commit(avg_change_interval_minutes=-1.0)), InputError)
    await failure(sites.commit_run(claim, commit(duration_ms=-1)), InputError)

    assert await sites.get(site.id) == before
    assert postgres.rows(project[0], "SELECT count(*) FROM crawl_runs") == [(0,)]
    await sites.commit_run(claim, commit())


async def test_an_error_never_quotes_the_database(postgres: Postgres, project: Project, sites: SupabaseSites) -> None:
    """A constraint's DETAIL shows the whole row, secret and all: only the field's name comes out."""
    with pytest.raises(InputError) as refused:
        await sites.enroll(enrollment(webhook_secret=HUSH, options=SiteOptions(max_pages=0)))
    assert refused.value.field == "maxPages"
    assert HUSH not in repr(refused.value) + str(refused.value)
    assert refused.value.__context__ is None

    postgres.execute(
        f"CREATE OR REPLACE FUNCTION public.find_site(p_base_url text) RETURNS jsonb LANGUAGE plpgsql STABLE AS "
        f"$$ BEGIN RAISE EXCEPTION '{HUSH} %', p_base_url USING DETAIL = '{HUSH}'; END $$",
        database=project[0],
    )
    await failure(sites.find("https://a.example"), Misconfigured)


async def test_a_row_with_nulls_is_read_with_defaults(
    postgres: Postgres, project: Project, sites: SupabaseSites
) -> None:
    """The specification's columns may be NULL there; a row that predates the constraints is read as the default."""
    site, _ = await sites.enroll(enrollment())
    postgres.execute(
        "ALTER TABLE crawl_sites ALTER max_pages DROP NOT NULL, ALTER desc_length DROP NOT NULL, "
        "ALTER recrawl_interval_minutes DROP NOT NULL, ALTER include DROP NOT NULL, ALTER created_at DROP NOT NULL;"
        "UPDATE crawl_sites SET max_pages = NULL, desc_length = NULL, recrawl_interval_minutes = NULL, include = NULL, "
        "created_at = NULL, webhook_secret = NULL, sentinel_url = NULL, avg_change_interval_minutes = NULL",
        database=project[0],
    )
    (claim,) = await sites.claim_due(limit=1, lease_seconds=60, owner="worker-1")

    assert claim.site.options == SiteOptions()
    assert (claim.site.id, claim.site.webhook_secret) == (site.id, "")


async def test_a_row_that_cannot_be_read_costs_itself_alone(
    postgres: Postgres, project: Project, sites: SupabaseSites
) -> None:
    """Somebody dropped a constraint and wrote nonsense: the other sites of the batch are worked on."""
    bad, _ = await sites.enroll(enrollment("https://bad.example"))
    good, _ = await sites.enroll(enrollment("https://good.example"))
    postgres.execute("ALTER TABLE crawl_sites DROP CONSTRAINT crawl_sites_outcome", database=project[0])
    postgres.execute("UPDATE crawl_sites SET last_outcome = 'fine' WHERE id = %s", (bad.id,), database=project[0])
    claims = await sites.claim_due(limit=10, lease_seconds=60, owner="worker-1")

    assert [claim.site.id for claim in claims] == [good.id]
    assert (await failure_of_row(sites.get(bad.id))).code == "corrupt_row"


async def failure_of_row(call: Awaitable[object]) -> CorruptState:
    with pytest.raises(CorruptState) as failed:
        await call
    return failed.value


async def test_text_that_is_no_text_is_an_input_error(sites: SupabaseSites) -> None:
    """Half a surrogate pair or a NUL cannot be stored; no driver's exception says so to the caller."""
    site, _ = await sites.enroll(enrollment())
    await failure(sites.remember_webhook(site.id, "\udcff"), InputError)
    await failure(sites.remember_webhook(site.id, "a\x00b"), InputError)


async def test_a_stale_claim_is_said_with_the_site_and_generation(sites: SupabaseSites) -> None:
    """The log line of a refused commit names what was refused."""
    site, _ = await sites.enroll(enrollment())
    (claim,) = await sites.claim_due(limit=1, lease_seconds=60, owner="worker-1")
    await sites.commit_run(claim, commit())
    error = await failure(sites.commit_run(claim, commit(run_id="late")), StaleClaim)

    assert site.id in str(error)
    assert "generation 1" in str(error)


async def test_pauses_grow_and_are_random() -> None:
    """Retries of many workers do not arrive together: each pause is a random part of one that doubles."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    parts = iter([1.0, 0.5])
    with running_faulty() as server:
        server.script.extend([Answer(503)] * ATTEMPTS)
        rpc = Rpc(server.url, "a-key", client=None, timeout_seconds=5, sleep=sleep, jitter=lambda: next(parts))
        with pytest.raises(StoreDown):
            await rpc.call("get_site", {}, kinds=dict, repeatable=True)
        rpc.close()

    assert pauses == [0.2, 0.2]


async def test_one_client_and_one_connection_serve_a_process(faulty: FaultyServer) -> None:
    """Two stores of the same project share the client, and calls in turn share the connection."""
    key = token("service_role", expires_in=7200)
    first, second = SupabaseSites(faulty.url, key), SupabaseSites(faulty.url, key)
    for _ in range(20):
        await first.due_summary()
        await second.list_sites()
    first.close()
    second.close()

    # Either looked once whether "nothing" can be believed.
    assert (len(faulty.requests), faulty.connections) == (42, 1)


def test_the_client_outlives_an_event_loop(faulty: FaultyServer) -> None:
    """A Lambda that runs a new loop for each event keeps its client and its connection."""
    sites = SupabaseSites(faulty.url, token("service_role"))
    for _ in range(3):
        asyncio.run(sites.check())
    sites.close()

    assert faulty.connections == 1


def test_importing_the_store_costs_nothing_until_it_is_used() -> None:
    """A door that does not reach the database does not pay for its client; none ever pays for all of `supabase`."""
    code = """
import asyncio, sys
from runtime.errors import StoreDown
from runtime.sites.supabase import SupabaseSites
heavy = ("supabase", "postgrest", "httpx", "pydantic", "realtime", "cryptography", "psycopg")
print([name for name in heavy if name in sys.modules])
try:
    asyncio.run(SupabaseSites("http://127.0.0.1:1", "a-key").check())
except StoreDown:
    print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["[]", "['postgrest', 'httpx', 'pydantic']"]
