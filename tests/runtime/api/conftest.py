"""The API over real rows, folders and an in-process queue, with a clock that the test moves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from runtime.api import Api, Secrets
from runtime.dispatch import tick
from runtime.http import Answer, Request
from runtime.models import Commit, Outcome, Site
from runtime.ports import Message, World
from runtime.publish.folder import FolderPublisher, FolderStates
from runtime.queues.memory import MemoryQueue
from runtime.settings import Settings
from runtime.sites.sqlite import SqliteSites
from tests.safety.bench import NoWeb

KEY, OLD_KEY, CRON = "an-api-key-0123456789", "the-api-key-before", "a-cron-secret-0123456789"
BASE = "https://docs.example.com"
START = datetime(2026, 12, 2, 12, tzinfo=UTC)
WEEK = timedelta(days=7)


@dataclass
class Service:
    """`queued` takes what waits for workers; `said` is every event."""

    home: Path
    now: datetime = START
    said: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    secrets: Secrets = field(default_factory=lambda: Secrets(cron=(CRON,), api_keys=(KEY, OLD_KEY)))

    def __post_init__(self) -> None:
        self.sites = SqliteSites(self.home / "sites.db", clock=lambda: self.now)
        self.queue = MemoryQueue(lambda: self.now.timestamp())  # noqa: PLW0108 - `now` is another value each time
        self.world = World(
            web=NoWeb(),
            sites=self.sites,
            publisher=FolderPublisher(self.home / "published", "https://files.example.org"),
            states=FolderStates(self.home / "states"),
            queue=self.queue,
            events=self,
            clock=lambda: self.now,
            settings=Settings(),
        )
        self.api = Api(self.world, self._secrets, self._tick)

    async def _secrets(self) -> Secrets:
        return self.secrets

    async def _tick(self) -> int:
        return (await tick(self.world, tick_id=str(uuid4()))).total

    def event(self, name: str, **fields: Any) -> None:
        self.said.append((name, fields))

    async def call(
        self, method: str, path: str, body: Any = None, *, key: str | None = KEY, headers: dict[str, str] | None = None
    ) -> Answer:
        """One call; a body that is not bytes is sent as JSON."""
        path, _, query = path.partition("?")
        fields = dict(headers or {}) | ({} if key is None else {"x-api-key": key})
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = await self.api.handle(
            Request(method=method, path=path, query=query, headers=fields, body=raw, id="request-1")
        )
        json.loads(answer.encoded())
        return answer

    async def enroll(self, url: str = BASE, **options: Any) -> dict[str, Any]:
        answer = await self.call("POST", "/sites", {"url": url, **options})
        assert answer.status == 201, answer.body
        return dict(answer.body)

    async def crawl(self, site_id: str, outcome: Outcome = Outcome.UPDATED, **fields: Any) -> Site:
        """A run of a site, planned again for a week later; what is queued is gone with it."""
        self.queued_now = await self.queue.receive(1_000)
        claim = await self.sites.claim_site(site_id, lease_seconds=60, owner="worker")
        assert claim is not None
        given: dict[str, Any] = {"next_crawl_at": self.now + WEEK, "reason": "because", "crawled": True, **fields}
        return await self.sites.commit_run(claim, Commit(run_id=str(uuid4()), tick_id=None, outcome=outcome, **given))

    async def queued(self) -> list[Message]:
        return await self.queue.receive(1_000)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    yield made
    made.sites.close()
