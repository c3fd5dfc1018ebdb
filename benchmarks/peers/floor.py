# mypy: ignore-errors
"""The practical floor of Python: uvloop, httptools and lexbor, and nothing that a product needs.

No robots.txt, no time-outs, no caps, no checks, no document; only pages, titles, descriptions and links.
"""

from __future__ import annotations

import asyncio
import sys
import zlib
from urllib.parse import urljoin, urlsplit

import httptools
import uvloop
from report import Watch
from selectolax.lexbor import LexborHTMLParser

ORIGIN = sys.argv[1]
PORT = urlsplit(ORIGIN).port


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.transport = self.waiter = None

    def connection_made(self, transport) -> None:
        self.transport = transport

    def data_received(self, data) -> None:
        self.parser.feed_data(data)

    def on_header(self, name, _) -> None:
        self.packed |= name.lower() == b"content-encoding"

    def on_body(self, data) -> None:
        self.parts.append(data)

    def on_message_complete(self) -> None:
        body = b"".join(self.parts)
        self.waiter.set_result(zlib.decompress(body, 31) if self.packed else body)

    def get(self, path: str) -> asyncio.Future:
        self.parts, self.packed = [], False
        self.parser = httptools.HttpResponseParser(self)
        self.waiter = asyncio.get_running_loop().create_future()
        self.transport.write(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{PORT}\r\naccept-encoding: gzip\r\n\r\n".encode())
        return self.waiter


async def main() -> list[tuple[str, str, str]]:
    loop = asyncio.get_running_loop()
    found: list[tuple[str, str, str]] = []
    hrefs: dict[str, str | None] = {}
    seen, queue = {"/"}, asyncio.Queue()
    queue.put_nowait("/")

    async def worker() -> None:
        _, connection = await loop.create_connection(Connection, "127.0.0.1", PORT)
        while True:
            path = await queue.get()
            tree = LexborHTMLParser(await connection.get(path))
            title = tree.css_first("title").text()
            found.append((f"{ORIGIN}{path}", title, tree.css_first("meta[name=description]").attributes["content"]))
            for node in tree.css("a[href]"):
                href = node.attributes["href"]
                target = hrefs.get(href, "")
                if target == "":
                    parts = urlsplit(urljoin(f"{ORIGIN}{path}", href))
                    target = parts.path if parts.scheme == "http" and parts.port == PORT else None
                    if href.startswith("/"):
                        hrefs[href] = target
                if target is not None and target not in seen:
                    seen.add(target)
                    queue.put_nowait(target)
            queue.task_done()

    workers = [asyncio.create_task(worker()) for _ in range(16)]
    await queue.join()
    for task in workers:
        task.cancel()
    return found


watch = Watch()
watch.report(uvloop.run(main()))
