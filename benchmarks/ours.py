"""The product on the made-up site, as a process to be measured. Prints one JSON object.

python -m benchmarks.ours crawl ORIGIN PAGES       a full crawl, everything on, from robots.txt to the document
python -m benchmarks.ours recrawl ORIGIN PAGES     a first run, ten edits, a recrawl, and a look at a quiet site
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from runtime.enroll import enroll
from runtime.local import run_site
from runtime.models import Site, SiteOptions
from runtime.ports import World
from runtime.recrawl import Finished
from runtime.settings import CrawlLimits, FetchPolicy, Settings
from runtime.state import SiteState
from runtime.survey import survey
from runtime.wiring import embedded_world

CONNECTIONS = 16


class Silent:
    def event(self, name: str, **fields: Any) -> None:
        del name, fields


@asynccontextmanager
async def opened(clock: Any) -> AsyncIterator[World]:
    settings = Settings(
        limits=CrawlLimits(requests_per_second=0, connections_per_host=CONNECTIONS),
        policy=FetchPolicy(allow_networks=("127.0.0.0/8",), allow_any_port=True),
    )
    with tempfile.TemporaryDirectory() as folder:
        async with embedded_world(
            Path(folder), settings=settings, events=Silent(), base_url="https://files.example.org", clock=clock
        ) as world:
            yield world


async def crawl(origin: str, pages: int) -> None:
    async with opened(lambda: datetime.now(UTC)) as world:
        site = Site(id="bench", base_url=origin, options=SiteOptions(max_pages=pages))
        wall, cpu = time.perf_counter(), time.process_time()
        result = await survey(world, site, SiteState(), None, forced=True, now=world.clock())
        seconds, used = time.perf_counter() - wall, time.process_time() - cpu
    assert result.crawl is not None
    assert result.rendered is not None
    found = [(urlsplit(page.url).path, page.title, page.description) for page in result.crawl.pages]
    from benchmarks.site import fingerprint

    said = {"pages": len(found), "seconds": seconds, "cpu": used, "answers": fingerprint(found)}
    print(json.dumps({**said, "requests": result.requests}))


async def recrawl(origin: str, pages: int) -> None:
    from benchmarks.process import control

    now = datetime(2026, 11, 20, tzinfo=UTC)

    async def look(row: Site) -> tuple[Finished, dict[str, Any]]:
        control(origin, "__stats")
        wall, cpu = time.perf_counter(), time.process_time()
        done = await run_site(world, row, force=False)
        used = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        asked = control(origin, "__stats")
        return done, {**used, "requests": asked["requests"], "bytes": asked["bytes"], "outcome": done.outcome}

    async with opened(lambda: now) as world:
        row, _ = await enroll(world, {"url": origin, "maxPages": pages})
        found: dict[str, Any] = {}
        done, found["first"] = await look(row)
        for name, edits in (("settling", 3), ("edited", 10), ("quiet", 0), ("quiet_again", 0)):
            now += timedelta(days=1)
            control(origin, f"__edit?count={edits}")
            done, found[name] = await look(done.site)
    print(json.dumps(found))


if __name__ == "__main__":
    modes = {"crawl": crawl, "recrawl": recrawl}
    asyncio.run(modes[sys.argv[1]](sys.argv[2], int(sys.argv[3])))
