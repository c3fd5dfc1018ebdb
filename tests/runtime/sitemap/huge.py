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
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
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
from tests.stand_ins.site import Site, page

SITES: Final = 20
HUGE: Final = 7
FULL: Final = 49 << 20
OPEN: Final = b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
LIMITS: Final = CrawlLimits(requests_per_second=0)

Answer = tuple[bytes, dict[str, str]]


def root(number: int, port: int) -> str:
    return f"http://s{number:02}.example.com:{port}"


def entries(base: str, child: int, count: int, path: str, more: str = "") -> bytes:
    rows = (
        f"<url>\n<loc>{base}/{path}/{child}/page-{at:05}</loc>\n"
        f"<lastmod>2026-{1 + at % 4:02}-{1 + at % 28:02}T{at % 24:02}:{at % 60:02}:00+00:00</lastmod>\n{more}</url>\n"
        for at in range(count)
    )
    return OPEN + "".join(rows).encode() + b"</urlset>\n"


def padded(base: str, child: int) -> bytes:
    """49 MiB, most of which is hreflang alternates."""
    link = f'<xhtml:link rel="alternate" hreflang="de" href="{base}/de/of-a-page"/>\n'
    return entries(base, child, 50_000, "usual-path", link * ((FULL // 50_000 - 150) // len(link)))


def plain_padded(base: str, child: int) -> bytes:
    """49 MiB of entries in the plain form, with white space between them."""
    return entries(base, child, 50_000, "usual-path", " " * (FULL // 50_000 - 150))


def long_urls(base: str, child: int) -> bytes:
    """49 MiB of addresses."""
    return entries(base, child, 50_000, "long/" * ((FULL // 50_000 - 150) // 5))


def noise(base: str, child: int) -> bytes:
    """49 MiB of addresses that nothing can pack."""
    chance = random.Random(child)
    rows = (f"<url><loc>{base}/{chance.randbytes(490).hex()}</loc></url>\n" for _ in range(FULL // 1_040))
    return OPEN + "".join(rows).encode() + b"</urlset>\n"


def one_comment(base: str, child: int) -> bytes:
    return OPEN + f"<url><loc>{base}/{child}</loc></url><!-- ".encode() + b"x" * FULL + b" --></urlset>"


def lastmods(base: str, child: int) -> bytes:
    """No two lastmods alike, and none a date."""
    rows = (f"<url><loc>{base}/{at}</loc><lastmod>{at} {'x' * 900}</lastmod></url>\n" for at in range(50_000))
    return OPEN + "".join(rows).encode() + b"</urlset>\n"


def damaged(base: str, child: int) -> bytes:
    """As large as a document may be to be repaired: Chinese and bare ampersands."""
    row = f"<url><loc>{base}/{child}/{'页面' * 40}?a=1&b=2</loc></url>\n"
    return OPEN + (row * (9_900_000 // len(row))).encode() + b"</urlset>\n"


def wide(base: str, child: int) -> bytes:
    return b"\xff\xfe" + entries(base, child, 50_000, "wide/" * 80).decode().encode("utf-16-le")[:FULL]


def lines(base: str, child: int) -> bytes:
    return "".join(f"{base}/{'text/' * 190}{child}/{at}\n" for at in range(50_000)).encode()


def usual(base: str, child: int) -> bytes:
    """50,000 URLs as they are: 11 MB."""
    return entries(base, child, 50_000, "library/of-some-documents/chapter", "<changefreq>weekly</changefreq>\n" * 2)


def index(base: str, names: list[str]) -> bytes:
    rows = "".join(f"<sitemap><loc>{base}/{name}</loc></sitemap>\n" for name in names)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</sitemapindex>'.encode()


def many_children(base: str, child: int) -> bytes:
    return index(base, [f"{child}/{'deep/' * 390}{at}" for at in range(500)])


Make = Callable[[str, int], bytes]
TREES: Final[dict[str, tuple[Make, int, str]]] = {
    "usual, 20 gzip files": (usual, 20, "file"),
    "usual, 20 coded": (usual, 20, "coded"),
    "alternates, 50 gzip files": (padded, 50, "file"),
    "white space, 50 gzip files": (plain_padded, 50, "file"),
    "white space, 50 coded": (plain_padded, 50, "coded"),
    "white space, 50 plain": (plain_padded, 50, "plain"),
    "addresses, 50 gzip files": (long_urls, 50, "file"),
    "addresses, 50 coded": (long_urls, 50, "coded"),
    "addresses, 50 plain": (long_urls, 50, "plain"),
    "noise, 50 plain": (noise, 50, "plain"),
    "a comment, 50 coded": (one_comment, 50, "coded"),
    "lastmods, 50 coded": (lastmods, 50, "coded"),
    "damaged, 50 coded": (damaged, 50, "coded"),
    "UTF-16, 50 coded": (wide, 50, "coded"),
    "lines, 50 gzip files": (lines, 50, "file"),
    "indexes of indexes": (many_children, 500, "coded"),
    "50,000 children": (usual, 50_000, "none"),
    "an index of itself": (usual, 0, "none"),
}
"""What a child is, how many the index names, and whether it is packed: as a file, for the transfer, or not at all."""


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


def serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        main(sys.argv[1:])
