"""A process that forks workers and tells how they ended; a worker kills or stops itself at a step of its run.

    python -m tests.faults.child

One command a line, as JSON: `{"start": {job}}` answers `{"pid": n}`; `{"wait": n}` answers `{"status": s}`, where `s` is
the exit code, minus the signal that ended the worker, or `"stopped"`. It has no threads, so that it may fork, and has
imported what a worker needs, so that one starts in milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, cast

import httpx

from runtime.http import Request
from runtime.local import run_tick
from runtime.management import route
from runtime.ports import World
from runtime.publish.s3 import S3Publisher, S3States, make_client
from runtime.registry import Sites
from runtime.settings import Settings
from runtime.sites.supabase import SupabaseSites
from tests.faults.loop import run
from tests.faults.service import PUBLIC, START, Service, base, titles, write
from tests.stand_ins.s3 import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from tests.stand_ins.site import HTML, Site

KILL_POINTS = {
    "K1": "claimed",
    "K2": "robots_read",
    "K3": "sitemaps_read",
    "K4": "request /page-1",
    "K5": "return render.py render",
    "K6": "surveyed",
    "K7": "version_stored",
    "K8": "published",
    "K9": "return sqlite_statements.py record",
    "K10": "committed",
    "K11": "tick_completed",
}
"""Where a run can be ended: a step that it tells, a request that it makes, or a function that it returns from.

K9 is inside the transaction of the commit: the line of the run is written, the row is not.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One tick of a worker over `sites` made-up sites in their `version`, on the stores in `home` or in the cloud; or
    one `call` of an owner about the first of them, as in `POST /rollback`. Of `gone` pages, those that are not shown are 410.

    :param at: a kill point's place; empty for a worker that ends by itself. :param nth: how often it is passed first.
    :param rest: whether the signal only stops the worker (SIGSTOP) instead of ending it.
    """

    home: str
    sites: int = 2
    pages: int = 3
    version: int = 1
    at: str = ""
    nth: int = 1
    rest: bool = False
    now: str = START.isoformat()
    call: str = ""
    gone: int = 0
    lease_seconds: int = 330
    database_url: str = ""
    database_key: str = ""
    bucket_url: str = ""
    bucket: str = ""


class _Place:
    """Ends this process the n-th time that a place is reached."""

    def __init__(self, job: Job) -> None:
        self._kind, _, self._rest = job.at.partition(" ")
        self._at, self._left = job.at, job.nth
        self._signal = signal.SIGSTOP if job.rest else signal.SIGKILL

    def hear(self, name: str, fields: dict[str, Any]) -> None:
        if self._at and self._at == (fields["step"] if name == "step" else name):
            self.reached()

    def ask(self, request: httpx.Request) -> None:
        if self._kind == "request" and request.url.path == self._rest:
            self.reached()

    def profile(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "return":
            file, function = self._rest.split(" ")
            if frame.f_code.co_name == function and frame.f_code.co_filename.endswith(f"/{file}"):
                self.reached()

    def watch(self) -> None:
        if self._kind == "return":
            sys.setprofile(self.profile)

    def reached(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), self._signal)


class _WatchedSite(Site):
    place: _Place

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.place.ask(request)
        return await super().handle_async_request(request)


def site_in(job: Job, made: Site | None = None) -> Site:
    """The made-up sites of a job, in its version."""
    site = made or Site()
    for number in range(job.sites):
        dated = f"2026-05-{job.version:02}"
        write(site, number, titles(number, version=job.version, count=job.pages), dated=dated)
        for page in range(job.pages, job.gone):
            site.replies[f"{base(number)}/page-{page}"] = (410, HTML, b"gone")
    return site


def work(job: Job) -> None:
    """One tick, in this process."""
    place = _Place(job)
    site = _WatchedSite()
    site.place = place
    site_in(job, site)
    settings = replace(Settings(), lease_seconds=job.lease_seconds)
    service = Service(Path(job.home), site, settings=settings, base=datetime.fromisoformat(job.now))
    service.hearing.append(place.hear)
    place.watch()
    if job.database_url:
        asyncio.run(_in_the_cloud(service, job))
    else:
        run(_called(service.world, job) if job.call else service.tick())


async def _called(world: World, job: Job) -> None:
    """An owner's call, as the management API takes it."""
    site = await world.sites.find(base(0))
    assert site is not None
    method, _, rest = job.call.partition(" ")
    part, _, body = rest.partition(" ")
    answer = await route(Request(method=method, path=f"/sites/{site.id}{part}", body=body.encode()), world)
    assert answer.status == 200, answer.body


async def _in_the_cloud(service: Service, job: Job) -> None:
    """The same tick on PostgreSQL and an S3 bucket, with their own clocks."""
    client = make_client(endpoint_url=job.bucket_url, access_key_id=ACCESS_KEY_ID, secret_access_key=SECRET_ACCESS_KEY)
    sites = SupabaseSites(job.database_url, job.database_key, timeout_seconds=20)
    world = replace(
        service.sound,
        sites=cast("Sites", sites),
        publisher=S3Publisher(client, job.bucket, PUBLIC),
        states=S3States(client, job.bucket),
        clock=lambda: datetime.now(UTC),
    )
    await (_called(world, job) if job.call else run_tick(world))
    sites.close()


def serve() -> None:
    """Fork a worker a job, until there are no more commands."""
    for line in sys.stdin:
        command = json.loads(line)
        answer = _start(command["start"]) if "start" in command else _wait(command["wait"])
        print(json.dumps(answer), flush=True)


def _start(job: dict[str, Any]) -> dict[str, int]:
    pid = os.fork()
    if pid:
        return {"pid": pid}
    status = 1
    try:
        devnull = os.open(os.devnull, os.O_RDWR)
        os.dup2(devnull, 0)
        os.dup2(devnull, 1)
        work(Job(**job))
        status = 0
    finally:
        sys.stderr.flush()
        os._exit(status)


def _wait(pid: int) -> dict[str, Any]:
    _, status = os.waitpid(pid, os.WUNTRACED)
    return {"status": "stopped" if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)}


@dataclass(slots=True)
class Workers:
    """The other end: starts workers through one forking process. To be used as `with running_workers() as workers`."""

    ask: Callable[[dict[str, Any]], dict[str, Any]]

    def start(self, job: Job) -> int:
        pid: int = self.ask({"start": asdict(job)})["pid"]
        return pid

    def wait(self, pid: int) -> int | str:
        status: int | str = self.ask({"wait": pid})["status"]
        return status

    def run(self, job: Job) -> int | str:
        """Start a worker and wait until it has ended, or has stopped itself."""
        return self.wait(self.start(job))


if __name__ == "__main__":
    serve()
