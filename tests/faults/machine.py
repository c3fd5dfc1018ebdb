"""Sites, ticks, webhooks and faults in any order, driven by hypothesis; a small model beside the service says what holds.

The model knows what each site says at the moment, and from that what its file may be: while a site is broken the file it
had before; once the faults are over and time has passed, what a survey without a past gives.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from runtime import keys, webhook
from runtime.api import HOOK_PATH, Api, Secrets
from runtime.http import Answer, Request
from runtime.models import Outcome, Site, SiteStatus
from tests.faults.conftest import MEMORY
from tests.faults.invariants import check_invariants
from tests.faults.loop import FaultLoop
from tests.faults.ports import FAULTS_OF, PORTS, Fault, Killed
from tests.faults.service import Service, base, sha, titles, write
from tests.stand_ins.site import HTML, Reply
from tests.stand_ins.site import Site as Web

T = TypeVar("T")

API_KEY = "an-api-key-0123456789"
SMALL, LARGE = (1, 4), (10, 14)
SIZES = (SMALL, SMALL, LARGE)
"""Pages of the sites, fewest and most: the guard has something to say about the last one."""

NUMBERS = st.integers(0, len(SIZES) - 1)
BROKEN = ("500", "403", "empty", "collapse")
LASTMODS = ("day", "second", "none")
FAULTS = [(port, fault) for port in PORTS for fault in FAULTS_OF[port]]
KILLS = [
    (port, fault)
    for port in ("web", "sites", "publisher", "states", "queue")
    for fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER)
]
SKEWS = [timedelta(), -timedelta(minutes=1), -timedelta(minutes=10), -timedelta(hours=1)]
CALLS = ("enroll", "edit", "pause", "resume", "confirm", "rollback", "delete", "announce")
A_DAY = 26


@dataclass
class Content:
    """What a site says, and what is known of its row.

    `silent`: it changed, and neither its sitemap nor a webhook said so. `frozen` are the files it may have since it broke:
    what was public, and what its row said; `pinned` the file that an operator put back, until the site changes; `loose`
    if it had changed before that. `half`: somebody died in the middle of a rollback.
    """

    pages: int
    version: int = 1
    lastmod: str = "day"
    broken: str = ""
    silent: bool = False
    frozen: set[bytes] = field(default_factory=set)
    pinned: bytes | None = None
    loose: bool = False
    half: bool = False
    site_id: str = ""
    secret: str = ""
    exclude: tuple[str, ...] = ()
    shrunk: bool = False
    sent: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


class ServiceMachine(RuleBasedStateMachine):
    """The embedded service over three sites. A fault lasts for one tick."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="machine-", dir=MEMORY if MEMORY.is_dir() else None))
        self.runner = asyncio.Runner(loop_factory=FaultLoop)
        self.service = Service(self.home, Web())
        self.api = Api(self.service.world, self._secrets, self._no_tick)
        self.contents = [Content(sizes[1]) for sizes in SIZES]
        self.messages = 0
        self.stamped = self.service.base

    def teardown(self) -> None:
        self.service.close()
        self.runner.close()
        shutil.rmtree(self.home)

    # -- sites

    @initialize()
    def begin(self) -> None:
        for number in range(len(SIZES)):
            self._show(number)
            self.enroll(number)

    @rule(number=NUMBERS, exclude=st.sampled_from([(), ("/page-0",)]))
    def enroll(self, number: int, exclude: tuple[str, ...] = ()) -> None:
        """A new row is answered with its secret; one that is there gets the options."""
        content = self.contents[number]
        self.service.known.add(base(number))
        given = {"url": base(number), "recrawlIntervalMinutes": 1_440, "exclude": list(exclude)}
        answer = self._call("POST", "/sites", given)
        assert answer.status == (200 if content.site_id else 201), answer.body
        content.site_id = answer.body["id"]
        self._choose(number, exclude)
        content.secret = answer.body.get("webhook_secret", content.secret)
        assert content.secret

    @rule(number=NUMBERS, exclude=st.sampled_from([(), ("/page-1",)]), minutes=st.sampled_from([60, 1_440]))
    def edit(self, number: int, exclude: tuple[str, ...], minutes: int) -> None:
        """New options are looked at again."""
        answer = self._on(number, "PATCH", "", {"exclude": list(exclude), "recrawlIntervalMinutes": minutes})
        if answer.status == 200:
            self._choose(number, exclude)

    @rule(number=NUMBERS, size=st.integers(0, 4), lastmod=st.sampled_from(LASTMODS))
    def change(self, number: int, size: int, lastmod: str) -> None:
        """The site is edited, and its sitemap says so, if it says anything."""
        content = self.contents[number]
        low, high = SIZES[number]
        content.version += 1
        content.pages, content.lastmod = min(high, low + size), lastmod
        content.silent, content.pinned = False, None
        self._show(number)

    @rule(number=NUMBERS)
    def change_in_silence(self, number: int) -> None:
        """The site is edited, and its sitemap is as it was: only a webhook tells, or the maximum staleness."""
        content = self.contents[number]
        content.version += 1
        content.silent, content.pinned = True, None
        kept = self.service.site.replies.get(f"{base(number)}/sitemap.xml")
        self._show(number)
        if kept is not None and not content.broken:
            self.service.site.replies[f"{base(number)}/sitemap.xml"] = kept

    @rule(number=NUMBERS, how=st.sampled_from(BROKEN))
    def break_site(self, number: int, how: str) -> None:
        """The site fails, shuts us out, shows empty pages, or all but loses them."""
        content = self.contents[number]
        if how == "collapse" and SIZES[number] != LARGE:
            return
        if content.broken in ("", "collapse"):  # a collapse is published once it was seen often enough
            content.frozen = {self.service.file(number), self._row_s_file(number)}
        content.broken = how
        self._show(number)

    @rule(number=NUMBERS)
    def heal(self, number: int) -> None:
        content = self.contents[number]
        if content.broken:
            content.broken, content.frozen, content.silent = "", set(), True
            self._show(number)

    # -- time and faults

    @rule(hours=st.sampled_from([0, 1, 7, A_DAY]))
    def tick(self, hours: int) -> None:
        """A tick without a fault."""
        self.run(self.service.tick(after=timedelta(hours=hours)))

    @rule(
        hours=st.sampled_from([0, A_DAY]),
        fault=st.sampled_from(FAULTS),
        nth=st.integers(1, 30),
        times=st.integers(1, 9),
    )
    def tick_with_fault(self, hours: int, fault: tuple[str, Fault], nth: int, times: int) -> None:
        """A tick in which calls of a port go wrong."""
        self.service.script.arm(fault[0], fault[1], nth, times=times)
        self.run(self.service.tick(after=timedelta(hours=hours)))
        self.service.script.disarm()

    @rule(hours=st.sampled_from([0, A_DAY]), kill=st.sampled_from(KILLS), nth=st.integers(1, 30))
    def tick_and_kill(self, hours: int, kill: tuple[str, Fault], nth: int) -> None:
        """A tick whose process is killed, and with it what waited in its queue."""
        self.service.script.arm(kill[0], kill[1], nth)
        self.run(self._until_killed(self.service.tick(after=timedelta(hours=hours))))
        self.service.script.disarm()

    @rule(hours=st.sampled_from([3, 30, 24 * 8, 24 * 40]))
    def jump(self, hours: int) -> None:
        """The clock moves on without a tick."""
        self.service.advance(timedelta(hours=hours))

    @rule(skew=st.sampled_from(SKEWS))
    def skew(self, skew: timedelta) -> None:
        """The database's clock jumps back, or is set right."""
        if skew > self.service.skew:  # what it remembers of messages for a time is then over sooner
            for content in self.contents:
                content.sent.clear()
        self.service.skew = skew

    @rule(number=NUMBERS, call=st.sampled_from(CALLS), kill=st.sampled_from(KILLS), nth=st.integers(1, 8))
    def call_and_kill(self, number: int, call: str, kill: tuple[str, Fault], nth: int) -> None:
        """An owner's call whose process is killed: the caller has no answer, and looks at what came of it."""
        content = self.contents[number]
        if call != "enroll" and not content.site_id:
            return
        before = self.run(self.service.sites.find(base(number)))
        self.service.known.add(base(number))
        self.service.script.arm(kill[0], kill[1], nth)
        answer = self.run(self._until_killed(self.api.handle(self._request(number, call))))
        self.service.script.disarm()
        note(f"{call} of {number}, to be killed: {answer and answer.status}")
        row = self.run(self.service.sites.find(base(number)))
        if row is None:
            content.site_id = content.secret = ""
            content.sent.clear()
            content.pinned, content.half = None, False
            return
        content.site_id, content.secret = row.id, row.webhook_secret
        self._choose(number, row.options.exclude)
        content.shrunk = content.shrunk or call in ("confirm", "rollback")
        if call == "announce" and row.requested_at is not None and row.status is SiteStatus.ACTIVE:
            content.silent = False
        if call != "rollback":
            return
        if before is not None and row.generation > before.generation and row.lease_owner is None and row.pinned_over:
            content.pinned, content.loose, content.half = self._row_s_file(number), self._moved_on(number), False
            content.frozen = {content.pinned} if content.broken else set()
        else:
            content.half = True
            content.frozen |= {self.service.file(number)}

    # -- the owner and the operator

    @rule(number=NUMBERS, signed=st.booleans())
    def announce(self, number: int, signed: bool) -> None:
        """A webhook with the site's secret is answered, and the change is planned."""
        content = self.contents[number]
        answer = self._hook(number, content.secret, signed=signed)
        if not content.site_id:
            assert answer.status == 404
            return
        assert answer.status == 200, answer.body
        row = self._row(number)
        if answer.body["status"] != "paused":
            content.silent = False
            assert row.status is SiteStatus.ACTIVE
            assert row.requested_at is not None

    @rule(number=NUMBERS, signed=st.booleans(), secret=st.sampled_from(["", "whsec_", "whsec_QUFBQQ==", "another"]))
    def forge(self, number: int, signed: bool, secret: str) -> None:
        """Without the secret nothing changes."""
        before = self._rows()
        answer = self._hook(number, secret, signed=signed)
        assert answer.status == (401 if self.contents[number].site_id else 404)
        assert self._rows() == before

    @rule(number=NUMBERS, tampered=st.booleans())
    def replay(self, number: int, tampered: bool) -> None:
        """A message that was seen, or was altered, does nothing."""
        content = self.contents[number]
        if not content.sent:
            return
        headers, body = content.sent[-1]
        before = self._rows()
        answer = self._send(headers, body + b" " if tampered else body)
        assert answer.status in ((401,) if tampered else (401, 409)), answer.body
        assert self._rows() == before

    @rule(number=NUMBERS)
    def pause(self, number: int) -> None:
        answer = self._on(number, "POST", "/pause")
        assert answer.status != 200 or self._row(number).status is SiteStatus.PAUSED

    @rule(number=NUMBERS)
    def resume(self, number: int) -> None:
        answer = self._on(number, "POST", "/resume")
        assert answer.status != 200 or self._row(number).status is SiteStatus.ACTIVE

    @rule(number=NUMBERS)
    def confirm(self, number: int) -> None:
        """What is held may be published by the next run; nothing else can be confirmed."""
        answer = self._on(number, "POST", "/confirm", also=(404,))
        if answer.status == 200:
            self.contents[number].shrunk = True

    @rule(number=NUMBERS)
    def roll_back(self, number: int) -> None:
        """The version before is back at once, and stays until the site changes."""
        content = self.contents[number]
        answer = self._on(number, "POST", "/rollback", also=(404, 409))
        if answer.status != 200:
            return
        content.shrunk = True
        content.pinned, content.loose = self.service.file(number), self._moved_on(number)
        if content.broken:
            content.frozen = {content.pinned}
        assert sha(content.pinned) == self._row(number).latest_llms_hash

    @rule(number=NUMBERS)
    def delete(self, number: int) -> None:
        """The row goes, the file stays, and the site is never asked again."""
        content, file = self.contents[number], self.service.file(number)
        self._on(number, "DELETE", "")
        content.site_id = content.secret = ""
        content.sent.clear()
        content.pinned = None
        assert self.service.file(number) == file

    # -- what must be true

    @rule()
    def settle(self) -> None:
        """The faults are over and days pass: every file is what its site says, and the next look writes nothing."""
        for number, content in enumerate(self.contents):
            if content.site_id and (content.half or self._row(number).status is SiteStatus.DISABLED):
                content.half = False
                self._on(number, "POST", "/resume")
                content.silent = False
        self.run(self.service.recover())
        truth = {}
        for number, content in enumerate(self.contents):
            if not content.site_id or self._row(number).status is not SiteStatus.ACTIVE:
                continue
            if content.pinned is not None:
                assert content.loose or self.service.file(number) == content.pinned, "a rollback was undone"
            elif not content.broken and not content.silent:
                truth[base(number)] = self.run(self.service.truth(number, exclude=content.exclude))
        self.check(settled=True, truth=truth)
        shown = {key: len(bodies) for key, bodies in self.service.public.shown.items()}
        self.run(self.service.tick(after=timedelta(hours=A_DAY)))
        assert (
            shown == {key: len(bodies) for key, bodies in self.service.public.shown.items()} or self._may_still_change()
        )

    @invariant()
    def promises(self) -> None:
        """I1 to I11; and a broken site keeps the file it had."""
        self.check()

    def check(self, *, settled: bool = False, truth: dict[str, bytes] | None = None) -> None:
        for number, content in enumerate(self.contents):
            held = content.site_id and any(run.outcome is Outcome.HELD for run in self._runs(number))
            content.shrunk = content.shrunk or bool(held)
            if content.broken and content.broken != "collapse":
                assert self.service.file(number) in content.frozen, (
                    f"a site that answers {content.broken} lost its file"
                )
        confirmed = {base(number) for number, content in enumerate(self.contents) if content.shrunk}
        self.run(check_invariants(self.service, settled=settled, truth=truth, confirmed=confirmed))

    # -- the ways to the service

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(main)

    def _show(self, number: int) -> None:
        """Make the site say what its content is."""
        content, root = self.contents[number], base(number)
        pages = 1 if content.broken == "collapse" else content.pages
        write(
            self.service.site,
            number,
            titles(number, version=content.version, count=pages),
            dated=self._lastmod(content.lastmod),
        )
        replies = self.service.site.replies
        answers: dict[str, Reply] = {
            "500": (500, HTML, b"Internal Server Error"),
            "403": (403, HTML, b"Forbidden"),
            "empty": (200, HTML, b"<html></html>"),
        }
        broken = answers.get(content.broken)
        if broken is not None:
            for url in [url for url in replies if url.startswith(f"{root}/")]:
                replies[url] = broken
            replies[f"{root}/robots.txt"] = broken

    def _lastmod(self, style: str) -> str:
        """The moment of an edit as sitemaps write it; no two edits have the same second."""
        self.stamped = max(self.stamped + timedelta(seconds=1), self.now())
        return {"day": f"{self.stamped:%Y-%m-%d}", "second": f"{self.stamped:%Y-%m-%dT%H:%M:%SZ}", "none": ""}[style]

    def now(self) -> datetime:
        async def read() -> datetime:
            return self.service.now()

        return self.run(read())

    def _hook(self, number: int, secret: str, *, signed: bool) -> Answer:
        given: dict[str, str] = {"base_url": base(number)}
        if not signed:
            return self._send({}, json.dumps(given | {"webhook_secret": secret}).encode())
        body = json.dumps(given).encode()
        self.messages += 1
        stamp = int(self.now().timestamp())
        name = f"msg_{self.messages}"
        forged = {webhook.ID: name, webhook.TIMESTAMP: str(stamp), webhook.SIGNATURE: "v1,"}
        headers = webhook.signed_headers([secret], message_id=name, timestamp=stamp, body=body) or forged
        answer = self._send(headers, body)
        if answer.status == 200:
            self.contents[number].sent.append((headers, body))
        return answer

    def _send(self, headers: dict[str, str], body: bytes) -> Answer:
        return self.run(self.api.handle(Request(method="POST", path=HOOK_PATH, headers=headers, body=body)))

    def _on(self, number: int, method: str, part: str, body: Any = None, *, also: tuple[int, ...] = ()) -> Answer:
        """A call about a site: 200, or 404 where it is not enrolled."""
        content = self.contents[number]
        answer = self._call(method, f"/sites/{content.site_id or 'nobody'}{part}", body)
        assert answer.status in ((200, *also) if content.site_id else (404,)), answer.body
        return answer

    def _request(self, number: int, call: str) -> Request:
        """A call of `CALLS` as its door gets it."""
        content, headers = self.contents[number], {"x-api-key": API_KEY}
        options: dict[str, Any] = {"exclude": ["/page-0"], "recrawlIntervalMinutes": 1_440}
        path, body, method = f"/sites/{content.site_id}/{call}", None, "POST"
        if call == "enroll":
            path, body = "/sites", {"url": base(number), **options}
        elif call == "announce":
            path, body = HOOK_PATH, {"base_url": base(number), "webhook_secret": content.secret}
        elif call in ("edit", "delete"):
            path, method = f"/sites/{content.site_id}", "PATCH" if call == "edit" else "DELETE"
            body = options if call == "edit" else None
        raw = b"" if body is None else json.dumps(body).encode()
        return Request(method=method, path=path, headers=headers, body=raw)

    def _call(self, method: str, path: str, body: Any = None) -> Answer:
        raw = b"" if body is None else json.dumps(body).encode()
        answer = self.run(self.api.handle(Request(method=method, path=path, headers={"x-api-key": API_KEY}, body=raw)))
        note(f"{method} {path}: {answer.status} {answer.body}")
        return answer

    async def _until_killed(self, work: Coroutine[Any, Any, T]) -> T | None:
        """What a piece of work gives; None where its process was killed, and with it what waited in its queue."""
        try:
            return await work
        except Killed:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            while await self.service.queue.receive(100):
                pass
            return None

    def _choose(self, number: int, exclude: tuple[str, ...]) -> None:
        """The owner wants these pages; others than before make another document, which no rollback was about."""
        content = self.contents[number]
        if content.exclude != exclude:
            content.exclude, content.pinned = exclude, None

    def _moved_on(self, number: int) -> bool:
        """Whether the site gives something else by now than what a rollback has just put aside."""
        content = self.contents[number]
        if content.broken:
            return True
        return sha(self.run(self.service.truth(number, exclude=content.exclude))) != self._row(number).pinned_over

    def _row_s_file(self, number: int) -> bytes:
        """The version that the row says is published; what is public, where it says nothing."""
        row = self.run(self.service.sites.find(base(number)))
        sha256 = None if row is None else row.latest_llms_hash
        stored = None if sha256 is None else self.run(self.service.public.read(keys.version(base(number), sha256)))
        return self.service.file(number) if stored is None else stored.body

    def _row(self, number: int) -> Site:
        return self.run(self.service.row(number))

    def _rows(self) -> list[Site]:
        return self.run(self.service.rows())

    def _runs(self, number: int) -> list[Any]:
        return self.run(self.service.sites.runs(self.contents[number].site_id, limit=1_000))

    def _may_still_change(self) -> bool:
        """A collapse is published once it was seen often enough, and a silent change when the maximum staleness is over."""
        return any(content.broken == "collapse" or content.silent for content in self.contents)

    async def _secrets(self) -> Secrets:
        return Secrets(api_keys=(API_KEY,))

    async def _no_tick(self) -> int:
        return 0
