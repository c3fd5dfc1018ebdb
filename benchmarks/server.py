"""Serves the made-up site from a process of its own: `python -m benchmarks.server --pages 1000 --latency-ms 50`.

Every answer is made before the first request. Prints its origin, then waits; ends with its standard input.
`/__stats` gives requests and bytes since the last call, `/__edit?count=10` edits pages.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
import sys
from dataclasses import dataclass
from typing import Any

import httptools

from benchmarks.site import DocSite

HTML, XML, TEXT = "text/html; charset=utf-8", "application/xml", "text/plain; charset=utf-8"
TICK = 0.001
"""Seconds; epoll waits for whole ones, rounded up: without half of one less, answers would on the average be late."""

MISSING = b"<!DOCTYPE html><title>Not found</title><h1>Not found</h1>"


@dataclass(slots=True)
class Answer:
    """A whole response, gzip and plain, and the 304 to a request that has it."""

    etag: bytes
    plain: bytes
    packed: bytes
    unmodified: bytes


def answer(body: bytes, content_type: str, *, status: str = "200 OK", packs: bool = True) -> Answer:
    etag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\netag: {etag}\r\n"
    plain = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
    squeezed = gzip.compress(body, 6, mtime=0) if packs else b""
    packed = f"{head}content-encoding: gzip\r\ncontent-length: {len(squeezed)}\r\n\r\n".encode() + squeezed
    unmodified = f"HTTP/1.1 304 Not Modified\r\netag: {etag}\r\n\r\n".encode()
    return Answer(etag.encode(), plain, packed if packs else plain, unmodified)


class Pages:
    """The answers by path, and what was asked for."""

    def __init__(self, site: DocSite, *, packs: bool) -> None:
        self.site, self.packs = site, packs
        self.requests = self.bytes = 0
        self.by_path: dict[bytes, Answer] = {}
        self.missing = answer(MISSING, HTML, status="404 Not Found", packs=packs)
        for path, number in site.paths.items():
            self.by_path[path.encode()] = answer(site.page(number), HTML, packs=packs)
        self.by_path[b"/robots.txt"] = answer(site.robots(), TEXT, packs=packs)
        self._sitemaps()

    def _sitemaps(self) -> None:
        for path, body in self.site.sitemaps().items():
            self.by_path[path.encode()] = answer(body, XML, packs=self.packs)

    def edit(self, count: int) -> None:
        for number in range(1, 1 + count):
            at = number * (self.site.pages // (count + 1))
            self.site.edits[at] = self.site.edits.get(at, 0) + 1
            self.by_path[self.site.path(at).encode()] = answer(self.site.page(at), HTML, packs=self.packs)
        self._sitemaps()

    def control(self, path: bytes) -> bytes:
        if path.startswith(b"/__edit"):
            self.edit(int(path.rpartition(b"=")[2]))
        body = json.dumps({"requests": self.requests, "bytes": self.bytes, "answers": self.site.answers()}).encode()
        self.requests = self.bytes = 0
        return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


class Door(asyncio.Protocol):
    """One connection; answers in the order of the requests."""

    def __init__(self, pages: Pages, latency: float) -> None:
        self.pages, self.latency = pages, latency
        self.parser = httptools.HttpRequestParser(self)
        self.transport: Any = None
        self.on_message_begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_begin(self) -> None:
        self.path, self.known, self.packed = b"", b"", False

    def on_url(self, url: bytes) -> None:
        self.path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"if-none-match":
            self.known = value
        elif name == b"accept-encoding":
            self.packed = b"gzip" in value

    def on_message_complete(self) -> None:
        pages = self.pages
        if self.path.startswith(b"/__"):
            self.transport.write(pages.control(self.path))
            return
        found = pages.by_path.get(self.path, pages.missing)
        data = found.packed if self.packed else found.plain
        if self.known and self.known == found.etag:
            data = found.unmodified
        pages.requests += 1
        pages.bytes += len(data)
        if self.latency:
            asyncio.get_running_loop().call_later(self.latency - TICK / 2, self.transport.write, data)
        else:
            self.transport.write(data)


async def serve(pages: int, *, latency: float, packs: bool) -> None:
    loop = asyncio.get_running_loop()
    held: list[Pages] = []
    server = await loop.create_server(lambda: Door(held[0], latency), "127.0.0.1", 0, start_serving=False, backlog=256)
    port = server.sockets[0].getsockname()[1]
    held.append(Pages(DocSite(f"http://127.0.0.1:{port}", pages), packs=packs))
    await server.start_serving()
    print(f"http://127.0.0.1:{port}", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=1_000)
    options.add_argument("--latency-ms", type=float, default=0.0)
    options.add_argument("--plain", action="store_true", help="never gzip")
    given = options.parse_args()
    asyncio.run(serve(given.pages, latency=given.latency_ms / 1000, packs=not given.plain))


if __name__ == "__main__":
    main()
