"""Large sitemaps of many sites are read one after another, and none of the sites holds up those that took less."""

from __future__ import annotations

import asyncio
import gzip
import threading

import pytest

from runtime.sitemap.body import Allowance
from runtime.sitemap.fetch import TURNS, Unread, ask, parse
from runtime.sitemap.turns import Turns
from tests.runtime.sitemap.site import LIMITS, NOW, SITE, Site, index, paths, urlset

PLENTY = 1 << 40


async def busy(turns: Turns, gate: threading.Event) -> asyncio.Task[bool]:
    """The thread has begun what lasts until the gate opens."""
    begun = threading.Event()

    def work() -> bool:
        begun.set()
        return gate.wait(60)

    task = asyncio.create_task(turns.read(PLENTY, work))
    await asyncio.to_thread(begun.wait)
    return task


async def test_the_site_that_took_least_goes_next() -> None:
    """What came first is read to its end; of what waits, the least taken goes first, then the first to come."""
    turns, gate, order = Turns(), threading.Event(), []
    first = await busy(turns, gate)
    waiting = [
        asyncio.create_task(turns.read(taken, lambda name=name: order.append(name)))  # type: ignore[misc]
        for name, taken in (("hostile", 400), ("honest", 3), ("large", 90), ("another", 3))
    ]
    await asyncio.sleep(0)  # each comes to where it waits
    gate.set()
    await asyncio.gather(first, *waiting)
    assert order == ["honest", "another", "large", "hostile"]


async def test_what_is_cancelled_while_it_waits_is_not_begun() -> None:
    """The others go on, and what one of them raises is raised where it is awaited, whatever it is."""
    turns, gate, order = Turns(), threading.Event(), []
    first = await busy(turns, gate)
    dropped = asyncio.create_task(turns.read(1, lambda: order.append("dropped")))
    broken = asyncio.create_task(turns.read(2, lambda: int("none")))
    last = asyncio.create_task(turns.read(3, lambda: order.append("last")))
    await asyncio.sleep(0)  # each comes to where it waits
    dropped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await dropped
    gate.set()
    with pytest.raises(ValueError):
        await broken
    await asyncio.gather(first, last)
    assert order == ["last"]


async def came(site: Site, path: str, allowance: Allowance) -> Unread:
    found = await ask(site.client(), SITE + path, None, limits=LIMITS, now=NOW, allowance=allowance)
    assert isinstance(found, Unread)
    return found


async def test_a_small_file_is_read_before_all_that_a_site_with_huge_ones_has_waiting() -> None:
    """Five large documents of hostile sites wait; the gzip file of a site that came last is the next to be read."""
    site = Site(
        {"/small.xml.gz": gzip.compress(urlset(["/a"])), "/large.xml": urlset({f"/{n}": None for n in range(4_000)})}
    )
    large = [await came(site, "/large.xml", Allowance(PLENTY, PLENTY)) for _ in range(5)]
    small = await came(site, "/small.xml.gz", Allowance(PLENTY, PLENTY))
    gate, order = threading.Event(), []

    async def read(name: str, one: Unread) -> None:
        assert (await parse(one, LIMITS, NOW)).document is not None
        order.append(name)

    blocked = await busy(TURNS, gate)
    tasks = [asyncio.create_task(read("large", one)) for one in large]
    await asyncio.sleep(0)  # each comes to where it waits
    tasks.append(asyncio.create_task(read("small", small)))
    await asyncio.sleep(0)  # each comes to where it waits
    gate.set()
    await asyncio.gather(blocked, *tasks)
    assert order == ["small", *["large"] * 5]


async def test_what_a_site_took_is_counted_over_all_its_documents() -> None:
    """A hostile site does not come first again by cutting its bytes into many small documents."""
    body, allowance = urlset(["/a"]), Allowance(PLENTY, PLENTY)
    site = Site({"/one.xml": body, "/two.xml": body})
    assert [(await came(site, path, allowance)).body.site_took for path in ("/one.xml", "/two.xml")] == [
        len(body),
        2 * len(body),
    ]


async def test_two_sites_at_once_have_the_inventories_they_have_alone() -> None:
    """Whoever goes first, each has its own pages, all of them."""
    one = Site({"/sitemap.xml": index(["/1.xml.gz"]), "/1.xml.gz": gzip.compress(urlset(["/a"]))})
    two = Site({"/sitemap.xml": urlset([f"/{n}" for n in range(4_000)])})
    first, second = await asyncio.gather(one.read(), two.read())
    assert paths(first.inventory) == {"/a"}
    assert len(paths(second.inventory)) == 4_000
