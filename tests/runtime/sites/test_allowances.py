"""What a deployment may do in all, in both stores: pages of the unlocker in a month, live crawls of a caller at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier

import psycopg
import pytest

from runtime.sites.sqlite import SqliteSites
from tests.runtime.sites.store import START, Store
from tests.stand_ins.postgres import Postgres
from tests.stand_ins.postgrest import PostgrestServer

AT_ONCE, ROUNDS = 8, 20


async def test_no_more_pages_are_taken_than_the_month_has(store: Store) -> None:
    """The last is granted, the next is not and counts nothing; a larger or smaller limit holds at once."""
    assert await store.sites.unlocks_taken() == 0
    assert [await store.sites.take_unlock(limit=3) for _ in range(5)] == [True, True, True, False, False]
    assert await store.sites.unlocks_taken() == 3
    assert not await store.sites.take_unlock(limit=1)
    assert await store.sites.take_unlock(limit=4)
    assert not await store.sites.take_unlock(limit=0)
    assert await store.sites.unlocks_taken() == 4


async def test_a_limit_of_none_grants_none(store: Store) -> None:
    """Also in a month that has counted nothing yet."""
    assert not await store.sites.take_unlock(limit=0)
    assert await store.sites.unlocks_taken() == 0


async def test_a_month_begins_at_midnight_utc(store: Store) -> None:
    """A second before, the month is spent; at midnight the next one has all of its pages."""
    start = datetime(START.year + 1, 3, 31, 23, 59, 59, tzinfo=UTC)
    store.advance(seconds=(start - START).total_seconds())
    assert await store.sites.take_unlock(limit=1)
    assert not await store.sites.take_unlock(limit=1)
    store.advance(seconds=1)
    assert await store.sites.unlocks_taken() == 0
    assert await store.sites.take_unlock(limit=1)


async def test_a_caller_has_so_many_live_crawls_and_no_more(store: Store) -> None:
    """Another caller has its own; what is over makes room, and so does a lease that ran out."""
    for connection, caller in [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b")]:
        await store.sites.open_live(connection, caller)

    async def begin(connection: str) -> bool:
        return await store.sites.begin_live(connection, at_once=2, lease_seconds=60)

    assert [await begin(name) for name in ("a1", "a2", "a3", "b1")] == [True, True, False, True]
    await store.sites.end_live("a1")
    await store.sites.end_live("a1")
    assert await begin("a3")
    await store.sites.open_live("a4", "a")
    assert not await begin("a4")
    store.advance(seconds=61)
    assert await begin("a4")


async def test_a_crawl_that_is_asked_for_again_takes_its_own_place(store: Store) -> None:
    """The worker died, and its message came again."""
    await store.sites.open_live("a1", "a")
    await store.sites.open_live("a1", "another")
    for _ in range(3):
        assert await store.sites.begin_live("a1", at_once=1, lease_seconds=60)
    await store.sites.open_live("a2", "a")
    assert not await store.sites.begin_live("a2", at_once=1, lease_seconds=60)


async def test_callers_that_nobody_announced_share_one_bound(store: Store) -> None:
    """A lost announcement opens no way around it."""
    assert await store.sites.begin_live("x", at_once=1, lease_seconds=60)
    assert not await store.sites.begin_live("y", at_once=1, lease_seconds=60)


async def test_yesterdays_connections_are_forgotten(store: Store) -> None:
    """A connection lives two hours; one that never said what it wanted leaves nothing behind."""
    await store.sites.open_live("old", "a")
    store.advance(hours=25)
    await store.sites.open_live("new", "a")
    assert await store.sites.begin_live("old", at_once=1, lease_seconds=60), "its caller is not known any more"
    assert await store.sites.begin_live("new", at_once=1, lease_seconds=60)


@pytest.mark.parametrize(
    ("call", "granted"),
    [
        ("SELECT take_unlock(90)::boolean", 90),
        ("SELECT begin_live(%(connection)s, 3, 600)::boolean", 3),
    ],
)
def test_eight_connections_at_once_get_what_there_is(
    postgres: Postgres, project: tuple[str, PostgrestServer], call: str, granted: int
) -> None:
    """They ask at the same moment, again and again, from the first row on."""
    database, _ = project
    together = Barrier(AT_ONCE)

    def ask(name: int) -> int:
        taken = 0
        with psycopg.connect(postgres.uri(database), autocommit=True) as owner:
            for number in range(ROUNDS):
                together.wait()
                row = owner.execute(call, {"connection": f"{name}-{number}"}).fetchone()
                assert row is not None
                taken += row[0]
        return taken

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert sum(pool.map(ask, range(AT_ONCE))) == granted


async def test_two_programs_on_one_file_get_what_there_is(tmp_path: Path) -> None:
    """Each has a connection of its own to the file."""
    with (
        SqliteSites(tmp_path / "sites.db", clock=lambda: START) as one,
        SqliteSites(tmp_path / "sites.db", clock=lambda: START) as other,
    ):
        granted = [await sites.take_unlock(limit=5) for _ in range(4) for sites in (one, other)]
        assert sum(granted) == 5
        assert await one.unlocks_taken() == await other.unlocks_taken() == 5
