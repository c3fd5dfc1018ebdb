"""The first HTTPS connection to a new site: a default httpx client makes a TLS context each time, ours shares one.

python -m benchmarks.connecting server     answers over TLS from a process of its own
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from benchmarks.process import ROOT
from benchmarks.table import Table, figure
from runtime.settings import CrawlLimits, FetchPolicy
from runtime.web.fetch import FetchClient
from runtime.web.transport import PinnedTransport

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok"
TIMES = 30


def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 with its key, signed by itself."""
    out = folder / "tls.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", out, "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    out.write_text(out.read_text() + (folder / "cert.pem").read_text())
    return out


async def serve(pem: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def cpu_ms(work: Callable[[], Coroutine[Any, Any, None]]) -> float:
    """CPU of one time, the median of many; the first warms up."""

    async def repeated() -> float:
        times = []
        for _ in range(TIMES + 1):
            began = time.process_time()
            await work()
            times.append(time.process_time() - began)
        return 1000 * sorted(times[1:])[TIMES // 2]

    return asyncio.run(repeated())


def measure(port: int, certificate_file: Path) -> tuple[float, float]:
    """(ours, httpx): milliseconds for a site that is met for the first time."""
    import certifi
    import httpx

    url = f"https://127.0.0.1:{port}/"
    shared = ssl.create_default_context(cafile=certifi.where())
    shared.load_verify_locations(certificate_file)
    limits = CrawlLimits(requests_per_second=0)
    policy = FetchPolicy(allow_networks=("127.0.0.0/8",), allow_any_port=True)
    client = FetchClient(policy, limits, wire=PinnedTransport(tls=shared))

    async def ours() -> None:
        assert (await client.get(url, max_bytes=100)).body == b"ok"

    async def theirs() -> None:
        context = httpx.create_ssl_context()  # what AsyncClient() does when it is not given one
        context.load_verify_locations(certificate_file)
        async with httpx.AsyncClient(verify=context) as other:
            assert (await other.get(url)).text == "ok"

    return cpu_ms(ours), cpu_ms(theirs)


def fill_table(table: Table) -> None:
    with tempfile.TemporaryDirectory() as name:
        pem = certificate(Path(name))
        command = [sys.executable, "-m", "benchmarks.connecting", str(pem)]
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            assert server.stdin is not None
            ours, theirs = measure(json.loads(server.stdout.readline()), Path(name) / "cert.pem")
            server.stdin.close()
    detail = f"CPU {figure(ours)} against {figure(theirs)} ms"
    table.at_least("a new HTTPS site, times less than a default httpx client", 6.0, theirs / ours, "×", detail)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
