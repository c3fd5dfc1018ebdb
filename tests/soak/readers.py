"""Readers while a file is published: each body is the old file or the new one, whole, and its ETag is its own.

The writer is a process of its own; every tenth time it is killed somewhere on its way.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit

from runtime.publish.folder import FolderPublisher
from tests.soak.kills import memory_folder
from tests.soak.writer import KEY, edition, publisher_of
from tests.stand_ins import s3

KILL_EVERY = 10
SPREAD_SECONDS = 0.05
"""Over so long the readers come around a publish; one takes milliseconds."""

Read = Callable[[], Awaitable[tuple[bytes, str, str]]]
"""One reader: gives the body, its ETag, and the ETag that such a body should have."""


@dataclass
class View:
    """What the readers of one kind of store saw; `problems` are bodies that no reader may get."""

    kind: str
    publishes: int = 0
    killed: int = 0
    reads: int = 0
    old: int = 0
    new: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)


class Writer:
    """The process that publishes, started anew after it was killed."""

    def __init__(self, where: dict[str, Any]) -> None:
        self._where = where
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.writer", json.dumps(self._where)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answers.readline() == "ready\n"

    @property
    def _answers(self) -> IO[str]:
        return cast("IO[str]", self._process.stdout)

    def order(self, number: int, etag: str | None) -> None:
        asking = cast("IO[str]", self._process.stdin)
        asking.write(json.dumps({"edition": number, "etag": etag}) + "\n")
        asking.flush()

    def answer(self) -> str:
        return self._answers.readline().strip()

    def kill(self) -> None:
        """SIGKILL wherever it is, and a new process in its place."""
        self._process.kill()
        self._close()
        self._start()

    def close(self) -> None:
        self._process.kill()
        self._close()

    def _close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            cast("IO[str]", self._process.stdin).close()
        self._answers.close()
        self._process.wait()


def soak_readers(kind: str, *, publishes: int, readers: int, until: float, seed: int = 1) -> View:
    """Publish `publishes` editions with `readers` reads during each, below `until` on `time.monotonic()`."""
    view, started = View(kind), time.monotonic()
    with memory_folder() as folder, _store(kind, folder) as where:
        writer = Writer(where)
        try:
            asyncio.run(_rounds(view, where, writer, publishes, readers, until, random.Random(seed)))
        finally:
            writer.close()
    view.seconds = time.monotonic() - started
    return view


async def _rounds(
    view: View, where: dict[str, Any], writer: Writer, publishes: int, readers: int, until: float, chance: random.Random
) -> None:
    store = publisher_of(where)
    writer.order(0, None)
    await asyncio.to_thread(writer.answer)
    before = 0
    async with _reading(where, readers) as reads:
        for number in range(1, publishes + 1):
            if time.monotonic() > until:
                view.problems.append(f"{view.kind}: only {number - 1} publishes fitted into the time")
                return
            current = await store.read(KEY)
            assert current is not None
            await _round(view, writer, reads, (before, number), current.etag, chance)
            view.publishes += 1
            shown = await store.read(KEY)
            assert shown is not None
            if shown.body == edition(number):
                before = number
            elif number % KILL_EVERY:
                view.problems.append(f"{view.kind}: edition {number} was published, and is not there")


async def _round(
    view: View, writer: Writer, reads: list[Read], editions: tuple[int, int], etag: str, chance: random.Random
) -> None:
    """One read by each reader: a quarter begins before the publish, half of them around it, a quarter after it."""
    number = editions[1]
    old, new = map(edition, editions)
    quarter = len(reads) // 4
    tasks = [asyncio.ensure_future(read()) for read in reads[:quarter]]
    await asyncio.sleep(0)
    writer.order(number, etag)
    around = reads[quarter : len(reads) - quarter]
    tasks += [asyncio.ensure_future(_late(read, chance.random() * SPREAD_SECONDS)) for read in around]
    if number % KILL_EVERY == 0:
        await asyncio.sleep(chance.random() * 0.02)
        await asyncio.to_thread(writer.kill)
        view.killed += 1
    else:
        await asyncio.to_thread(writer.answer)
    tasks += [asyncio.ensure_future(read()) for read in reads[len(reads) - quarter :]]
    for body, told, own in await asyncio.gather(*tasks):
        view.reads += 1
        view.old += body == old
        view.new += body == new
        if body not in (old, new):
            view.problems.append(f"{view.kind}: edition {number}: a reader got {len(body)} bytes of neither file")
        if told != own:
            view.problems.append(f"{view.kind}: edition {number}: the ETag {told} is not the body's ({own})")


async def _late(read: Read, seconds: float) -> tuple[bytes, str, str]:
    await asyncio.sleep(seconds)
    return await read()


@contextmanager
def _store(kind: str, folder: Path) -> Iterator[dict[str, Any]]:
    if kind == "folder":
        yield {"kind": kind, "root": str(folder / "published")}
        return
    server = s3.start(folder)
    try:
        bucket = server.make_bucket("readers")
        keys = {"key_id": s3.ACCESS_KEY_ID, "secret": s3.SECRET_ACCESS_KEY}
        yield {"kind": kind, "url": server.endpoint_url, "bucket": bucket, **keys}
    finally:
        server.kill()


@asynccontextmanager
async def _reading(where: dict[str, Any], readers: int) -> AsyncIterator[list[Read]]:
    if where["kind"] == "folder":
        store = FolderPublisher(Path(where["root"]), "https://files.example.org")
        path = Path(where["root"]) / KEY

        async def through_the_port() -> tuple[bytes, str, str]:
            stored = await store.read(KEY)
            assert stored is not None, "the file is gone"
            return stored.body, stored.etag, f'"{hashlib.sha256(stored.body).hexdigest()}"'

        async def as_a_static_server() -> tuple[bytes, str, str]:
            body = await asyncio.to_thread(path.read_bytes)
            return body, "", ""

        yield [as_a_static_server if number % 2 else through_the_port for number in range(readers)]
        return
    from runtime.publish.s3 import make_client

    client = make_client(endpoint_url=where["url"], access_key_id=where["key_id"], secret_access_key=where["secret"])
    url = client.generate_presigned_url("get_object", Params={"Bucket": where["bucket"], "Key": KEY}, ExpiresIn=86_400)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, max(4_096, 3 * readers)), most))
    made = [HttpReader(url) for _ in range(readers)]
    try:
        yield [reader.read for reader in made]
    finally:
        for reader in made:
            reader.close()


class HttpReader:
    """One reader with a kept connection, as a browser has it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._place = (parts.hostname or "", parts.port or 80)
        self._head = f"GET {parts.path}?{parts.query} HTTP/1.1\r\nhost: {parts.netloc}\r\n\r\n".encode()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def read(self) -> tuple[bytes, str, str]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._place, limit=1 << 20)
        reader, writer = self._streams
        writer.write(self._head)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        assert head[0].split(" ")[1] == "200", f"a reader was answered {head[0]}"
        body = await reader.readexactly(int(headers["content-length"]))
        if headers.get("x-amz-meta-sha256") != hashlib.sha256(body).hexdigest():
            return body, f"sha256 {headers.get('x-amz-meta-sha256')}", "that of the body"
        return body, headers["etag"], f'"{hashlib.md5(body).hexdigest()}"'

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
