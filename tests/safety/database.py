"""A database with a fault: Supabase's API over a SQLite store, behind the product's own client.

Only the wire is replaced (an httpx transport), so that the client, its retries, its deadlines and what the product makes
of an error are real. A fault is named in words: `slow` and the like for one that never answers, a PostgreSQL condition,
or anything else for one that cannot be reached; `_once` or `_twice` at the end say how often, without it is for ever.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from postgrest import SyncPostgrestClient

from runtime.sites import sqlite_statements as sql
from runtime.sites.rpc import _remember_status
from runtime.sites.sqlite import SqliteSites
from runtime.sites.supabase import SupabaseSites

TIMES = {"once": 1, "twice": 2}
SQLSTATES = {
    "serialization_failure": "40001",
    "deadlock": "40P01",
    "deadlock_detected": "40P01",
    "conflict": "40001",
    "lock_timeout": "55P03",
    "lock_not_available": "55P03",
    "query_canceled": "57014",
    "statement_timeout": "57014",
    "too_many_connections": "53300",
    "admin_shutdown": "57P01",
    "read_only": "25006",
    "disk_full": "53100",
    "permission_denied": "42501",
    "insufficient_privilege": "42501",
}
SILENT = ("slow", "hang", "hangs", "timeout", "late", "dead")


class Fault:
    def __init__(self, words: str) -> None:
        name, _, times = words.lower().rpartition("_")
        self.name, self.left = (name, TIMES[times]) if times in TIMES else (words.lower(), -1)
        self.released = threading.Event()
        first = self.name.split("_")[0]
        if self.name in SQLSTATES:
            self._act: Callable[[], httpx.Response] = self._refuse
        elif first in SILENT:
            self._act = self._wait
        else:
            self._act = self._vanish

    def strike(self) -> httpx.Response | None:
        """The answer of a database that fails; None once it is well again."""
        if self.left == 0:
            return None
        self.left -= 1
        return self._act()

    def _refuse(self) -> httpx.Response:
        body = {
            "code": SQLSTATES[self.name],
            "message": f"{self.name}: boom at /var/task",
            "details": None,
            "hint": None,
        }
        return httpx.Response(409, json=body)

    def _vanish(self) -> httpx.Response:
        raise httpx.ConnectError("boom: no route to db.internal")

    def _wait(self) -> httpx.Response:
        self.released.wait(30)
        raise httpx.ReadTimeout("boom: gave up")


@contextmanager
def faulty(sites: SqliteSites, fault: Fault) -> Iterator[SupabaseSites]:
    """The store's rows through a database that has the fault."""

    def answer(request: httpx.Request) -> httpx.Response:
        given = json.loads(request.content)
        struck = fault.strike()
        return struck or httpx.Response(200, json=asyncio.run(call(request.url.path.rpartition("/")[2], given)))

    async def call(function: str, given: dict[str, Any]) -> Any:
        if function == "find_site":
            with sites._file.transaction(write=False) as db:
                return sql.by_url(db, given["p_base_url"])
        assert function == "request_recrawl", f"a webhook does not call {function}"
        made = await sites.request_recrawl(
            given["p_site_id"],
            debounce_seconds=given["p_debounce_seconds"],
            message_id=given["p_message_id"],
            replay_seconds=given["p_replay_seconds"],
        )
        return {
            "next_crawl_at": made.next_crawl_at.isoformat(),
            "accepted": made.accepted,
            "run_at": None if made.run_at is None else made.run_at.isoformat(),
            "replayed": made.replayed,
        }

    session = httpx.Client(transport=httpx.MockTransport(answer), event_hooks={"response": [_remember_status]})
    client = SyncPostgrestClient("https://db.internal/rest/v1", http_client=session, retry_enabled=False)
    store = SupabaseSites("https://db.internal", "key", client=client)
    try:
        yield store
    finally:
        fault.released.set()
        store.close()
        session.close()
