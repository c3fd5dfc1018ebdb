"""A process that publishes: one command a line, as JSON; the answer is the ETag that it wrote.

python -m tests.soak.writer '{"kind": "folder", "root": "/…"}'
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from runtime.ports import Publisher
from runtime.publish.folder import FolderPublisher
from runtime.publish.s3 import S3Publisher, make_client

BASE = "https://files.example.org"
KEY = "docs.example.com/llms.txt"


def publisher_of(where: dict[str, Any]) -> Publisher:
    """The store that `where` says, of either kind."""
    if where["kind"] == "folder":
        return FolderPublisher(Path(where["root"]), BASE)
    client = make_client(endpoint_url=where["url"], access_key_id=where["key_id"], secret_access_key=where["secret"])
    return S3Publisher(client, where["bucket"], BASE)


def edition(number: int) -> bytes:
    """A file of 1 to 200 KB, another one each time."""
    line = f"- [Edition {number}](https://docs.example.com/{number})\n"
    return (f"# Edition {number}\n\n## Docs\n\n" + line * (20 + 397 * number % 4_000)).encode()


async def publish(store: Publisher, number: int, etag: str | None) -> str:
    body = edition(number)
    sha256 = hashlib.sha256(body).hexdigest()
    await store.put_version(f"docs.example.com/versions/{sha256}.txt", body, sha256=sha256)
    return await store.put(KEY, body, sha256=sha256, generation=number, expected_etag=etag)


def serve(where: dict[str, Any]) -> None:
    store = publisher_of(where)
    print("ready", flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        print(asyncio.run(publish(store, command["edition"], command["etag"])), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
