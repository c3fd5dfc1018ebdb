"""What is particular to folders: the clean tree, edits by hand, full disks, locks and killed writers."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import InputError, ServiceError, StoreDown
from runtime.publish.files import FileWriter
from runtime.publish.folder import FolderPublisher, FolderStates

KEY = "docs.example.com/llms.txt"
OLD, NEW = b"# Old\n" * 2_000, b"# New\n" * 3_000


def digest(body: bytes) -> str:
    return sha256(body).hexdigest()


def files_below(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def publisher(tmp_path: Path) -> FolderPublisher:
    return FolderPublisher(tmp_path / "public", "http://127.0.0.1:8000")


async def put(publisher: FolderPublisher, body: bytes, expected: str | None, *, key: str = KEY) -> str:
    return await publisher.put(key, body, sha256=digest(body), generation=1, expected_etag=expected)


async def test_the_published_tree_holds_published_files_only(publisher: FolderPublisher, tmp_path: Path) -> None:
    """A static server of the tree shows no metadata, lock or temporary file, and no folder of a removed site."""
    etag = await put(publisher, OLD, None)
    etag = await put(publisher, NEW, etag)
    await publisher.put_version("docs.example.com/versions/1.txt", OLD, sha256=digest(OLD))
    await put(publisher, OLD, None, key="other.example/llms.txt")
    assert {KEY, "docs.example.com/versions/1.txt", "other.example/llms.txt"} == files_below(tmp_path / "public")

    other = await publisher.read("other.example/llms.txt")
    assert other is not None
    await publisher.delete("other.example/llms.txt", expected_etag=other.etag)

    assert not (tmp_path / "public" / "other.example").exists()
    assert (tmp_path / "public").stat().st_mode & 0o777 == 0o777 & ~_umask()


async def test_metadata_does_not_pile_up(publisher: FolderPublisher, tmp_path: Path) -> None:
    """One record an object, however often it is replaced; none after it is removed."""
    etag = None
    for number in range(5):
        etag = await put(publisher, str(number).encode(), etag)
    private = tmp_path / ".public-metadata"
    assert len(list(private.glob("*/*.json"))) == 1

    assert etag is not None
    await publisher.delete(KEY, expected_etag=etag)

    assert list(private.glob("*/*.json")) == []


async def test_an_edit_by_hand_is_seen(publisher: FolderPublisher, tmp_path: Path) -> None:
    """F-51: other bytes have another ETag and claim no hash, so that the next run heals the object."""
    etag = await put(publisher, OLD, None)
    (tmp_path / "public" / KEY).write_bytes(b"edited")
    stored = await publisher.read(KEY)

    assert stored is not None
    assert stored.etag != etag
    assert (stored.body, stored.sha256) == (b"edited", "")


@pytest.mark.parametrize("record", [b"", b"[]", b"{", b'{"sha256": 7}', b"\xff"])
async def test_a_damaged_record_claims_nothing(publisher: FolderPublisher, tmp_path: Path, record: bytes) -> None:
    """Metadata that is not ours is no hash, and no error either: the object is simply published again."""
    await put(publisher, OLD, None)
    next((tmp_path / ".public-metadata").glob("*/*.json")).write_bytes(record)
    stored = await publisher.read(KEY)

    assert stored is not None
    assert (stored.body, stored.sha256) == (OLD, "")


async def test_a_file_cannot_be_a_folder_too(publisher: FolderPublisher) -> None:
    """Two keys of which one continues the other do not fit into a tree; the second one is refused with a reason."""
    await put(publisher, OLD, None, key="example.com/docs")
    with pytest.raises(InputError, match="folder"):
        await put(publisher, OLD, None, key="example.com/docs/llms.txt")
    await put(publisher, OLD, None)
    with pytest.raises(InputError, match="folder"):
        await put(publisher, OLD, None, key="docs.example.com")


def failing_on_call(monkeypatch: pytest.MonkeyPatch, number: int, code: int) -> list[int]:
    """Let the `number`-th of the OS calls that write fail with `code`; gives the calls counted so far."""
    counted: list[int] = [0]

    def failing(real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            counted[0] += 1
            if counted[0] == number:
                raise OSError(code, os.strerror(code))
            return real(*args, **kwargs)

        return call

    for name in ("open", "fsync", "replace", "mkdir"):
        monkeypatch.setattr(os, name, failing(getattr(os, name)))
    return counted


@pytest.mark.parametrize(
    ("code", "name", "word"),
    [(errno.ENOSPC, "disk_full", "room"), (errno.EROFS, "store_denied", "read-only"), (errno.EIO, "disk_error", "EIO")],
)
async def test_whichever_call_fails_the_file_is_old_or_new(tmp_path: Path, code: int, name: str, word: str) -> None:
    """The N-th disk call of a publish fails, for every N: one sentence, no half file, and the next try succeeds."""
    for number in range(1, 100):
        publisher = FolderPublisher(tmp_path / f"{number}" / "public", "http://127.0.0.1:8000")
        etag = await put(publisher, OLD, None)
        with pytest.MonkeyPatch.context() as monkeypatch:
            counted = failing_on_call(monkeypatch, number, code)
            (failure,) = await asyncio.gather(put(publisher, NEW, etag), return_exceptions=True)
        if not isinstance(failure, str):
            assert isinstance(failure, StoreDown)
            assert (failure.code, word in str(failure)) == (name, True)
        stored = await publisher.read(KEY)
        assert stored is not None
        assert stored.body in (OLD, NEW)
        assert stored.sha256 == digest(stored.body)
        assert files_below(tmp_path / f"{number}" / "public") == {KEY}
        await put(publisher, NEW, etag)
        if counted[0] < number:
            break

    assert number > 8


def test_a_disk_that_is_full_leaves_the_old_file(tmp_path: Path) -> None:
    """A real limit on file size in a process of its own: one sentence that says what to do, old bytes stay."""
    publisher = FolderPublisher(tmp_path / "public", "http://127.0.0.1:8000")
    etag = asyncio.run(put(publisher, OLD, None))
    script = f"""
import asyncio, resource
from pathlib import Path
from runtime.errors import StoreDown
from runtime.publish.folder import FolderPublisher, FolderStates
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
async def main():
    for call in (
        FolderPublisher(Path({str(tmp_path / "public")!r}), "http://h").put(
            {KEY!r}, b"x" * 50_000, sha256="x", generation=2, expected_etag={etag!r}),
        FolderStates(Path({str(tmp_path / "states")!r})).save("site", b"x" * 50_000),
    ):
        try:
            await call
        except StoreDown as error:
            print(error.code, error)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=20)
    stored = asyncio.run(publisher.read(KEY))

    assert done.stdout.count("disk_full") == 2
    assert "free some space" in done.stdout
    assert stored is not None
    assert (OLD, etag) == (stored.body, stored.etag)
    assert asyncio.run(FolderStates(tmp_path / "states").load("site")) is None
    assert files_below(tmp_path / "states") == {".writing/lock"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    """Missing permissions are one sentence that says what to check."""
    tmp_path.chmod(0o500)
    with pytest.raises(StoreDown, match="permissions") as raised:
        asyncio.run(FolderStates(tmp_path / "states").save("site", b"x"))
    tmp_path.chmod(0o700)

    assert raised.value.code == "store_denied"


def test_a_stopped_writer_does_not_stop_the_others(tmp_path: Path) -> None:
    """A lock that is not given back in time is an error that names it, not a wait for ever."""
    files = FileWriter(tmp_path / "private", lock_seconds=0.05)
    with files.exclusive():
        pass
    descriptor = os.open(tmp_path / "private" / "lock", os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(StoreDown, match="lock") as raised, files.exclusive():
        pytest.fail("the lock was given twice")
    os.close(descriptor)
    with files.exclusive():
        files.replace(tmp_path / "file", b"x")

    assert raised.value.code == "store_locked"
    assert (tmp_path / "file").read_bytes() == b"x"


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    """SIGKILL at any moment of a publish: the file is one of the published ones, and the next writer goes on."""
    script = f"""
import asyncio, itertools
from hashlib import sha256
from pathlib import Path
from runtime.publish.folder import FolderPublisher
async def main():
    publisher = FolderPublisher(Path({str(tmp_path / "public")!r}), "http://h")
    for number in itertools.count():
        body = bytes([65 + number % 26]) * 100_000
        stored = await publisher.read({KEY!r})
        await publisher.put({KEY!r}, body, sha256=sha256(body).hexdigest(), generation=number,
                            expected_etag=stored and stored.etag)
        print(number, flush=True)
asyncio.run(main())
"""
    publisher = FolderPublisher(tmp_path / "public", "http://127.0.0.1:8000")
    whole = {bytes([65 + number]) * 100_000 for number in range(26)}
    for round_ in range(6):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _ in range(3 + round_ * 2):
                writer.stdout.readline()
            writer.kill()
        stored = asyncio.run(publisher.read(KEY))
        assert stored is not None
        assert stored.body in whole
        assert stored.sha256 == digest(stored.body)
        assert files_below(tmp_path / "public") == {KEY}
        asyncio.run(put(publisher, OLD, stored.etag))
        after = asyncio.run(publisher.read(KEY))
        assert after is not None
        assert after.body == OLD


async def test_states_are_for_their_owner_only(tmp_path: Path) -> None:
    """What the last run remembered is private, as the bucket for it is."""
    await FolderStates(tmp_path / "states").save("site", b"x")

    assert (tmp_path / "states" / "site").stat().st_mode & 0o777 == 0o600


def test_an_error_of_the_service_is_passed_on(tmp_path: Path) -> None:
    """Only errors of the operating system are explained; ours keep their own words."""
    with pytest.raises(ServiceError, match="ours"), FileWriter(tmp_path).exclusive():
        raise ServiceError("ours")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
