"""Names to addresses. One look-up a name at a time, on a thread of its own, never longer than its deadline.

`loop.getaddrinfo` borrows the loop's default threads, six on a small machine, and a look-up that hangs keeps its thread
for 10 to 30 s whatever the caller's time-out says: a few dead name servers would stop every other site. Here a hanging
name holds one daemon thread, however often it is asked for, and nobody waits for it at exit.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from typing import Protocol


class Resolver(Protocol):
    """Gives the addresses of a host as text, in order of preference; raises OSError or returns [] when it has none."""

    async def resolve(self, host: str, port: int) -> list[str]: ...


class SystemResolver:
    """The operating system's resolver.

    :raises TimeoutError: no answer within `deadline_seconds`.
    :raises OSError: `socket.gaierror`, from getaddrinfo.
    """

    def __init__(self, deadline_seconds: float = 5.0, *, threads: int = 256) -> None:
        self._deadline = deadline_seconds
        self._threads = threads
        self._running: dict[tuple[str, int], asyncio.Future[list[str]]] = {}

    async def resolve(self, host: str, port: int) -> list[str]:
        key = (host, port)
        answer = self._running.get(key)
        if answer is None:
            if len(self._running) >= self._threads:
                raise OSError("too many names are being looked up")
            answer = self._start(key)
        async with asyncio.timeout(self._deadline):
            return await asyncio.shield(answer)

    def _start(self, key: tuple[str, int]) -> asyncio.Future[list[str]]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[str]] = loop.create_future()
        self._running[key] = answer

        def settle(result: list[str] | OSError) -> None:
            self._running.pop(key, None)
            if isinstance(result, OSError):
                answer.set_exception(result)
                answer.exception()  # seen: nobody may be waiting any more
            else:
                answer.set_result(result)

        def look_up() -> None:
            result: list[str] | OSError
            try:
                result = _system_addresses(*key)
            except OSError as error:
                result = error
            except UnicodeError:
                result = OSError("the name cannot be asked for")
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(settle, result)

        threading.Thread(target=look_up, name=f"resolve {key[0]}", daemon=True).start()
        return answer


def _system_addresses(host: str, port: int) -> list[str]:
    # The final dot keeps the system from trying its search domains: docs.example.com must never become
    # docs.example.com.corp.example.net.
    found = socket.getaddrinfo(f"{host}.", port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
