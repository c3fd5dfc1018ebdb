"""May a new document replace the published one? Nothing empty, collapsed, partial, blocked or invalid does.

What is doubtful is held, with a reason an operator can read. Some doubts end when later crawls give the same result;
some only when a person confirms it; a file that is empty or invalid is never published.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from runtime.document.changes import compare_documents
from runtime.document.doubts import Concern, Doubt, doubt_about, pages_in_words
from runtime.document.model import Document
from runtime.document.parse import entries
from runtime.document.render import Rendered
from runtime.reading import CrawlResult

__all__ = ["Concern", "HeldMemory", "Hold", "Publish", "guard"]

MIN_GAP = timedelta(minutes=10)
"""Two crawls within it share their cause (a deploy, a fault) and count as one."""


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """What is remembered of a held result: plain JSON values; times are ISO 8601 in UTC.

    `fingerprint` is of the set of listed URLs: two results with the same pages count as the same, whatever became of
    their descriptions.
    """

    concern: str
    fingerprint: str
    sha256: str
    entries: int
    first_at: str
    last_at: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Publish:
    """The document may be published."""

    reason: str


@dataclass(frozen=True, slots=True)
class Hold:
    """The published file stays. `memory` is to be given to the next call as `held_before`."""

    reason: str
    memory: HeldMemory


def guard(
    *,
    previous: Document | None,
    new: Document,
    rendered: Rendered,
    crawl: CrawlResult,
    held_before: HeldMemory | None,
    now: datetime,
    confirmed: HeldMemory | None = None,
    still_wanted: int | None = None,
    public_only: bool = False,
) -> Publish | Hold:
    """Judge a new document against the published one.

    :param previous: the published document, None if there is none.
    :param held_before: the memory of the last hold, None if the last result was not held.
    :param confirmed: the held result that an operator said may be published.
    :param still_wanted: the owner chose other pages or lengths; so many of the published pages are wanted as before.
    :param public_only: hold a file with links to loopback or private hosts.
    """
    doubt = doubt_about(previous, new, rendered, crawl, still_wanted=still_wanted, public_only=public_only)
    if doubt is None:
        if previous is None:
            return Publish(f"the first file of the site, with {pages_in_words(entries(new))}")
        return Publish(compare_documents(previous, new).summary)
    memory = _remember(doubt, new, rendered, held_before, now)
    if confirmed is not None and held_before is not None and doubt.confirmable and _still(confirmed, memory):
        return Publish(f"an operator confirmed it although {doubt.why}")
    hours = (_time(memory.last_at, now) - _time(memory.first_at, now)) / timedelta(hours=1)
    if doubt.results and memory.times >= doubt.results and hours >= doubt.hours:
        return Publish(f"{memory.times} crawls over {hours:.0f} hours gave the same result, although {doubt.why}")
    return Hold(f"held: {doubt.why}; {_way_out(doubt, memory)}", memory)


def _remember(doubt: Doubt, new: Document, rendered: Rendered, before: HeldMemory | None, now: datetime) -> HeldMemory:
    urls = sorted({link.url for link in new.links()})
    fingerprint = hashlib.sha256("\n".join(urls).encode()).hexdigest()
    stamp = now.astimezone(UTC).isoformat()
    again = before is not None and before.concern == doubt.concern and before.fingerprint == fingerprint
    if before is None or not again:
        return HeldMemory(doubt.concern.value, fingerprint, rendered.sha256, len(urls), stamp, stamp)
    gap = now - _time(before.last_at, now)
    if gap < MIN_GAP:
        return before
    return HeldMemory(
        doubt.concern.value,
        fingerprint,
        rendered.sha256,
        len(urls),
        before.first_at,
        stamp,
        before.times + 1,
    )


def _still(confirmed: HeldMemory, result: HeldMemory) -> bool:
    """Whether a result is what the operator confirmed, or one of the same kind with at most a tenth fewer pages."""
    if result.concern != confirmed.concern:
        return False
    return result.fingerprint == confirmed.fingerprint or result.entries * 10 >= confirmed.entries * 9


def _way_out(doubt: Doubt, memory: HeldMemory) -> str:
    if not doubt.confirmable:
        return "the published file stays until a crawl gives a sound one"
    if not doubt.results:
        return "an operator can confirm it"
    over = f" over {doubt.hours} hours" if doubt.hours else ""
    return f"result {memory.times} of {doubt.results} equal ones{over} that will publish it; an operator can confirm it"


def _time(stamp: str, default: datetime) -> datetime:
    """A remembered time; one that cannot be read counts as this moment, so that nothing is confirmed by it."""
    try:
        time = datetime.fromisoformat(stamp)
    except ValueError:
        return default
    return time if time.tzinfo else time.replace(tzinfo=UTC)
