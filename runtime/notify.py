"""Tells a site's owner and the operator what a run came to, by a signed POST to the address each of them gave.

A message goes out through the fetch gate like any request. What cannot be delivered within the run is a
`notification_failed` event, which is logged and counted, and a letter that is kept and tried again later; the run that
it tells of is committed already, and does not fail with it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from runtime import webhook
from runtime.document.changes import ChangeRecord
from runtime.errors import FetchFailed, NotFound, Refused, ServiceError
from runtime.letters import Letter
from runtime.models import Commit, Outcome, Site
from runtime.notice import Kind, Notice, notice_of
from runtime.ports import World
from runtime.reading import Response

ATTEMPTS = 4
FIRST_WAIT_SECONDS = 1.0
WAIT_FACTOR = 3.0
TOTAL_SECONDS = 25.0
"""All tries together: a worker that is about to be ended still has time for them."""

MAX_RETRY_AFTER_SECONDS = 10
MAX_ANSWER_BYTES = 4_096
RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})

NO_VERDICT = frozenset({Outcome.FAILED, Outcome.DEFERRED})
LOOK_BACK = 50
"""Runs among which the beginning of a hold is looked for; a site fails ten times before it is given up."""

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Addressee:
    """`role` is `site` or `service`; every secret signs, so that a receiver may rotate."""

    role: str
    url: str
    secrets: Sequence[str] = field(repr=False)


async def after_run(
    world: World,
    before: Site,
    row: Site,
    commit: Commit,
    changes: ChangeRecord | None,
    *,
    sleep: Sleep = asyncio.sleep,
) -> None:
    """Send what is worth telling about a committed run to whoever asked for it.

    :param before: the row as it was claimed. :param row: as it was committed.
    """
    addressees = addressees_of(world, row)
    if not addressees:
        return
    notice = notice_of(
        before,
        row,
        commit,
        changes,
        now=world.clock(),
        after_failures=world.settings.notify_after_failures,
        held_before=commit.outcome is Outcome.HELD and await _was_held(world, before),
    )
    if notice is None:
        return
    await asyncio.gather(*(_deliver(world, row, addressee, notice, sleep) for addressee in addressees))


async def _was_held(world: World, before: Site) -> bool:
    """Whether the hold began before runs that failed or were put off: these say nothing about the site's file."""
    if before.last_outcome not in NO_VERDICT:
        return False
    try:
        runs = await world.sites.runs(before.id, limit=LOOK_BACK)
    except ServiceError:
        return False  # rather twice than never
    verdicts = (run.outcome for run in runs[1:] if run.outcome not in NO_VERDICT)  # the first is this run's own
    return next(verdicts, None) is Outcome.HELD


def addressees_of(world: World, row: Site) -> list[Addressee]:
    settings = world.settings
    given = [
        Addressee("site", row.options.notify_url, webhook.valid_secrets(row, world.clock())),
        Addressee("service", settings.notify_url, settings.notify_secrets),
    ]
    return [addressee for addressee in given if addressee.url]


async def _deliver(world: World, row: Site, to: Addressee, notice: Notice, sleep: Sleep) -> None:
    said = {
        "site_id": row.id,
        "run_id": notice.id,
        "type": notice.kind,
        "to": to.role,
        "host": urlsplit(to.url).hostname,  # the rest of the address may be a secret of the receiver's
    }
    tries = 0
    why = ""
    try:
        async with asyncio.timeout(TOTAL_SECONDS):
            for tries in range(1, ATTEMPTS + 1):
                why, wait = await _attempt(world, to, notice)
                if not why:
                    world.events.event("notification_sent", tries=tries, **said)
                    return
                if wait is None or tries == ATTEMPTS:
                    break
                await sleep(max(wait, wait_before(notice.id, tries)))
    except TimeoutError:
        why = f"{why}, then out of time" if tries > 1 else "timeout"
    letter = Letter(site_id=row.id, role=to.role, id=notice.id, kind=notice.kind, body=notice.body.decode())
    kept = await _keep(world, letter)
    world.events.event("notification_failed", tries=tries, why=why, kept=kept, **said)


async def _keep(world: World, letter: Letter) -> bool:
    """Whether the letter will be tried again, or at least lies where somebody finds it."""
    if world.letters is None:
        return False
    try:
        await world.letters.keep(letter)
    except ServiceError:
        return False  # said with the event of its failure, which is counted
    return True


async def deliver_again(world: World, letter: Letter) -> bool:
    """Try a kept letter once. False: try it again later. What nobody wants any more counts as done.

    :raises StoreDown: the row cannot be read.
    """
    said = {"site_id": letter.site_id, "run_id": letter.id, "type": letter.kind, "to": letter.role}
    try:
        row = await world.sites.get(letter.site_id)
    except NotFound:
        row = None
    addressees = [] if row is None else [one for one in addressees_of(world, row) if one.role == letter.role]
    if not addressees:
        world.events.event("notification_dropped", why="nobody asks for it any more", **said)
        return True
    notice = Notice(letter.id, Kind(letter.kind), letter.body.encode())
    why, _wait = await _attempt(world, addressees[0], notice)
    if why:
        world.events.event("notification_refused", why=why, host=urlsplit(addressees[0].url).hostname, **said)
        return False
    world.events.event("notification_sent", tries=1, late=True, host=urlsplit(addressees[0].url).hostname, **said)
    return True


async def _attempt(world: World, to: Addressee, notice: Notice) -> tuple[str, float | None]:
    """One try: why it failed (empty: it did not), and the least wait before another, None when that is pointless."""
    headers = {
        "content-type": "application/json",
        **webhook.signed_headers(
            to.secrets, message_id=notice.id, timestamp=int(world.clock().timestamp()), body=notice.body
        ),
    }
    try:
        answer = await world.web.post(to.url, body=notice.body, headers=headers, max_bytes=MAX_ANSWER_BYTES)
    except FetchFailed as error:
        return error.code, 0.0
    except Refused as error:
        return error.code, None
    if 200 <= answer.status < 300:
        return "", None
    return f"status_{answer.status}", _wait_asked_for(answer)


def _wait_asked_for(answer: Response) -> float | None:
    """A redirect or a refusal is final; an overload says how long to wait, or nothing."""
    if answer.status not in RETRIED:
        return None
    asked = answer.header("retry-after") or "0"
    seconds = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else 0
    return float(seconds) if seconds <= MAX_RETRY_AFTER_SECONDS else None


def wait_before(message_id: str, tries: int) -> float:
    """Seconds before the next try: 1, 3, 9, each between half and all of it, by the message."""
    digest = hashlib.sha256(f"{message_id}/{tries}".encode()).digest()
    share = int.from_bytes(digest[:4]) / 2**32
    return FIRST_WAIT_SECONDS * WAIT_FACTOR ** (tries - 1) * (1 + share) / 2
