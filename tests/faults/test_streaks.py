"""Who is told what of a site that is held or fails again and again: once a streak, and once more after it has recovered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from runtime import webhook
from runtime.settings import Settings
from tests.faults.loop import run
from tests.faults.ports import Fault
from tests.faults.service import DAY, Service, base, site_of, titles, write
from tests.stand_ins.site import HTML, Reply, Site, text

OWNER, OPERATOR = "https://ci.example.org/inbox", "https://ops.example.org/inbox"
PAGES = 12


@dataclass
class Inboxes:
    """What came to the site's own address and to the deployment's, by the kind of message."""

    received: dict[str, list[str]] = field(default_factory=dict)

    def take(self, request: httpx.Request) -> Reply:
        kind = json.loads(request.content)["type"].removeprefix("llms_txt.")
        self.received.setdefault(str(request.url), []).append(kind)
        return 200, {}, b""

    def since(self) -> dict[str, list[str]]:
        """What came since this was asked the last time."""
        found, self.received = self.received, {}
        return found


@contextmanager
def watched(home: Path, *, owner: bool, operator: bool) -> Iterator[tuple[Service, Inboxes, dict[str, Any]]]:
    """A service that tells the owner, the operator or both, and the options that a site is enrolled with."""
    inboxes = Inboxes()
    settings = Settings()
    if operator:
        settings = replace(settings, notify_url=OPERATOR, notify_secrets=(webhook.new_secret(),))
    service = Service(home, site_of(1, pages=PAGES), settings=settings)
    listen(service, inboxes)
    try:
        yield service, inboxes, {"notifyUrl": OWNER} if owner else {}
    finally:
        service.close()


def listen(service: Service, inboxes: Inboxes) -> None:
    service.site.replies |= {OWNER: inboxes.take, OPERATOR: inboxes.take}


def both(kinds: list[str], *, owner: bool, operator: bool) -> dict[str, list[str]]:
    return {url: kinds for url, asked in ((OWNER, owner), (OPERATOR, operator)) if asked and kinds}


def shrink(site: Site) -> None:
    write(site, 0, titles(0, version=2, count=1), dated="2026-06-02")
    for page in range(1, PAGES):
        site.replies[f"{base(0)}/page-{page}"] = (410, HTML, b"gone")


def shut(site: Site) -> None:
    site.replies[f"{base(0)}/robots.txt"] = text("User-agent: *\nDisallow: /")


def break_down(site: Site) -> None:
    for url in [url for url in site.replies if url.startswith(base(0))]:
        site.replies[url] = (500, HTML, b"Internal Server Error")


def recover(site: Site) -> None:
    write(site, 0, titles(0, count=PAGES), dated="2026-06-03")


WHO = pytest.mark.parametrize(("owner", "operator"), [(True, False), (False, True), (True, True), (False, False)])


@WHO
@pytest.mark.parametrize("hold", [shrink, shut])
def test_a_hold_is_told_once_a_streak(home: Path, hold: Any, owner: bool, operator: bool) -> None:
    """Held five times is one message, and so is a hold in which the site fails or we do; after a recovery it is another."""

    async def scenario(service: Service, inboxes: Inboxes, options: dict[str, Any]) -> None:
        who = {"owner": owner, "operator": operator}
        await service.enroll(0, **options)
        await service.tick()
        assert inboxes.since() == both(["updated"], **who)
        for _ in range(2):
            for round_ in range(5):
                recover(service.site)
                (break_down if round_ == 2 else hold)(service.site)
                if round_ == 3:
                    service.script.arm("states", Fault.FAIL, times=9)
                await service.sites.request_recrawl((await service.row(0)).id, debounce_seconds=0)
                await service.tick(after=timedelta(minutes=30))
                service.script.disarm()
            outcomes = [line.outcome.value for line in await service.sites.runs((await service.row(0)).id, limit=5)]
            assert outcomes == ["held", "deferred", "failed", "held", "held"]
            assert inboxes.since() == both(["held"], **who)
            recover(service.site)
            for _ in range(2):
                await service.tick(after=DAY)
            assert inboxes.since() == {}

    with watched(home, owner=owner, operator=operator) as (service, inboxes, options):
        run(scenario(service, inboxes, options))


@WHO
def test_failures_are_told_once_a_streak(home: Path, owner: bool, operator: bool) -> None:
    """The third failure in a row is told, no other; a fault of ours in between counts for nothing, a recovery starts anew."""

    async def scenario(service: Service, inboxes: Inboxes, options: dict[str, Any]) -> None:
        who = {"owner": owner, "operator": operator}
        await service.enroll(0, **options)
        await service.tick()
        inboxes.since()
        for _ in range(2):
            break_down(service.site)
            told = []
            for round_ in range(6):
                if round_ == 1:
                    service.script.arm("states", Fault.FAIL, times=9)
                await service.tick(after=2 * DAY)
                service.script.disarm()
                told.append(inboxes.since())
            row = await service.row(0)
            assert row.failure_count == 5
            assert told == [{}, {}, {}, both(["failing"], **who), {}, {}]
            recover(service.site)
            await service.tick(after=2 * DAY)
            assert (await service.row(0)).failure_count == 0
            inboxes.since()

    with watched(home, owner=owner, operator=operator) as (service, inboxes, options):
        run(scenario(service, inboxes, options))


@pytest.mark.parametrize("after", [1, 2, 5])
def test_the_operator_chooses_how_many_failures_are_news(home: Path, after: int) -> None:
    """Exactly the failure of that number is told, with the count and the reason."""

    async def scenario(service: Service) -> None:
        await service.enroll(0, notifyUrl=OWNER)
        told: list[dict[str, Any]] = []

        def inbox(request: httpx.Request) -> Reply:
            told.append(json.loads(request.content))
            return 200, {}, b""

        await service.tick()
        break_down(service.site)
        service.site.replies[OWNER] = inbox
        for _ in range(7):
            await service.tick(after=2 * DAY)
        [message] = told
        assert (message["type"], message["data"]["failure_count"]) == ("llms_txt.failing", after)
        assert message["data"]["reason"]

    service = Service(home, site_of(1), settings=replace(Settings(), notify_after_failures=after))
    service.site.replies[OWNER] = (200, {}, b"")
    run(scenario(service))
    service.close()
