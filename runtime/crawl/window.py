"""Requests sent ahead of time: what was begun first is taken first, whichever answer comes first."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Window(Generic[T]):
    """Work under way, in the order in which it was begun. `len` counts what was begun and not yet taken."""

    def __init__(self) -> None:
        self._tasks: deque[asyncio.Task[T]] = deque()

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, work: Coroutine[Any, Any, T]) -> None:
        self._tasks.append(asyncio.ensure_future(work))

    async def take(self) -> T:
        """The result of the oldest. :raises IndexError: nothing was begun."""
        return await self._tasks.popleft()

    async def close(self) -> None:
        """Give up what was not taken."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
