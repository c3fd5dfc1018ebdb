"""One row of the webhook cases, played: the service put into the row's state, its request sent, what came of it kept."""

from __future__ import annotations

import asyncio
import builtins
import io
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from runtime.api import Api
from runtime.models import Site
from runtime.ports import Message
from runtime.registry import Requested
from tests.safety.bench import CONTEXT, Bench, Event, Row, call, event_of, listening, raw_body
from tests.safety.database import Fault, faulty
from tests.safety.vault import silent_process

Ask = Callable[[Event], Awaitable[dict[str, Any]]]


@dataclass
class Played:
    """`before` are the rows of the database before the first call, `after` those after it, `end` those after the last;
    `answers` are the responses in turn, `slowest` the seconds of the slowest.
    """

    row: Row
    fixture: dict[str, Any]
    others: Mapping[str, Row] = field(default_factory=dict)
    bench: Bench = field(init=False)
    before: dict[str, Row] = field(default_factory=dict)
    after: dict[str, Row] = field(default_factory=dict)
    end: dict[str, Row] = field(default_factory=dict)
    answers: list[dict[str, Any]] = field(default_factory=list)
    slowest: float = 0.0

    def play(self) -> None:
        """:raises KeyError: the row's state is not understood."""
        asyncio.run(self._play())

    def site_in(self, rows: dict[str, Row]) -> Row | None:
        """The row of the site that the request names."""
        url = base_url_of(event_of(self.row["request"]))
        return next((row for base, row in rows.items() if url is not None and spelled(base) == spelled(url)), None)

    def given_site(self) -> dict[str, Any]:
        """The fixture's entry of that site; empty when there is none."""
        url = base_url_of(event_of(self.row["request"])) or ""
        return next((s for s in self.fixture["sites"].values() if spelled(s["base_url"]) == spelled(url)), {})

    async def _play(self) -> None:
        self.bench = Bench(self.fixture)
        await self.bench.seed()
        with ExitStack() as stack:
            stack.enter_context(listening(self.bench.log))
            ask = await self._prepare(stack)
            self.before = self.bench.rows()
            events = [event_of(self.row["request"]) for _ in range(self.row.get("repeat", 1))]
            if "sweeps" in self.row["expect"]:
                self.answers = await asyncio.gather(*(self._timed(ask, event) for event in events))
            else:
                for event in events:
                    self.answers.append(await self._timed(ask, event))
                    self.after = self.after or self.bench.rows()
            self.end = self.bench.rows()
            self.after = self.after or self.end
        self.bench.store.close()

    async def _timed(self, ask: Ask, event: Event) -> dict[str, Any]:
        started = time.perf_counter()
        answer = await ask(event)
        self.slowest = max(self.slowest, time.perf_counter() - started)
        return answer

    async def _prepare(self, stack: ExitStack) -> Ask:
        bench, state = self.bench, dict(self.row.get("state") or {})
        state.pop("seed_compat_404", None)  # decided: always on
        bench.now += timedelta(seconds=state.pop("advance_s", 0))
        if state.pop("site_requires_hmac", False):
            for row in bench.rows().values():
                bench.set(row["id"], require_signature=1)
        if "cron_secret" in state:
            bench.cron_secret = state.pop("cron_secret") or ""
        for message_id in state.pop("seen_ids", ()):
            for row in bench.rows().values():
                await bench.store.remember_webhook(row["id"], message_id)
        if state.pop("queue", None) is not None:
            bench.world = replace(bench.world, queue=_NoQueue())
        words, raised, vault = state.pop("db", None), state.pop("raise", None), state.pop("secrets", None)
        if state:
            raise KeyError(f"state {sorted(state)}")
        if vault is not None:
            return self._without_secrets(stack)
        api = await bench.api()
        if words is not None:
            api = await bench.api(stack.enter_context(faulty(bench.store, Fault(words))))
        if raised is not None:
            api = _breaking(api, raised)
        return lambda event: call(api, event)

    def _without_secrets(self, stack: ExitStack) -> Ask:
        """The whole door in a fresh process, with a secret store that does not answer."""
        from runtime.handlers import webhook as door

        stack.enter_context(silent_process(door, _Lines(self.bench.log)))

        async def ask(event: Event) -> dict[str, Any]:
            return await asyncio.to_thread(door.handler, event, CONTEXT)

        return ask


def base_url_of(event: Event) -> str | None:
    """The site that a request names, if it names one at all."""
    try:
        body = json.loads(raw_body(event).decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    data = body.get("data")
    url = body.get("base_url", data.get("base_url") if isinstance(data, dict) else None)
    return url if isinstance(url, str) else None


def spelled(url: str) -> str:
    """One spelling for the variants of a base URL that name the same site; what is no URL stays as it is."""
    found = re.fullmatch(r"\s*(https?)://([^/?#\s]+?)\.?(:\d+)?(/[^?#\s]*)?([?#]\S*)?\s*", url, re.IGNORECASE)
    if found is None:
        return url
    scheme, host, port, path = found[1].lower(), found[2].lower(), found[3] or "", (found[4] or "").rstrip("/")
    return f"{scheme}://{host}{'' if port == {'http': ':80', 'https': ':443'}[scheme] else port}{path}"


class _Lines(io.StringIO):
    """Standard output as lines of a log."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def write(self, text: str) -> int:
        self._lines.append(text)
        return len(text)


class _NoQueue:
    async def send(self, messages: Sequence[Message]) -> list[Message]:
        return list(messages)


def _breaking(api: Api, raised: str) -> Api:
    """The API over a store, and a tick, with a fault of ours: an exception that nobody expects."""
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", raised)
    kind = getattr(builtins, found[1], None) if found else None
    if found is None or not isinstance(kind, type) or not issubclass(kind, Exception):
        raise KeyError(f"raise {raised}")
    error = kind((found[2] or "").strip("'\""))

    class Broken:
        async def find(self, base_url: str) -> Site | None:
            raise error

        async def request_recrawl(self, site_id: str, **_: Any) -> Requested:
            raise error

    async def tick() -> int:
        raise error

    world = replace(api.world, sites=Broken())  # type: ignore[arg-type]
    return replace(api, world=world, tick=tick)
