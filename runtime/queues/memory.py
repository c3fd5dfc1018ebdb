"""The queue of one process: what a tick or a webhook queued waits here for the worker loop of the same process.

Nothing is lost with the process: a site whose message is gone becomes due again when its lease runs out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from runtime.ports import Message


class MemoryQueue:
    """First in, first out; for one event loop. `monotonic` is a clock in seconds, the loop's own by default."""

    def __init__(self, monotonic: Callable[[], float] | None = None) -> None:
        self._monotonic = monotonic
        self._waiting: deque[Message] = deque()
        self._kept_back: list[tuple[float, Message]] = []

    def __len__(self) -> int:
        return len(self._waiting) + len(self._kept_back)

    async def send(self, messages: Sequence[Message]) -> list[Message]:
        now = self._now()
        self._kept_back += [(now + each.delay_seconds, each) for each in messages if each.delay_seconds > 0]
        self._waiting.extend(each for each in messages if each.delay_seconds <= 0)
        return []

    async def receive(self, limit: int) -> list[Message]:
        """Take up to `limit` waiting messages, oldest first; none when none wait."""
        now = self._now()
        ripe = sorted((pair for pair in self._kept_back if pair[0] <= now), key=lambda pair: pair[0])
        self._kept_back = [pair for pair in self._kept_back if pair[0] > now]
        self._waiting.extend(replace(each, delay_seconds=0) for _, each in ripe)
        return [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]

    def _now(self) -> float:
        return self._monotonic() if self._monotonic is not None else asyncio.get_running_loop().time()
