"""`python -m runtime serve` as a process: enrolment through its WebSocket, and no key in what it prints."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from websockets.asyncio.client import connect

from runtime.live import ENABLED
from runtime.sample.server import SampleServer
from tests.runtime.live.conftest import KEY, frames_of

ROOT = Path(__file__).parents[3]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


async def test_a_site_is_enrolled_through_the_command_line_service(tmp_path: Path, site: SampleServer) -> None:
    """The key comes from the environment; a wrong and a right one go in queries, and neither is printed."""
    port = free_port()
    home = ("--home", str(tmp_path), "--allow-private", "--rate", "0", "--base-url", f"http://127.0.0.1:{port}", "-v")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "runtime", *home, "serve", "--port", str(port), "--no-schedule"),
        cwd=ROOT,
        env={**os.environ, "LLMS_API_KEY": KEY},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    printed = await asyncio.wait_for(process.stdout.readline(), 30)
    address = f"ws://127.0.0.1:{port}/ws/crawl?api_key="
    try:
        async with asyncio.timeout(60):
            # A refused connection is tried again at once by the client itself, with its own back-off.
            async for client in connect(f"{address}{KEY}", max_size=None):
                await client.send(json.dumps({"url": site.url, "maxPages": 5, "enableAutoUpdate": True}))
                frames = await frames_of(client)
                break
    finally:
        process.send_signal(signal.SIGINT)
        printed += await asyncio.wait_for(process.stdout.read(), 30)
        await process.wait()

    assert ENABLED in [frame["content"] for frame in frames]
    assert frames[-1]["type"] == "done"
    assert f"http://127.0.0.1:{port}" in printed.decode()
    assert KEY not in printed.decode()
    assert "Traceback" not in printed.decode()
