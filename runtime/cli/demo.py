"""`make demo`: the whole service on one machine, on a made-up documentation site, in a few seconds.

It enrols the site, prints the published file, edits the site, calls the webhook over HTTP, shows what changed, and
ticks once more to show what a quiet week costs. Every claim it prints is checked; one that fails ends it with exit 1.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import uvicorn
from rich.console import Console

from runtime import keys
from runtime.api import Api, Secrets
from runtime.cli.asgi import App
from runtime.cli.log import ConsoleEvents
from runtime.cli.progress import crawl_progress
from runtime.document.changes import unified_diff
from runtime.enroll import enroll
from runtime.local import run_schedule, run_site, run_tick
from runtime.models import Outcome, Site
from runtime.ports import World
from runtime.sample.server import SampleServer, serve
from runtime.sample.site import SampleSite
from runtime.settings import CrawlLimits, FetchPolicy, Settings
from runtime.wiring import embedded_world, utc_now

RETITLED, ADDED, REMOVED = "/guide/retries/", "/guide/observability/", "/recipes/images/"
WAIT_SECONDS = 10.0

out = Console(highlight=False, soft_wrap=True)


class ClaimFailed(Exception):
    """Something that the demo says is not so."""


def check(holds: bool, claim: str) -> None:
    """Print a claim that holds.

    :raises ClaimFailed: it does not.
    """
    if not holds:
        raise ClaimFailed(claim)
    out.print(f"  [green]✓[/] {claim}")


class Clock:
    """The real time, plus the days that the demo lets pass."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.ahead


async def demo(home: Path) -> None:
    """Play the whole story in an empty folder."""
    sample, clock = SampleSite(), Clock()
    settings = Settings(
        limits=CrawlLimits(requests_per_second=0),
        policy=FetchPolicy(allow_networks=("127.0.0.0/8",), allow_any_port=True),
    )
    events = ConsoleEvents(Console(stderr=True))
    async with (
        serve(sample) as server,
        embedded_world(home, settings=settings, events=events, base_url="http://127.0.0.1", clock=clock) as world,
    ):
        out.print(f"[bold]1. Enrol[/] {server.url}, a documentation site of {len(sample.pages)} pages")
        site = await first_run(world, server)
        full = len(server.requests)
        out.print("\n[bold]2. Edit the site[/]: retitle one page, add one, remove one; its CI calls the webhook")
        async with service(world) as api:
            await change(world, api, sample, site)
        out.print("\n[bold]3. A quiet week[/]: the schedule ticks, nothing has changed")
        clock.ahead += timedelta(days=8)
        await quiet_tick(world, server, site, full)


async def first_run(world: World, server: SampleServer) -> Site:
    site, _ = await enroll(world, {"url": server.url, "maxPages": 100})
    with crawl_progress(Console(stderr=True), "Crawling") as progress:
        finished = await run_site(world, site, progress=progress)
    text = await published(world, site)
    out.print(text, markup=False)
    left = Counter(item.reason for item in finished.survey.crawl.left_out) if finished.survey.crawl else Counter()
    out.print(f"left out: {', '.join(f'{count} {reason}' for reason, count in sorted(left.items()))}")
    check(finished.outcome is Outcome.UPDATED, "the file was published")
    check(text.count("\n- [") >= 40, f"it lists {text.count(chr(10) + '- [')} pages")
    check("/roadmap-draft/" not in text, "the noindex page is not listed")
    check("/admin/" not in text, "what robots.txt disallows is not listed, and was never asked for")
    check(not any(path.startswith("/admin/") for _, path, _ in server.requests), "robots.txt was obeyed")
    return finished.site


async def change(world: World, api: str, sample: SampleSite, site: Site) -> None:
    before = await published(world, site)
    sample.retitle(RETITLED, "Retries, and when to give up")
    sample.add(
        ADDED, "Observability", description="Counters, spans and logs that a worker emits, and what to alert on."
    )
    sample.remove(REMOVED)
    async with httpx.AsyncClient() as client:
        body = {"base_url": site.base_url, "webhook_secret": site.webhook_secret}
        answer = await client.post(f"{api}/internal/hooks/site-changed", json=body)
        wrong = await client.post(f"{api}/internal/hooks/site-changed", json={**body, "webhook_secret": "guess"})
    out.print(f"  POST /internal/hooks/site-changed → {answer.status_code} {json.dumps(answer.json())}", markup=False)
    check(answer.status_code == 200, "the webhook was accepted")
    check(wrong.status_code == 401, "a wrong secret was refused")
    row = await next_run(world, site)
    after = await published(world, site)
    diff = unified_diff(before, after)
    out.print(diff, markup=False)
    minus = [line for line in diff.splitlines() if line.startswith("-- [")]
    plus = [line for line in diff.splitlines() if line.startswith("+- [")]
    check(row.last_outcome is Outcome.UPDATED, "the site was crawled at once and the new file published")
    check(len(plus) == 2 and len(minus) == 2, "exactly the three edits are in the diff")
    check("when to give up" in after and "Observability" in after and REMOVED not in after, "retitled, added, removed")


async def quiet_tick(world: World, server: SampleServer, site: Site, full: int) -> None:
    before = await published(world, site)
    server.requests.clear()
    summary = await run_tick(world)
    bodies = [path for _, path, status in server.requests if status == 200]
    out.print(f"  {summary.as_dict()}", markup=False)
    for method, path, status in server.requests:
        out.print(f"  {method} {path} → {status}", markup=False)
    check((summary.total, summary.unchanged, summary.processed) == (1, 1, 0), "one site looked at, none crawled")
    check(not [path for path in bodies if "sitemap" not in path and "robots" not in path], "no page was downloaded")
    check(before == await published(world, site), "the published file is the same, byte for byte")
    count = len(server.requests)
    check(count * 5 < full, f"it took {count} requests, the first crawl {full}")


async def next_run(world: World, site: Site) -> Site:
    """The row once the run that the webhook started has ended."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            row = await world.sites.get(site.id)
            if row.generation > site.generation and row.lease_until is None and row.requested_at is None:
                return row
            await asyncio.sleep(0.05)


async def published(world: World, site: Site) -> str:
    stored = await world.publisher.read(keys.public(site.base_url))
    return "" if stored is None else stored.body.decode()


@asynccontextmanager
async def service(world: World) -> AsyncIterator[str]:
    """The HTTP contract on a free port, with a worker behind it; gives its address."""

    async def secrets() -> Secrets:
        return Secrets()

    async def no_tick() -> int:
        return 0

    config = uvicorn.Config(App(Api(world, secrets, no_tick)), host="127.0.0.1", port=0, log_level="warning")
    server = uvicorn.Server(config)
    stop = asyncio.Event()
    tasks = [
        asyncio.create_task(server.serve()),
        asyncio.create_task(run_schedule(world, every_seconds=3600, stop=stop, first_tick=False)),
    ]
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not server.started:  # noqa: ASYNC110 - uvicorn has a flag and no event
                await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        stop.set()
        server.should_exit = True
        await asyncio.gather(*tasks)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="llms-txt-demo-") as folder:
        try:
            asyncio.run(demo(Path(folder)))
        except ClaimFailed as claim:
            out.print(f"  [red]✗[/] {claim}")
            sys.exit(1)
    out.print("\nEverything above was checked.")


if __name__ == "__main__":
    main()
