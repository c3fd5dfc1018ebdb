"""Files that are replaced as a whole: locked against other writers, synced, renamed, and honest about a full disk."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runtime.errors import InputError, StoreDown

LOCK_SECONDS = 10.0
"""How long a writer waits for another one: a write takes milliseconds, so a longer wait is a stopped process."""

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NOT_ALLOWED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NAME_TAKEN = frozenset({errno.ENOTDIR, errno.EISDIR, errno.EEXIST})


class FileWriter:
    """Replaces files under a lock that holds between threads and processes.

    `private` is a folder on the same file system as the files, out of readers' sight; it gets the lock file and the
    one file that is being written. A killed writer leaves nothing behind but that file, which the next one truncates.
    """

    def __init__(self, private: Path, *, mode: int = 0o644, lock_seconds: float = LOCK_SECONDS) -> None:
        self._private = private
        self._mode = mode
        self._lock_seconds = lock_seconds

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the lock; OS errors inside become one sentence.

        :raises StoreDown: the disk is full, files may not be written, or another process keeps the lock.
        :raises InputError: a file has the name of a folder that is needed, or the other way round.
        """
        with explained(self._private.parent):
            self._private.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._private / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._acquire(lock)
                yield
            finally:
                os.close(lock)  # closing the descriptor releases the lock

    def replace(self, path: Path, body: bytes) -> None:
        """Give `path` the bytes `body`, durably; to be called inside `exclusive()`.

        Whatever happens, a reader of `path` finds all of the old bytes or all of the new ones.
        """
        new = self._private / "writing"
        try:
            self._write(new, body)
            path.parent.mkdir(parents=True, exist_ok=True)
            new.replace(path)
        except OSError:
            with suppress(OSError):
                new.unlink()
            raise
        self.sync_folder(path.parent)

    def sync_folder(self, folder: Path) -> None:
        """Make renames and removals in `folder` survive a power cut."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _write(self, path: Path, body: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        with open(os.open(path, flags, self._mode), "wb") as file:  # noqa: PTH123 - opened by descriptor for its mode
            file.write(body)
            file.flush()
            os.fsync(file.fileno())

    def _acquire(self, lock: int) -> None:
        """Take the lock without blocking for ever: a stopped process must not stop this one."""
        deadline = time.monotonic() + self._lock_seconds
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise StoreDown(
                        f"another process has been writing to {self._private.parent} for more than "
                        f"{self._lock_seconds:g} seconds: see which one holds {self._private / 'lock'}",
                        code="store_locked",
                    ) from None
                time.sleep(0.01)
            else:
                return


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn an OS error about `folder` into an error that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise StoreDown(
                f"there is no room left to write in {folder}: free some space; the next run tries again",
                code="disk_full",
            ) from None
        if error.errno in _NOT_ALLOWED:
            raise StoreDown(
                f"files in {folder} may not be read or written: check its owner, its permissions and that "
                "it is not mounted read-only",
                code="store_denied",
            ) from None
        if error.errno in _NAME_TAKEN:
            raise InputError("key", "one object would need the name of another one's folder") from None
        name = errno.errorcode.get(error.errno or 0, "unknown error")
        raise StoreDown(f"the disk under {folder} does not work ({name}): check it", code="disk_error") from None
