"""An event loop on which waiting costs nothing, for a service whose stores do their work in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tests.safety.virtual import VirtualLoop

T = TypeVar("T")


class FaultLoop(VirtualLoop):
    """What would run in a thread runs at once, so that time cannot jump while it does."""

    def run_in_executor(  # type: ignore[override]  # the supertype's is generic in the arguments
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the call
            future.set_exception(error)
        return future


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on a clock that jumps."""
    with asyncio.Runner(loop_factory=FaultLoop) as runner:
        return runner.run(main)
