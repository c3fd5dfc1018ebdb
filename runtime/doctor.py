"""`python -m runtime doctor`: is all there that a run needs, and if not, what is to be done? A line for each part.

Each probe does for real what a run would do: it asks the store for its schema and rights, compares two clocks, and
writes, reads and deletes an object in either bucket. It leaves nothing behind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from runtime.errors import Misconfigured, ServiceError
from runtime.ports import Clock, Publisher, States, World
from runtime.registry import Sites
from runtime.settings import Settings

SKEW_NOTED = timedelta(seconds=5)
SKEW_REFUSED = timedelta(seconds=60)
"""Due times and leases are the database's, so skew does not hurt them; signed webhooks are refused from 300 s on."""

PROBE_KEY = "doctor/probe.txt"
PROBE_BODY = b"Written by `python -m runtime doctor` to see whether it can be.\n"
PROBE_STATE = "doctor"

Probe = tuple[str, Callable[[], Awaitable[str]]]
"""What is examined, and a coroutine that says in a few words how it is.

:raises ServiceError: it is not well; the text of the error says what to do.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """How one part is. `code` is that of the error, empty when the part is well."""

    part: str
    text: str
    code: str = ""

    @property
    def well(self) -> bool:
        return not self.code

    def line(self) -> str:
        """One line for a person."""
        return f"{'ok  ' if self.well else 'FAIL'}  {self.part:<10}  {self.text}"


async def examine(probes: Sequence[Probe]) -> list[Finding]:
    """Every part in turn, whatever became of those before it."""
    findings = []
    for part, probe in probes:
        try:
            findings.append(Finding(part, await probe()))
        except ServiceError as error:
            findings.append(Finding(part, str(error), error.code))
    return findings


def probes_of(world: World) -> list[Probe]:
    """What every deployment has; a door adds its own (its secrets)."""
    return [
        ("store", lambda: _store(world.sites, world.settings)),
        ("clock", lambda: _clock(world.sites, world.clock)),
        ("public", lambda: _public(world.publisher)),
        ("private", lambda: _private(world.states)),
    ]


async def _store(sites: Sites, settings: Settings) -> str:
    await sites.check()
    summary = await sites.due_summary(slack_seconds=settings.tick_slack_seconds, crawls_a_day=settings.crawls_a_day)
    oldest = f", the oldest since {summary.oldest_due_at:%Y-%m-%d %H:%M} UTC" if summary.oldest_due_at else ""
    return f"schema and rights are right; {summary.due} due, {summary.overdue} overdue{oldest}"


async def _clock(sites: Sites, clock: Clock) -> str:
    before = clock()
    there = await sites.database_now()
    after = clock()
    skew = max(before - there, there - after, timedelta(0))
    seconds = skew.total_seconds()
    if skew >= SKEW_REFUSED:
        raise Misconfigured(
            f"this machine's clock is {seconds:.0f} s off the database's: set it by NTP, or webhooks are refused",
            code="clock_skew",
        )
    if skew >= SKEW_NOTED:
        return f"{seconds:.0f} s off the database's: harmless, but set it by NTP"
    return "in step with the database's"


async def _public(publisher: Publisher) -> str:
    left_over = await publisher.read(PROBE_KEY)
    expected = left_over.etag if left_over else None
    sha256 = hashlib.sha256(PROBE_BODY).hexdigest()
    etag = await publisher.put(PROBE_KEY, PROBE_BODY, sha256=sha256, generation=0, expected_etag=expected)
    stored = await publisher.read(PROBE_KEY)
    if stored is None or stored.body != PROBE_BODY:
        raise Misconfigured(
            f"{PROBE_KEY} was written, but something else is read: check that bucket and endpoint are the right ones",
            code="bucket_mismatch",
        )
    await publisher.delete(PROBE_KEY, expected_etag=etag)
    return f"can be written, read and cleaned up; {PROBE_KEY} was at {publisher.url(PROBE_KEY)}"


async def _private(states: States) -> str:
    await states.save(PROBE_STATE, PROBE_BODY)
    if await states.load(PROBE_STATE) != PROBE_BODY:
        raise Misconfigured(
            "a state object was written, but something else is read: check that the bucket is the right one",
            code="bucket_mismatch",
        )
    await states.delete(PROBE_STATE)
    return "state objects can be written, read and deleted"
