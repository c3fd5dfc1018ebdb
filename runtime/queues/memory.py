"""The queue of one process: what a tick or a webhook queued waits here for the worker loop of the same process.

Nothing is lost with the process: a site whose message is gone becomes due again when its lease runs out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from runtime.ports import Message


class MemoryQueue:
    """First in, first out; for one event loop."""

    def __init__(self) -> None:
        self._waiting: deque[Message] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    async def send(self, messages: Sequence[Message]) -> list[Message]:
        self._waiting.extend(messages)
        return []

    async def receive(self, limit: int) -> list[Message]:
        """Take up to `limit` waiting messages, oldest first; none when none wait."""
        return [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]
