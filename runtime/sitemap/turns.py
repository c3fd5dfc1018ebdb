"""The thread that reads large sitemaps, and whose turn it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from queue import PriorityQueue
from typing import Final, TypeVar

Read = TypeVar("Read")


class Turns:
    """Work of many sites, done one after another in a thread; whichever site took least so far goes next.

    A site with a small sitemap then waits for the one document that is being read, not for all those of large and
    hostile sites. These lose nothing that is theirs: what a site may take is bounded, so everybody's turn comes.
    """

    def __init__(self) -> None:
        # Two threads would not read sooner, and the allocator of each keeps what a document took.
        self._thread: Final = ThreadPoolExecutor(1, "sitemaps")
        self._waiting: Final[PriorityQueue[tuple[int, int, Callable[[], None]]]] = PriorityQueue()
        self._order: Final = count()

    async def read(self, taken: int, work: Callable[[], Read]) -> Read:
        """What `work` returns or raises. One that is cancelled while it waits is not begun.

        :param taken: bytes that its site took so far; with equal ones the first to come goes first.
        """
        done: Future[Read] = Future()

        def run() -> None:
            if not done.set_running_or_notify_cancel():
                return
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
                done.set_exception(error)

        self._waiting.put((taken, next(self._order), run))
        asyncio.get_running_loop().run_in_executor(self._thread, self._next)
        return await asyncio.wrap_future(done)

    def _next(self) -> None:
        self._waiting.get_nowait()[-1]()
