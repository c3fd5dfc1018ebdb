"""Every hostile site in turn inside a tick of twenty, in one process whose memory is bounded; prints what came of each.

    python -m tests.faults.gauntlet [NAME …]

One JSON object a line. `neighbours` says whether the files of the other nineteen sites are, to the byte, what they are
without the hostile one. Seconds are simulated, `cpu` is measured; `grown` is how many MB the tick took at its peak.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import shutil
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from runtime.document.parse import parse
from runtime.document.validate import validate
from tests.faults.hostile import HOSTILE, HostileSite
from tests.faults.invariants import check_invariants
from tests.faults.loop import run
from tests.faults.oddities import ODDITIES
from tests.faults.service import Service, base, titles, write

SITES = 20
HOSTILE_SITE = 7
MEMORY_MB = 384
MEMORY = Path("/dev/shm")
PLAYED = HOSTILE | ODDITIES


@dataclass
class Result:
    """What became of the hostile site; `urls` are those of its file, `log` the requests that it got."""

    name: str
    neighbours: bool = False
    seconds: float = 0.0
    cpu: float = 0.0
    grown: int = 0
    outcome: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    urls: list[str] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)
    strangers: list[str] = field(default_factory=list)
    valid: bool = True
    broken: str = ""


def resident(field_name: str) -> int:
    """VmRSS or VmHWM, in MB (proc(5))."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field_name}:")) // 1024


def level() -> int:
    """The resident size now, from which on the peak counts."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


async def tick(home: Path, site: HostileSite) -> Service:
    service = Service(home, site)
    await service.enroll(*range(SITES))
    await service.tick()
    return service


def honest() -> HostileSite:
    site = HostileSite()
    for number in range(SITES):
        write(site, number, titles(number, count=1))
    return site


async def play(name: str, home: Path, files: list[bytes]) -> Result:
    """One hostile site, and its nineteen neighbours."""
    made, any_url = PLAYED[name]
    site, root = honest(), base(HOSTILE_SITE)
    site.take(root, made(root), any_url)
    result = Result(name)
    before, loop = level(), asyncio.get_running_loop()
    cpu, started = time.process_time(), loop.time()
    service = await tick(home, site)
    result.cpu, result.seconds = time.process_time() - cpu, loop.time() - started
    result.grown = resident("VmHWM") - before
    result.neighbours = all(service.file(n) == files[n] for n in range(SITES) if n != HOSTILE_SITE)
    [line] = await service.sites.runs((await service.row(HOSTILE_SITE)).id)
    result.outcome, result.counts = line.outcome, dict(line.counts)
    text = service.file(HOSTILE_SITE).decode()
    result.urls = [link.url for link in parse(text).links()] if text else []
    result.valid = not text or not validate(text)
    own = [url for url in site.log if url.startswith(f"{root}/")]
    result.asked = {url.removeprefix(root): own.count(url) for url in own}
    result.strangers = [url for url in site.log if ".example.com/" not in url]
    try:
        await check_invariants(service)
    except AssertionError as error:
        result.broken = str(error)
    service.close()
    return result


def main(names: list[str]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="gauntlet-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        service = run(tick(folder / "honest", honest()))
        files = [service.file(number) for number in range(SITES)]
        service.close()
        assert all(files)
        for place, name in enumerate(names or PLAYED):
            result: dict[str, Any] = asdict(run(play(name, folder / str(place), files)))
            print(json.dumps(result), flush=True)
            shutil.rmtree(folder / str(place))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    limit = MEMORY_MB * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    main(sys.argv[1:])
