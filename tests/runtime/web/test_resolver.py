"""The system's resolver behind its deadline: one thread a name, absolute names, failures as OSError."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from runtime.web.resolver import SystemResolver

Answer = list[tuple[int, int, int, str, tuple[Any, ...]]]


class Libc:
    """Stands in for `socket.getaddrinfo`, the outermost edge; blocks until `go` is set."""

    def __init__(self, addresses: list[str], *, ready: bool = True) -> None:
        self.asked: list[tuple[str, int]] = []
        self.go = threading.Event()
        self.addresses = addresses
        if ready:
            self.go.set()

    def __call__(self, host: str, port: int, **_: Any) -> Answer:
        self.asked.append((host, port))
        self.go.wait(10)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in self.addresses]


async def test_names_are_asked_for_as_absolute_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """The final dot keeps search domains out; doubles are dropped, the order is kept."""
    libc = Libc(["93.184.216.34", "2606:2800::1", "93.184.216.34"])
    monkeypatch.setattr(socket, "getaddrinfo", libc)
    assert await SystemResolver().resolve("example.com", 443) == ["93.184.216.34", "2606:2800::1"]
    assert libc.asked == [("example.com.", 443)]


async def test_a_hanging_name_holds_one_thread_and_no_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers get a time-out; asking again joins the look-up that is still running, and its answer serves them."""
    libc = Libc(["93.184.216.34"], ready=False)
    monkeypatch.setattr(socket, "getaddrinfo", libc)
    resolver = SystemResolver(0.01)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await resolver.resolve("slow.example.com", 443)
    waiting = asyncio.ensure_future(SystemResolver.resolve(resolver, "slow.example.com", 443))
    resolver._deadline = 5
    libc.go.set()
    assert await asyncio.gather(waiting, return_exceptions=True)
    assert len(libc.asked) == 1
    assert await resolver.resolve("slow.example.com", 443) == ["93.184.216.34"]
    assert len(libc.asked) == 2


async def test_many_hanging_names_do_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound a look-up fails at once instead of starting one more thread."""
    libc = Libc([], ready=False)
    monkeypatch.setattr(socket, "getaddrinfo", libc)
    resolver = SystemResolver(0.01, threads=3)
    for number in range(3):
        with pytest.raises(TimeoutError):
            await resolver.resolve(f"{number}.example.com", 443)
    with pytest.raises(OSError, match="too many"):
        await resolver.resolve("4.example.com", 443)
    libc.go.set()
    assert await resolver.resolve("0.example.com", 443) == []


@pytest.mark.parametrize("error", [socket.gaierror(socket.EAI_NONAME, "no such name"), UnicodeError("label too long")])
async def test_what_libc_cannot_answer_is_an_oserror(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """NXDOMAIN and names the codec refuses look the same to the caller."""

    def fail(*_: Any, **__: Any) -> Answer:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(OSError):
        await SystemResolver().resolve("nx.example.com", 443)


def test_a_look_up_may_outlive_its_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that comes after the loop was closed is dropped in silence."""
    libc = Libc([], ready=False)
    monkeypatch.setattr(socket, "getaddrinfo", libc)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await SystemResolver(0.01).resolve("slow.example.com", 443)

    asyncio.run(main())
    libc.go.set()
    for thread in threading.enumerate():
        if thread.name.startswith("resolve "):
            thread.join(5)
            assert not thread.is_alive()
