"""The file under `SqliteSites`: its schema, its transactions, and what can be wrong with it in words of ours.

Write-ahead logging lets readers read during a write; `BEGIN IMMEDIATE` takes the write lock before the first read, so
that what a transaction decides on cannot change under it (https://sqlite.org/lang_transaction.html).
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import CorruptState, InputError, Misconfigured, ServiceError, StoreDown

BUSY_MS = 5_000
VERSION = 5

SCHEMA = """
CREATE TABLE crawl_sites (
    id TEXT PRIMARY KEY,
    base_url TEXT UNIQUE NOT NULL CHECK (base_url <> ''),
    host TEXT NOT NULL,
    max_pages INTEGER NOT NULL DEFAULT 50 CHECK (max_pages BETWEEN 1 AND 10000),
    desc_length INTEGER NOT NULL DEFAULT 500 CHECK (desc_length BETWEEN 50 AND 2000),
    recrawl_interval_minutes INTEGER NOT NULL DEFAULT 10080 CHECK (recrawl_interval_minutes BETWEEN 60 AND 525600),
    adaptive INTEGER NOT NULL DEFAULT 0 CHECK (adaptive IN (0, 1)),
    require_signature INTEGER NOT NULL DEFAULT 0 CHECK (require_signature IN (0, 1)),
    include TEXT NOT NULL DEFAULT '[]' CHECK (json_type(include) = 'array'),
    exclude TEXT NOT NULL DEFAULT '[]' CHECK (json_type(exclude) = 'array'),
    notify_url TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'disabled')),
    webhook_secret TEXT,
    previous_webhook_secret TEXT,
    previous_secret_until TEXT,
    sentinel_url TEXT,
    sentinel_last_modified TEXT,
    avg_change_interval_minutes REAL CHECK (avg_change_interval_minutes >= 0),
    latest_llms_hash TEXT,
    latest_llms_url TEXT,
    last_crawled_at TEXT,
    last_changed_at TEXT,
    last_checked_at TEXT,
    last_success_at TEXT,
    schedule TEXT NOT NULL DEFAULT '{}' CHECK (json_type(schedule) = 'object'),
    last_outcome TEXT,
    last_error TEXT,
    failure_count INTEGER NOT NULL DEFAULT 0 CHECK (failure_count >= 0),
    requested_at TEXT,
    request_due_at TEXT,
    request_slot_at TEXT,
    requested_generation INTEGER,
    next_crawl_at TEXT,
    generation INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    lease_owner TEXT,
    lease_until TEXT,
    claimed_at TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
    CHECK (status = 'active' OR next_crawl_at IS NULL)
);
CREATE INDEX idx_next_crawl ON crawl_sites (next_crawl_at) WHERE next_crawl_at IS NOT NULL;
CREATE TABLE crawl_runs (
    site_id TEXT NOT NULL REFERENCES crawl_sites ON DELETE CASCADE,
    generation INTEGER NOT NULL,
    id TEXT NOT NULL,
    tick_id TEXT,
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    error TEXT,
    crawled INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    counts TEXT NOT NULL,
    llms_hash TEXT,
    started_at TEXT NOT NULL,
    finished_at TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    PRIMARY KEY (site_id, generation)
) WITHOUT ROWID;
CREATE UNIQUE INDEX crawl_runs_newest ON crawl_runs (site_id, finished_at);
CREATE INDEX crawl_runs_tick ON crawl_runs (tick_id) WHERE tick_id IS NOT NULL;
CREATE TABLE webhook_messages (
    site_id TEXT NOT NULL REFERENCES crawl_sites ON DELETE CASCADE,
    message_id TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    PRIMARY KEY (site_id, message_id)
) WITHOUT ROWID;
CREATE INDEX webhook_messages_expiry ON webhook_messages (expires_at);
"""

CHOICES = """
ALTER TABLE crawl_sites ADD COLUMN llm_enhance INTEGER NOT NULL DEFAULT 0 CHECK (llm_enhance IN (0, 1));
ALTER TABLE crawl_sites ADD COLUMN use_brightdata INTEGER NOT NULL DEFAULT 1 CHECK (use_brightdata IN (0, 1))
"""

BUDGET = """
ALTER TABLE crawl_sites ADD COLUMN policy TEXT NOT NULL DEFAULT '' CHECK (policy IN ('', 'fixed', 'ewma', 'learned'));
ALTER TABLE crawl_sites ADD COLUMN weight REAL NOT NULL DEFAULT 1 CHECK (weight BETWEEN 0.01 AND 100);
ALTER TABLE crawl_sites ADD COLUMN next_crawl_reason TEXT;
ALTER TABLE crawl_sites ADD COLUMN charged_at TEXT;
CREATE INDEX crawl_sites_new ON crawl_sites (id) WHERE last_checked_at IS NULL;
CREATE TABLE crawl_spending (
    slot TEXT PRIMARY KEY,
    last_at TEXT NOT NULL,
    crawls INTEGER NOT NULL CHECK (crawls >= 0),
    asked INTEGER NOT NULL CHECK (asked >= 0)
) WITHOUT ROWID;
CREATE TABLE crawl_budget (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    price REAL NOT NULL CHECK (price > 0),
    priced_at TEXT NOT NULL
)
"""

PERSON = """
ALTER TABLE crawl_sites ADD COLUMN pinned_over TEXT;
ALTER TABLE crawl_sites ADD COLUMN confirmed TEXT CHECK (json_type(confirmed) = 'object')
"""

ALLOWANCES = """
CREATE TABLE unlock_spending (month TEXT PRIMARY KEY, calls INTEGER NOT NULL CHECK (calls >= 0)) WITHOUT ROWID;
CREATE TABLE live_clients (
    connection TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    opened_at TEXT NOT NULL,
    lease_until TEXT
) WITHOUT ROWID
"""

STEPS = (SCHEMA, CHOICES, BUDGET, PERSON, ALLOWANCES)
"""What brings a file of version n to version n + 1. A step is never edited once it was released."""


class SqliteFile:
    """One connection to one file, opened (and created, readable by its owner alone) by the first use."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        self._lock = threading.RLock()
        self._open: sqlite3.Connection | None = None

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """A transaction that ends with the block; an error rolls it back.

        :raises CorruptState: the file is damaged or no database. :raises Misconfigured: it cannot be used as it is.
        :raises StoreDown: busy, full, or failing. :raises InputError: a value breaks a constraint.
        """
        with self._lock, translated(self.path):
            if self._open is None:
                self._open = connect(self.path)
            db = self._open
            db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield db
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def close(self) -> None:
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None


def connect(path: str) -> sqlite3.Connection:
    """Open the file and bring its schema to `VERSION`."""
    if path != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    db = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
    try:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA foreign_keys = ON")
        migrate(db, path)
    except BaseException:
        db.close()
        raise
    return db


def migrate(db: sqlite3.Connection, path: str) -> None:
    """Bring a new file, or one of an older version, to `VERSION`, in one transaction."""
    db.execute("BEGIN IMMEDIATE")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise Misconfigured(
            f"{path} was written by a newer version of this program: upgrade, or choose another file",
            code="schema_ahead",
        )
    if version < VERSION:
        for step in STEPS[version:]:
            for statement in step.strip().split(";\n"):
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


@contextmanager
def translated(path: str) -> Iterator[None]:
    """SQLite's errors, and the file system's, as errors of ours: one sentence that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        if not hasattr(error, "sqlite_errorname"):
            raise  # the driver was misused: a fault of ours, and no state of the file
        raise translation(path, error.sqlite_errorname) from error
    except UnicodeEncodeError as error:
        raise InputError("request", "holds characters that no text can hold") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise translation(path, "SQLITE_FULL") from error
        raise Misconfigured(
            f"{path} cannot be opened: make the folder and the file writable for this user, or choose another path",
            code="store_not_writable",
        ) from error


def translation(path: str, name: str) -> ServiceError:
    """What to say for a result code (https://sqlite.org/rescode.html)."""
    kind = "_".join(name.split("_")[:2])
    if kind in ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_SCHEMA", "SQLITE_ERROR", "SQLITE_FORMAT"):
        return CorruptState(
            f"{path} is damaged or is not a file of this program: restore a copy, or move it away and enroll again",
            code="corrupt_store",
        )
    if kind in ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"):
        return Misconfigured(
            f"{path} cannot be written: make the file and its folder writable for this user, or choose another path",
            code="store_not_writable",
        )
    if kind == "SQLITE_CONSTRAINT":
        return InputError("site", "a value is outside its bounds")
    if kind == "SQLITE_FULL":
        return StoreDown(f"the disk that holds {path} is full: make room, nothing was lost", code="store_full")
    if kind in ("SQLITE_BUSY", "SQLITE_LOCKED"):
        return StoreDown(f"{path} is held by another process: try again", code="store_busy")
    return StoreDown(f"{path} could not be read or written: check the disk, then try again", code="store_down")
