"""A small HTTP/1.1 server on loopback for the sample site: keep-alive, conditional requests, and a log of requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import urlsplit

from runtime.sample.site import Answer, SampleSite

MAX_HEAD_BYTES = 32_768


class SampleServer:
    """A running server, reached at `url`.

    `requests` is what it was asked, as (method, path with query, status), oldest first; a caller may clear it.
    """

    def __init__(self, site: SampleSite) -> None:
        self.site = site
        self.url = ""
        self.requests: list[tuple[str, str, int]] = []
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._closed = False
        self._answers: dict[str, Answer] = {}
        self._revision = -1

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, in a task of its own, until it is closed."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._connections.pop)
        if self._closed:
            writer.close()

    async def hang_up(self) -> None:
        """Close all connections, and those that are still coming in: a kept-alive one would never end by itself."""
        self._closed = True
        for writer in self._connections.values():
            writer.close()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client went away, or speaks another protocol
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request, *lines = head.rstrip().split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, _, rest = request.partition(" ")
        target = rest.rpartition(" ")[0]
        answer = self._answer(method, target, headers)
        self.requests.append((method, target, answer.status))
        keep = headers.get("connection", "").lower() != "close" and "content-length" not in headers
        fields = {**answer.headers, "Connection": "keep-alive" if keep else "close"}
        status = f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n"
        writer.write((status + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n").encode())
        if method != "HEAD":
            writer.write(answer.body)
        await writer.drain()
        return keep

    def _answer(self, method: str, target: str, headers: Mapping[str, str]) -> Answer:
        if method not in {"GET", "HEAD"}:
            return Answer(405, {"Allow": "GET, HEAD", "Content-Length": "0"}, b"")
        if self._revision != self.site.revision:
            self._answers, self._revision = self.site.answers(self.url), self.site.revision
        answer = self._answers.get(urlsplit(target).path) or self.site.not_found(self.url)
        if answer.status == 200 and _is_current(answer, headers):
            kept = {name: answer.headers[name] for name in ("ETag", "Last-Modified") if name in answer.headers}
            return Answer(304, kept, b"")
        return answer


@asynccontextmanager
async def serve(site: SampleSite, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[SampleServer]:
    """Serve the site on the running loop; port 0 takes a free one. Edits of `site` show at once."""
    server = SampleServer(site)
    listener = await asyncio.start_server(server.accept, host, port, limit=MAX_HEAD_BYTES)
    server.url = f"http://{host}:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()
        await server.hang_up()
        await listener.wait_closed()


@contextmanager
def serve_in_thread(site: SampleSite, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[SampleServer]:
    """Serve the site from a thread of its own, for callers that block or run the product in another process."""
    outcome: Future[tuple[SampleServer, Callable[[], object]]] = Future()

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        async with serve(site, host=host, port=port) as server:
            outcome.set_result((server, lambda: loop.call_soon_threadsafe(stop.set)))
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(main())
        except OSError as error:  # the port is taken: the caller is told, in its own thread
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name="sample-site", daemon=True)
    thread.start()
    server, stop = outcome.result()
    try:
        yield server
    finally:
        stop()
        thread.join()


def _is_current(answer: Answer, headers: Mapping[str, str]) -> bool:
    """RFC 9110 13.2.2: If-None-Match decides alone when it is there, If-Modified-Since otherwise."""
    if "if-none-match" in headers:
        tags = {tag.strip().removeprefix("W/") for tag in headers["if-none-match"].split(",")}
        return "*" in tags or answer.headers.get("ETag") in tags
    if "if-modified-since" in headers and "Last-Modified" in answer.headers:
        try:
            return parsedate_to_datetime(answer.headers["Last-Modified"]) <= parsedate_to_datetime(
                headers["if-modified-since"]
            )
        except (TypeError, ValueError):
            return False
    return False
