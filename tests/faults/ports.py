"""Every port with a fault in it: the n-th call fails, times out, answers late, answers twice or loses its answer."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, cast

from runtime.errors import FetchFailed, Misconfigured, ServiceError, StoreDown
from runtime.ports import Message, Publisher, States, Web
from runtime.queues.memory import MemoryQueue
from runtime.registry import Sites
from runtime.web.resolver import Resolver

LATE_SECONDS = 7.0
"""Longer than most answers take, shorter than a request may."""


class Fault(Enum):
    FAIL = "the call is not made, and an error says so"
    TIMEOUT = "the call is not made, and after a long wait an error says so"
    LATE = "the call is made, and its answer comes late"
    TWICE = "the call is made twice, and the second answer is given"
    LOST = "the call is made, and an error comes instead of its answer"
    REFUSED = "the call is refused, as with wrong credentials"
    BUG = "an exception that nobody foresaw"
    KILL_BEFORE = "the process ends, and the call is not made"
    KILL_AFTER = "the process ends once the call is made, and nobody sees its answer"


class Killed(BaseException):
    """The process has ended. Whatever its code still does on the way out reaches no port."""


PORTS = ("web", "resolver", "sites", "publisher", "states", "queue", "clock")
FAULTS_OF = {
    "web": (Fault.FAIL, Fault.TIMEOUT, Fault.LATE, Fault.TWICE, Fault.BUG),
    "resolver": (Fault.FAIL, Fault.TIMEOUT, Fault.LATE, Fault.TWICE),
    "sites": (Fault.FAIL, Fault.TIMEOUT, Fault.LATE, Fault.TWICE, Fault.LOST, Fault.BUG),
    "publisher": (Fault.FAIL, Fault.TIMEOUT, Fault.LATE, Fault.TWICE, Fault.LOST, Fault.REFUSED, Fault.BUG),
    "states": (Fault.FAIL, Fault.TIMEOUT, Fault.LATE, Fault.TWICE, Fault.LOST, Fault.BUG),
    "queue": (Fault.FAIL, Fault.TWICE, Fault.LOST),
    "clock": (Fault.FAIL, Fault.LATE),
}
"""What can happen to a port; a clock jumps back (FAIL) or on (LATE)."""

CLOCK_JUMP = timedelta(hours=1)


@dataclass
class Script:
    """Which call of which port has which fault: from the `nth` (1 is the first) on for `times` calls.

    `calls` counts what was called while the script was `armed`, by port, and `log` says it in order. After a fault that
    kills the process, every call of every port raises `Killed` until the script is disarmed.
    """

    port: str = ""
    fault: Fault = Fault.FAIL
    nth: int = 0
    times: int = 1
    method: str = ""
    armed: bool = True
    calls: Counter[str] = field(default_factory=Counter)
    log: list[str] = field(default_factory=list)
    struck: int = 0
    dead: bool = False

    def arm(self, port: str, fault: Fault, nth: int = 1, *, times: int = 1, method: str = "") -> None:
        """Begin to count anew. With a `method` only its calls count."""
        self.port, self.fault, self.nth, self.times, self.method = port, fault, nth, times, method
        self.calls.clear()
        self.log.clear()
        self.struck, self.armed, self.dead = 0, True, False

    def disarm(self) -> None:
        self.armed = self.dead = False

    def strike(self, port: str, method: str) -> Fault | None:
        """The fault of this call, which is counted."""
        if self.dead:
            raise Killed
        if not self.armed:
            return None
        self.log.append(f"{port}.{method}")
        if self.method and method != self.method:
            return None
        self.calls[port] += 1
        if port != self.port or not self.nth <= self.calls[port] < self.nth + self.times:
            return None
        self.struck += 1
        if self.fault is Fault.KILL_BEFORE:
            self.dead = True
            raise Killed
        return self.fault

    async def play(self, port: str, method: str, call: Callable[[], Awaitable[Any]], error: Callable[[], Any]) -> Any:
        """One call, with its fault if it has one. `error` makes what the port raises when it does not work."""
        fault = self.strike(port, method)
        if fault is Fault.FAIL:
            raise error()
        if fault is Fault.TIMEOUT:
            await asyncio.sleep(LATE_SECONDS)
            raise error()
        if fault is Fault.REFUSED:
            raise Misconfigured("the object store refused: check its keys", code="bucket_refused")
        if fault is Fault.BUG:
            raise ZeroDivisionError("a text that may hold anything, whsec_canary")
        if fault is Fault.LATE:
            await asyncio.sleep(LATE_SECONDS)
        answer = await call()
        if fault is Fault.KILL_AFTER:
            self.dead = True
            raise Killed
        if fault is Fault.TWICE:
            return await call()
        if fault is Fault.LOST:
            raise error()
        return answer


class _Port:
    """A port whose coroutine methods are played by a script."""

    def __init__(self, name: str, port: Any, script: Script) -> None:
        self._name, self._port, self._script = name, port, script

    def _error(self, *_arguments: Any) -> ServiceError:
        return StoreDown("the store does not answer")

    def __getattr__(self, method: str) -> Any:
        found = getattr(self._port, method)
        if not asyncio.iscoroutinefunction(found):
            return found

        async def played(*arguments: Any, **options: Any) -> Any:
            return await self._script.play(
                self._name, method, lambda: found(*arguments, **options), lambda: self._error(*arguments)
            )

        return played


class _WebPort(_Port):
    def _error(self, *arguments: Any) -> ServiceError:
        return FetchFailed(str(arguments[0]), "no answer came within the time", code="timeout")


class FaultyResolver:
    """A resolver that knows every name, unless its script has something else for a look-up."""

    def __init__(self, inner: Resolver, script: Script) -> None:
        self._inner, self._script = inner, script

    async def resolve(self, host: str, port: int) -> list[str]:
        answer: list[str] = await self._script.play(
            "resolver",
            "resolve",
            lambda: self._inner.resolve(host, port),
            lambda: socket.gaierror(socket.EAI_AGAIN, "no answer"),
        )
        return answer


class FaultyQueue(MemoryQueue):
    """A queue whose answers say what could not be queued, and which delivers twice now and then."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script

    async def send(self, messages: Sequence[Message]) -> list[Message]:
        fault = self._script.strike("queue", "send")
        if fault is Fault.FAIL:
            return list(messages)
        await super().send(messages)
        if fault is Fault.KILL_AFTER:
            self._script.dead = True
            raise Killed
        if fault is Fault.TWICE:
            await super().send(messages)
        return list(messages) if fault is Fault.LOST else []


def faulty_web(port: Web, script: Script) -> Web:
    return cast("Web", _WebPort("web", port, script))


def faulty_sites(port: Sites, script: Script) -> Sites:
    return cast("Sites", _Port("sites", port, script))


def faulty_publisher(port: Publisher, script: Script) -> Publisher:
    return cast("Publisher", _Port("publisher", port, script))


def faulty_states(port: States, script: Script) -> States:
    return cast("States", _Port("states", port, script))


def faulty_clock(clock: Callable[[], datetime], script: Script) -> Callable[[], datetime]:
    """A clock of the process that jumps at its n-th reading, and comes back with the next."""

    def read() -> datetime:
        fault = script.strike("clock", "read")
        jump = {Fault.FAIL: -CLOCK_JUMP, Fault.LATE: CLOCK_JUMP}.get(fault) if fault else None
        return clock() + (jump or timedelta())

    return read
