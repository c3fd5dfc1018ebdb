"""A service for one row of the webhook cases: real rows in memory, the fixture's clock, everything it says written down."""

from __future__ import annotations

import base64
import json
import logging
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from runtime.api import Api, Secrets
from runtime.dispatch import tick
from runtime.errors import Refused
from runtime.handlers.webhook import parse_event, respond
from runtime.models import Commit, Outcome, SiteOptions
from runtime.ports import Message, World
from runtime.publish.folder import FolderPublisher, FolderStates
from runtime.queues.memory import MemoryQueue
from runtime.reading import Response
from runtime.registry import Enrollment, Sites
from runtime.settings import Settings
from runtime.sites.rows import stamp
from runtime.sites.sqlite import SqliteSites

Row = dict[str, Any]
Event = dict[str, Any]
WEEK = timedelta(days=7)
STATUSES = {"active": "active", "failing": "active", "paused": "paused", "disabled": "disabled"}


class NoWeb:
    """A webhook fetches nothing."""

    async def get(self, url: str, **_: Any) -> Response:
        raise Refused(url, "a webhook fetches nothing", code="test")

    async def post(self, url: str, **_: Any) -> Response:
        raise Refused(url, "a webhook fetches nothing", code="test")

    async def set_pace(self, host: str, delay_seconds: float) -> None:
        raise AssertionError(host)

    async def aclose(self) -> None:
        """Nothing was opened."""


@dataclass
class Bench:
    """`said` is every event, `log` every line at every level; a quiet one keeps neither."""

    fixture: dict[str, Any]
    quiet: bool = False
    store: SqliteSites = field(init=False)
    world: World = field(init=False)
    now: datetime = field(init=False)
    cron_secret: str = field(init=False)
    said: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.now = moment(self.fixture["now"])
        self.cron_secret = self.fixture["cron_secret"]
        self.store = SqliteSites(":memory:", clock=lambda: self.now)
        self.world = World(
            web=NoWeb(),
            sites=self.store,
            publisher=FolderPublisher(Path("/nonexistent"), "https://files.example.org"),
            states=FolderStates(Path("/nonexistent")),
            queue=MemoryQueue(),
            events=self,
            clock=lambda: self.now,
            settings=Settings(),
        )

    async def seed(self) -> None:
        for site in self.fixture["sites"].values():
            await self._seed(site)

    async def _seed(self, site: Mapping[str, Any]) -> None:
        known = {
            "base_url", "secret", "previous_secret", "previous_valid_until", "status", "next_crawl_at",
            "last_crawled_at", "consecutive_failures", "last_failed_at", "lease_until",
        }  # fmt: skip
        if set(site) - known:
            raise KeyError(f"the fixture's {sorted(set(site) - known)} is not understood")
        row, _ = await self.store.enroll(
            Enrollment(base_url=site["base_url"], options=SiteOptions(), webhook_secret=site["secret"] or "")
        )
        columns: Row = {
            "webhook_secret": site["secret"],
            "previous_webhook_secret": site.get("previous_secret"),
            "previous_secret_until": text(site.get("previous_valid_until")),
            "status": STATUSES[site["status"]],
            "next_crawl_at": text(site["next_crawl_at"]),
            "last_crawled_at": text(site.get("last_crawled_at")),
            "failure_count": site.get("consecutive_failures", 0),
        }
        if site.get("last_failed_at"):
            columns |= {"last_checked_at": text(site["last_failed_at"]), "last_outcome": "failed"}
        if site.get("lease_until"):
            columns |= {"lease_owner": "tick", "lease_until": text(site["lease_until"]), "generation": 1, "attempts": 1}
            columns |= {"claimed_at": stamp(self.now - timedelta(seconds=10))}
        self.set(row.id, **columns)

    def set(self, site_id: str, **columns: Any) -> None:
        """What no call of the store would do: put a row into a state."""
        assignments = ", ".join(f"{name} = :{name}" for name in columns)
        with self.store._file.transaction(write=True) as db:
            db.execute(f"UPDATE crawl_sites SET {assignments} WHERE id = :id", {**columns, "id": site_id})  # noqa: S608 - names of ours

    def rows(self) -> dict[str, Row]:
        """All rows by base URL."""
        with self.store._file.transaction(write=False) as db:
            return {row["base_url"]: dict(row) for row in db.execute("SELECT * FROM crawl_sites")}

    def event(self, name: str, **fields: Any) -> None:
        if self.quiet:
            return
        self.said.append((name, fields))
        self.log.append(json.dumps({"event": name, **fields}, default=str))

    async def api(self, sites: Sites | None = None) -> Api:
        world = self.world if sites is None else replace(self.world, sites=sites)

        async def secrets() -> Secrets:
            return Secrets(cron=tuple(filter(None, [self.cron_secret])), api_keys=("an-api-key",))

        async def start() -> int:
            return (await tick(world, tick_id=str(uuid.uuid4()))).total

        return Api(world, secrets, start)

    async def crawls(self, *, seconds: int) -> list[str]:
        """Work off the queue and tick every minute for a while, each crawl taking no time; gives the sites crawled."""
        done, end = await self.work(), self.now + timedelta(seconds=seconds)
        while self.now < end:
            self.now = min(end, self.now + timedelta(seconds=60))
            done += await self.work()
        return done

    async def work(self) -> list[str]:
        """What workers and one tick do at this moment; gives the base URLs of the sites crawled."""
        done: list[str] = []
        await tick(self.world, tick_id=str(uuid.uuid4()))
        assert isinstance(self.world.queue, MemoryQueue)
        messages: list[Message] = await self.world.queue.receive(1_000)
        for message in messages:
            claim = message.claim or await self.store.claim_site(
                message.site_id, lease_seconds=330, owner="worker", force=message.force
            )
            if claim is None:
                continue
            commit = Commit(
                run_id=str(uuid.uuid4()),
                tick_id=message.tick_id,
                outcome=Outcome.UNCHANGED_CONTENT,
                reason="the same",
                next_crawl_at=self.now + WEEK,
                crawled=True,
            )
            await self.store.commit_run(claim, commit)
            done.append(claim.site.base_url)
        return done


def event_of(request: Mapping[str, Any]) -> Event:
    """The function-URL event (payload format 2.0) of a row's request."""
    path, _, query = request["path"].partition("?")
    body = request.get("body")
    if isinstance(body, str) and body.startswith("@repeat:"):
        _, unit, count = body.rsplit(":", 2)
        body = unit * int(count)
    encoded = bool(request.get("isBase64Encoded"))
    if "body_b64" in request:
        body, encoded = request["body_b64"], True
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": dict(request["headers"]),
        "requestContext": {
            "requestId": str(uuid.uuid4()),
            "domainName": "abc.lambda-url.eu-central-1.on.aws",
            "http": {"method": request["method"], "path": path, "sourceIp": "198.51.100.7"},
        },
        **({} if body is None else {"body": body}),
        "isBase64Encoded": encoded,
    }


def raw_body(event: Event) -> bytes:
    body = event.get("body") or ""
    try:
        return base64.b64decode(body) if event["isBase64Encoded"] else body.encode()
    except ValueError:
        return b""


async def call(api: Api, event: Event) -> dict[str, Any]:
    """The response as the function URL gives it: the door's own parsing, the product's answer, the door's own form."""
    answer = await api.handle(parse_event(event))
    return respond(answer.status, dict(answer.body), dict(answer.headers))


@contextmanager
def listening(lines: list[str]) -> Iterator[None]:
    """Everything that is logged, at every level, by anybody in this process."""
    root, before = logging.getLogger(), logging.getLogger().level
    handler = logging.Handler(level=0)
    handler.emit = lambda record: lines.append(f"{record.getMessage()} {record.exc_info or ''}")  # type: ignore[method-assign]
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.setLevel(before)
        root.removeHandler(handler)


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def text(seconds: float | None) -> str | None:
    return None if seconds is None else stamp(moment(seconds))


CONTEXT = SimpleNamespace(aws_request_id="invocation-1", get_remaining_time_in_millis=lambda: 10_000)
