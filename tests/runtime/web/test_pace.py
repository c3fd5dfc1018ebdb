"""Politeness per host, on a simulated clock."""

from __future__ import annotations

import asyncio

import pytest

from runtime.web.pace import HOSTS_KEPT, Pace
from tests.safety.virtual import run


async def starts(pace: Pace, host: str, count: int, work: float = 0.0) -> list[float]:
    """When each of `count` simultaneous requests got its turn."""
    loop, times = asyncio.get_running_loop(), list[float]()

    async def one() -> None:
        async with pace.turn(host):
            times.append(round(loop.time(), 3))
            await asyncio.sleep(work)

    await asyncio.gather(*(one() for _ in range(count)))
    return times


def test_requests_are_spaced() -> None:
    """Four a second means a start every quarter of a second, the first at once."""
    assert run(starts(Pace(8, 4, 30), "a.com", 5)) == [0, 0.25, 0.5, 0.75, 1.0]


def test_no_rate_means_no_waiting() -> None:
    """Zero is unlimited; only the slots count."""
    assert run(starts(Pace(8, 0, 30), "a.com", 5)) == [0] * 5


def test_slots_bound_what_runs_at_once() -> None:
    """Two connections serve six requests of a second each in three seconds."""
    assert run(starts(Pace(2, 0, 30), "a.com", 6, work=1)) == [0, 0, 1, 1, 2, 2]


def test_hosts_do_not_wait_for_each_other() -> None:
    """A slow host costs the others nothing."""

    async def main() -> list[list[float]]:
        pace = Pace(1, 1, 30)
        return list(await asyncio.gather(starts(pace, "a.com", 3), starts(pace, "b.com", 3)))

    assert run(main()) == [[0, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize(("delay", "spacing"), [(10, 10), (500, 30), (0.01, 0.25), (0, 0.25), (-1, 0.25)])
def test_a_crawl_delay_only_slows_down(delay: float, spacing: float) -> None:
    """At most the maximum, at least the usual spacing; None of it is a way to be crawled faster."""

    async def main() -> list[float]:
        pace = Pace(8, 4, 30)
        pace.set_delay("a.com", delay)
        assert pace.delay("a.com") == spacing
        return await starts(pace, "a.com", 3)

    assert run(main()) == [0, spacing, 2 * spacing]


def test_a_cancelled_request_gives_its_slot_back() -> None:
    """Waiting for a turn can be abandoned without blocking those behind."""

    async def main() -> list[float]:
        pace = Pace(1, 0, 30)
        first = asyncio.ensure_future(starts(pace, "a.com", 1, work=100))
        second = asyncio.ensure_future(starts(pace, "a.com", 1))
        await asyncio.sleep(1)
        second.cancel()
        first.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        return await starts(pace, "a.com", 1)

    assert run(main()) == [1]


def test_a_request_that_gives_up_while_it_waits_for_its_start_gives_its_slot_back() -> None:
    """Its start is not used by another, its slot is; afterwards nobody uses the host."""

    async def main() -> list[float]:
        pace = Pace(1, 1, 30)
        await starts(pace, "a.com", 1)
        second = asyncio.ensure_future(starts(pace, "a.com", 1))
        await asyncio.sleep(0.5)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        found = await starts(pace, "a.com", 1)
        for number in range(HOSTS_KEPT):
            pace.set_delay(f"{number}.com", 1)
        assert pace.hosts == HOSTS_KEPT + 1  # its next start is still to come
        await asyncio.sleep(2)
        pace.set_delay("last.com", 1)
        assert pace.hosts == HOSTS_KEPT
        return found

    assert run(main()) == [2]


def test_hosts_are_forgotten_unless_they_are_in_use() -> None:
    """A process that sees a million hosts does not remember them all; a Crawl-delay lasts while its host is asked."""

    async def main() -> tuple[int, float]:
        pace = Pace(8, 0, 30)
        pace.set_delay("slow.com", 7)
        for number in range(3 * HOSTS_KEPT):
            async with pace.turn(f"{number}.com"):
                pass
            if number % 1000 == 0:
                async with pace.turn("slow.com"):
                    pass
        return pace.hosts, pace.delay("slow.com")

    hosts, delay = run(main())
    assert hosts <= HOSTS_KEPT + 1
    assert delay == 7
