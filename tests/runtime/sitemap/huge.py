"""Sites with huge trees of sitemaps, read over loopback by a worker of twenty sites in one process of bounded memory.

    python -m tests.runtime.sitemap.huge [NAME …]

One JSON object a tree. `grown` is how many MB the tick took at its peak beyond what the process had before; the other
nineteen sites are small and honest.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from runtime.document.parse import parse
from runtime.enroll import enroll
from runtime.local import run_tick
from runtime.reading import Inventory
from runtime.settings import CrawlLimits, FetchPolicy, Settings
from runtime.state import decode
from runtime.web.fetch import FetchClient
from tests.faults.gauntlet import MEMORY, MEMORY_MB, level, resident
from tests.faults.service import Service
from tests.runtime.sitemap.trees import TREES, Make, entries, index
from tests.stand_ins.site import Site, page

SITES: Final = 20
HUGE: Final = 7
LIMITS: Final = CrawlLimits(requests_per_second=0)

Answer = tuple[bytes, dict[str, str]]


def root(number: int, port: int) -> str:
    return f"http://s{number:02}.example.com:{port}"


class Server(BaseHTTPRequestHandler):
    """Twenty sites by their Host header, one of which has the tree that was asked for last (`/tree/NAME`)."""

    protocol_version = "HTTP/1.1"
    tree = ""

    def do_GET(self) -> None:
        body, headers = self.answer()
        missing = not body
        self.send_response(404 if missing else 200)
        for name, value in ({"content-type": "text/html"} | headers).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self) -> Answer:
        host, path = self.headers["host"], self.path
        base, kind = f"http://{host}", {"content-type": "application/xml"}
        if path.startswith("/tree/"):
            Server.tree = list(TREES)[int(path.removeprefix("/tree/"))]
            return b"ok", {}
        if path in ("/", "/a", "/b"):
            return page(f"Page {path} of {host.partition('.')[0]}", "/a", "/b")[2], {}
        if not host.startswith(f"s{HUGE:02}."):
            return (entries(base, 0, 3, "pages"), kind) if path == "/sitemap.xml" else (b"", {})
        make, count, packing = TREES[Server.tree]
        name = "child-{}.xml.gz" if packing == "file" else "child-{}.xml"
        if path == "/sitemap.xml":
            return index(base, ["sitemap.xml", *(name.format(child) for child in range(count))]), kind
        if "child-" in path and packing != "none":
            body = packed(make, base, int(path.partition("child-")[2].partition(".")[0]) % 4, packing)
            return body, {"content-type": "application/gzip"} if packing == "file" else (
                kind | ({"content-encoding": "gzip"} if packing == "coded" else {})
            )
        return b"", {}

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # whoever has read enough hangs up
            super().handle()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Nothing: the answers are what is measured."""


@functools.lru_cache(2)
def made(make: Make, base: str, child: int) -> bytes:
    return make(base, child)


@functools.lru_cache(4)
def packed(make: Make, base: str, child: int, packing: str) -> bytes:
    """Four different children stand for all: making them takes longer than reading them."""
    body = made(make, base, child)
    return body if packing == "plain" else gzip.compress(body, 1, mtime=0)


class Loopback:
    async def resolve(self, host: str, port: int) -> list[str]:
        return ["127.0.0.1"]


async def play(name: str, home: Path, port: int) -> dict[str, Any]:
    """One tick of twenty sites, one of which has this tree."""
    policy = FetchPolicy(allow_networks=("127.0.0.0/8",), allow_any_port=True)
    service = Service(home, Site(), settings=replace(Settings(), policy=policy), limits=LIMITS)
    web = FetchClient(policy, LIMITS, resolver=Loopback())
    world = replace(service.sound, web=web)
    await web.get(f"http://s00.example.com:{port}/tree/{list(TREES).index(name)}", max_bytes=10)
    for number in range(SITES):
        await enroll(world, {"url": root(number, port), "recrawlIntervalMinutes": 1_440})
    before = level()
    cpu, began, read = time.process_time(), time.monotonic(), web.bytes_read
    await run_tick(world)
    row = await service.sites.find(root(HUGE, port))
    assert row is not None
    found = {
        "name": name,
        "grown": resident("VmHWM") - before,
        "peak": resident("VmHWM"),
        "cpu": round(time.process_time() - cpu, 2),
        "seconds": round(time.monotonic() - began, 2),
        "wire": web.bytes_read - read,
        "files": sum(len(links(home, number, port)) == 3 for number in range(SITES)),
        "outcomes": [run.outcome for run in await service.sites.runs(row.id)],
    }
    state = decode(await service.states.load(row.id))
    inventory = state.inventory or Inventory()
    found |= {
        "complete": inventory.complete,
        "entries": len(inventory.entries),
        "documents": len(inventory.documents),
        "state": len(await service.states.load(row.id) or b""),
        "problems": list(inventory.problems),
    }
    await web.aclose()
    service.close()
    return found


def links(home: Path, number: int, port: int) -> list[str]:
    [*files] = (home / "published").glob(f"s{number:02}.example.com*/llms.txt")
    return [link.url for file in files for link in parse(file.read_text()).links()]


def main(names: list[str]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="huge-", dir=MEMORY if MEMORY.is_dir() else None))
    server = subprocess.Popen([sys.executable, "-m", __spec__.name, "serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        limit = MEMORY_MB * 1024 * 1024
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        for place, name in enumerate(names or TREES):
            print(json.dumps(asyncio.run(play(name, folder / str(place), port))), flush=True)
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)


class Listener(ThreadingHTTPServer):
    request_queue_size = 256
    """Of connections of twenty sites at once: those beyond the usual five are dropped, and late or lost by themselves."""


def serve() -> None:
    server = Listener(("127.0.0.1", 0), Server)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        main(sys.argv[1:])
