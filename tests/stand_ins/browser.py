"""Headless Chromium, driven over the DevTools protocol (https://chromedevtools.github.io/devtools-protocol/)."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = "no Chromium on this machine: apt-get install chromium"
SECONDS = 30


@dataclass
class Page:
    """One tab. `evaluate` waits for a promise."""

    devtools: ClientConnection
    session: str = ""
    console: list[str] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        asked = {"id": number, "method": method, "params": params}
        await self.devtools.send(json.dumps(asked | ({"sessionId": self.session} if self.session else {})))
        while True:
            answer = json.loads(await asyncio.wait_for(self.devtools.recv(), SECONDS))
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.console.append(json.dumps(answer["params"]))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    async def go(self, url: str) -> None:
        """Load a page to its end."""
        await self.call("Page.navigate", url=url)
        await self.evaluate("new Promise(r => document.readyState == 'complete' ? r() : addEventListener('load', r))")

    async def evaluate(self, script: str) -> Any:
        asked = {"expression": script, "awaitPromise": True, "returnByValue": True, "userGesture": True}
        answer = await self.call("Runtime.evaluate", **asked)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")


@asynccontextmanager
async def opened_page(profile: Path) -> AsyncIterator[Page]:
    assert PROGRAM is not None, MISSING
    options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        *options,
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(SECONDS):
            found = None
            while found is None:
                line = (await process.stderr.readline()).decode("utf-8", "replace")
                assert line, "Chromium ended before it listened"
                found = re.search(r"listening on (ws://\S+)", line)
        drained = asyncio.create_task(process.stderr.read())
        async with connect(found[1], max_size=None) as devtools:
            page = Page(devtools)
            target = (await page.call("Target.createTarget", url="about:blank"))["targetId"]
            page.session = (await page.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
            for domain in ("Page", "Runtime", "Log"):
                await page.call(f"{domain}.enable")
            yield page
            page.session = ""
            await page.call("Browser.close")
        await asyncio.wait_for(process.wait(), SECONDS)
        await drained
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
