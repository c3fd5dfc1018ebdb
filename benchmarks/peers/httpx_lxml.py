# mypy: ignore-errors
"""Stock httpx with lxml, 16 requests at once: what a careful programmer writes in an hour. No robots.txt."""

from __future__ import annotations

import asyncio
import sys
from urllib.parse import urldefrag, urljoin

import httpx
from lxml import html
from report import Watch

ORIGIN = sys.argv[1]


async def main() -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    seen, queue = {f"{ORIGIN}/"}, asyncio.Queue()
    queue.put_nowait(f"{ORIGIN}/")
    async with httpx.AsyncClient() as client:

        async def worker() -> None:
            while True:
                url = await queue.get()
                response = await client.get(url)
                tree = html.fromstring(response.content)
                found.append(
                    (url, tree.findtext(".//title"), tree.xpath("string(//meta[@name='description']/@content)"))
                )
                for href in tree.xpath("//a/@href"):
                    target = urldefrag(urljoin(url, href))[0]
                    if target.startswith(ORIGIN) and target not in seen:
                        seen.add(target)
                        queue.put_nowait(target)
                queue.task_done()

        workers = [asyncio.create_task(worker()) for _ in range(16)]
        await queue.join()
        for task in workers:
            task.cancel()
    return found


watch = Watch()
watch.report(asyncio.run(main()))
