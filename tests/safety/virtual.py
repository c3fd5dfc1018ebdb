"""An event loop whose clock jumps: nobody sleeps, and a deadline of 15 s passes in no time.

When nothing is ready, time moves on to the next timer at once. Everything that happens must happen inside the loop (or
over sockets whose both ends are in it); a loop that waits for something outside is a deadlock, and says so.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("the loop waits for something that will never happen")
        if not ready and timeout:
            self.loop.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """`now` is its clock, in seconds from 0."""

    def __init__(self) -> None:
        self.now = 0.0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on a clock that jumps."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
