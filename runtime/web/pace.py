"""Politeness per host: so many requests at once, so long between two starts. One `Pace` a process, whoever asks.

Waiting for one's turn is not part of a request's deadline.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

HOSTS_KEPT = 2_048


@dataclass(slots=True)
class _Host:
    slots: asyncio.Semaphore
    spacing: float
    users: int = 0
    next_start: float = 0.0


class Turn:
    """One request's turn at a host. A class, because a generator as a context costs more than twice as much."""

    __slots__ = ("_host",)

    def __init__(self, host: _Host) -> None:
        self._host = host

    async def __aenter__(self) -> None:
        host = self._host
        host.users += 1
        held = False
        try:
            held = await host.slots.acquire()
            if host.spacing:
                now = asyncio.get_running_loop().time()
                start = max(now, host.next_start)
                host.next_start = start + host.spacing
                if start > now:
                    await asyncio.sleep(start - now)
        except BaseException:
            self._leave(held=held)
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave(held=True)

    def _leave(self, *, held: bool) -> None:
        self._host.users -= 1
        if held:
            self._host.slots.release()


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

    def turn(self, host: str) -> Turn:
        """To be entered: waits for a slot and for the host's next start; the slot is held inside the block."""
        return Turn(self._host(host))

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
