"""The file of `SqliteSites`: damaged, full, busy, foreign, from the future; and shared by several processes."""

# ruff: noqa: ASYNC220, ASYNC221, ASYNC240 - nothing else runs on these loops while a file or a process is waited for
from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.errors import CorruptState, InputError, Misconfigured, ServiceError, StoreDown
from runtime.models import Outcome, Site, SiteOptions
from runtime.sites import sqlite_file
from runtime.sites.sqlite import SqliteSites
from tests.runtime.sites.store import START, commit, enrollment


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sites.db"


@pytest.fixture
def sites(path: Path) -> Iterator[SqliteSites]:
    with SqliteSites(path, clock=lambda: START) as sites:
        yield sites


async def refusal(sites: SqliteSites, kind: type[ServiceError]) -> ServiceError:
    with pytest.raises(kind) as refused:
        await sites.check()
    with pytest.raises(kind):
        await sites.list_sites()
    sites.close()
    return refused.value


async def test_the_file_and_its_folder_are_made_for_the_owner_alone(tmp_path: Path) -> None:
    """It holds webhook secrets."""
    path = tmp_path / "new" / "folder" / "sites.db"
    with SqliteSites(path, clock=lambda: START) as sites:
        await sites.enroll(enrollment())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_rows_are_there_after_closing_and_opening(path: Path, sites: SqliteSites) -> None:
    """Closing is no end: the next call opens the file again, as does the next process."""
    site, _ = await sites.enroll(enrollment())
    sites.close()

    assert await sites.get(site.id) == site
    with SqliteSites(str(path), clock=lambda: START) as other:
        assert await other.list_sites() == [site]


@pytest.mark.parametrize("content", [b"not a database at all, " * 100, b"SQLite format 3\x00" + b"\xff" * 4096])
async def test_a_file_that_is_no_database_is_left_alone(path: Path, content: bytes) -> None:
    """One error, which names the file and says what to do; not a byte is changed."""
    path.write_bytes(content)
    error = await refusal(SqliteSites(path, clock=lambda: START), CorruptState)

    assert str(path) in str(error)
    assert "move it away" in str(error)
    assert path.read_bytes() == content


async def test_damage_inside_is_found(path: Path, sites: SqliteSites) -> None:
    """A disk that lost pages, or a copy that was cut short, is not served as an empty store."""
    for number in range(50):
        await sites.enroll(enrollment(f"https://s{number}.example"))
    sites.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\x00" * 16384 + whole[24576:])
    await refusal(SqliteSites(path, clock=lambda: START), CorruptState)

    path.write_bytes(whole[: len(whole) // 2])
    await refusal(SqliteSites(path, clock=lambda: START), CorruptState)


async def test_a_database_of_another_program_is_refused_untouched(path: Path) -> None:
    """It has a table of our name, but is not ours."""
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE crawl_sites (id INTEGER)")
    other.close()
    before = path.stat().st_size
    await refusal(SqliteSites(path, clock=lambda: START), CorruptState)

    assert path.stat().st_size == before


async def test_a_file_of_a_newer_program_is_refused(path: Path, sites: SqliteSites) -> None:
    """A laptop that went back a version says so instead of guessing."""
    await sites.check()
    sites.close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()

    assert (await refusal(SqliteSites(path, clock=lambda: START), Misconfigured)).code == "schema_ahead"


async def test_a_file_of_an_older_program_is_brought_up_to_date(path: Path) -> None:
    """Its rows stay, and what is new about them has its default."""
    with sqlite3.connect(path) as old:
        for statement in sqlite_file.STEPS[0].strip().split(";\n"):
            old.execute(statement)
        old.execute(
            "INSERT INTO crawl_sites (id, base_url, host, created_at, updated_at) VALUES (?, ?, ?, ?, ?)",
            ("1", "https://docs.example.com", "docs.example.com", "2026-01-01T00:00:00", "2026-01-01T00:00:00"),
        )
        old.execute("PRAGMA user_version = 1")
    old.close()
    with SqliteSites(path, clock=lambda: START) as sites:
        options = (await sites.get("1")).options

    assert options == SiteOptions()


async def test_a_path_that_cannot_be_a_file_is_a_setting_to_change(tmp_path: Path) -> None:
    """A folder, or something below a file."""
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "sites.db"):
        assert (await refusal(SqliteSites(path, clock=lambda: START), Misconfigured)).code == "store_not_writable"


async def test_a_full_disk_loses_nothing_that_was_there(sites: SqliteSites) -> None:
    """The write that does not fit is refused whole, reading goes on, and with room again so does writing."""
    site, _ = await sites.enroll(enrollment())
    claim = await sites.claim_site(site.id, lease_seconds=60, owner="worker-1")
    assert claim is not None
    before = await sites.get(site.id)
    with sites._file.transaction(write=False) as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreDown) as refused:
        await sites.commit_run(claim, commit(reason="x" * 100_000))

    assert refused.value.code == "store_full"
    assert await sites.get(site.id) == before
    assert await sites.runs(site.id) == []
    with sites._file.transaction(write=False) as db:
        db.execute("PRAGMA max_page_count = 1000000")
    assert (await sites.commit_run(claim, commit(reason="x" * 100_000))).last_outcome is Outcome.UPDATED


async def test_a_writer_that_holds_the_file_is_waited_for_and_then_named(
    path: Path, sites: SqliteSites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers read meanwhile; a writer gives up with an error that may be tried again."""
    site, _ = await sites.enroll(enrollment())
    monkeypatch.setattr(sqlite_file, "BUSY_MS", 0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with SqliteSites(path, clock=lambda: START) as second:
        with pytest.raises(StoreDown) as refused:
            await second.list_sites()
        assert refused.value.code == "store_busy"
        assert await sites.get(site.id) == site
        other.execute("ROLLBACK")
        assert await second.list_sites() == [site]
    other.close()


async def test_a_commit_that_cannot_be_written_whole_is_not_written_at_all(sites: SqliteSites) -> None:
    """The line of the run goes in first; when the row then refuses, the line is gone again."""
    site, _ = await sites.enroll(enrollment())
    claim = await sites.claim_site(site.id, lease_seconds=60, owner="worker-1")
    assert claim is not None
    before = await sites.get(site.id)
    with pytest.raises(InputError):
        await sites.commit_run(claim, commit(avg_change_interval_minutes=-1.0))

    assert await sites.get(site.id) == before
    assert await sites.runs(site.id) == []


async def test_text_that_is_no_text_is_an_input_error(sites: SqliteSites) -> None:
    """Half a surrogate pair cannot be stored; no driver's exception says so to the caller."""
    site, _ = await sites.enroll(enrollment())
    with pytest.raises(InputError):
        await sites.remember_webhook(site.id, "\udcff")


async def test_a_row_that_cannot_be_read_costs_itself_alone(path: Path, sites: SqliteSites) -> None:
    """Somebody edited the file: the other sites of the batch are worked on, and the row itself is an error."""
    bad, _ = await sites.enroll(enrollment("https://bad.example"))
    good, _ = await sites.enroll(enrollment("https://good.example"))
    with sqlite3.connect(path) as other:
        other.execute("UPDATE crawl_sites SET last_outcome = 'fine' WHERE id = ?", (bad.id,))
    other.close()
    claims = await sites.claim_due(limit=10, lease_seconds=60, owner="worker-1")

    assert [claim.site.id for claim in claims] == [good.id]
    with pytest.raises(CorruptState):
        await sites.get(bad.id)


CLAIM_ALL = """
import asyncio, sys
from datetime import UTC, datetime, timedelta
from runtime.models import Commit, Outcome
from runtime.sites.sqlite import SqliteSites

async def main(path, name):
    with SqliteSites(path, clock=lambda: datetime(2026, 12, 3, tzinfo=UTC)) as sites:
        while claims := await sites.claim_due(limit=2, lease_seconds=600, owner=name):
            for claim in claims:
                done = Commit(run_id=f"{name}-{claim.generation}", tick_id="t", outcome=Outcome.UPDATED, reason="",
                              next_crawl_at=claim.claimed_at + timedelta(days=1))
                await sites.commit_run(claim, done)
                print(claim.site.id, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_share_the_file(path: Path, sites: SqliteSites) -> None:
    """Four processes at once take each site once, and leave the file whole."""
    made = [(await sites.enroll(enrollment(f"https://s{number}.example")))[0].id for number in range(40)]
    sites.close()
    command = [sys.executable, "-c", CLAIM_ALL, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    workers = [
        subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True, env=environment)
        for name in ("a", "b", "c", "d")
    ]
    said = [worker.communicate()[0].split() for worker in workers]

    assert sorted(site_id for ids in said for site_id in ids) == sorted(made)
    await sites.check()
    assert {site.last_outcome for site in await sites.list_sites()} == {Outcome.UPDATED}


async def test_a_killed_writer_leaves_the_last_commit(path: Path) -> None:
    """SIGKILL in the middle of a transaction: what was committed is there, what was not is not."""
    code = """
import os, signal, sys
from runtime.sites.sqlite_file import SqliteFile
file = SqliteFile(sys.argv[1])
insert = "INSERT INTO crawl_sites (id, base_url, host, created_at, updated_at) VALUES (?, ?, 'h', 't', 't')"
with file.transaction(write=True) as db:
    db.execute(insert, ("1", "https://a.example"))
with file.transaction(write=True) as db:
    db.execute(insert, ("2", "https://b.example"))
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], env={**os.environ, "PYTHONPATH": str(Path.cwd())}, check=False
    )
    assert done.returncode == -9
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT id FROM crawl_sites").fetchall() == [("1",)]
    db.close()


async def test_an_event_loop_may_interleave_calls(sites: SqliteSites) -> None:
    """Many tasks on one loop, and threads as well, use the one connection in turn."""
    site, _ = await sites.enroll(enrollment())
    store = sites

    def in_a_thread() -> Site:
        return asyncio.run(store.get(site.id))

    answers = await asyncio.gather(
        *(asyncio.to_thread(in_a_thread) for _ in range(8)), *(sites.get(site.id) for _ in range(8))
    )

    assert answers == [await sites.get(site.id)] * 16
