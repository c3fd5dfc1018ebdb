"""Politeness per host: so many requests at once, so long between two starts. One `Pace` a process, whoever asks.

Waiting for one's turn is not part of a request's deadline.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

HOSTS_KEPT = 2_048


@dataclass(slots=True)
class _Host:
    slots: asyncio.Semaphore
    spacing: float
    users: int = 0
    next_start: float = 0.0


class Pace:
    """`requests_per_second` 0 means no spacing. A Crawl-delay (`set_delay`) only ever makes a host slower."""

    def __init__(self, connections_per_host: int, requests_per_second: float, max_delay_seconds: float) -> None:
        self._connections = connections_per_host
        self._spacing = 1 / requests_per_second if requests_per_second > 0 else 0.0
        self._max_delay = max_delay_seconds
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    def set_delay(self, host: str, delay_seconds: float) -> None:
        """Keep `delay_seconds` (0 to the maximum) between two starts of requests to `host`."""
        self._host(host).spacing = max(self._spacing, min(delay_seconds, self._max_delay))

    def delay(self, host: str) -> float:
        """The seconds between two starts of requests to `host`, as things stand."""
        entry = self._hosts.get(host)
        return self._spacing if entry is None else entry.spacing

    @property
    def hosts(self) -> int:
        """How many hosts are remembered."""
        return len(self._hosts)

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        """Wait for a slot and for the host's next start; the slot is held inside the block."""
        entry = self._host(host)
        entry.users += 1
        try:
            async with entry.slots:
                if entry.spacing:
                    now = asyncio.get_running_loop().time()
                    start = max(now, entry.next_start)
                    entry.next_start = start + entry.spacing
                    if start > now:
                        await asyncio.sleep(start - now)
                yield
        finally:
            entry.users -= 1

    def _host(self, host: str) -> _Host:
        entry = self._hosts.get(host)
        if entry is None:
            entry = self._hosts[host] = _Host(asyncio.Semaphore(self._connections), self._spacing)
            self._forget()
        else:
            self._hosts.move_to_end(host)
        return entry

    def _forget(self) -> None:
        """Drop the hosts that were not asked for longest, down to the first that is still in use."""
        now = asyncio.get_running_loop().time()
        while len(self._hosts) > HOSTS_KEPT:
            host, entry = next(iter(self._hosts.items()))
            if entry.users or entry.next_start > now:
                return
            del self._hosts[host]
