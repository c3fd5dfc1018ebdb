"""May a new document replace the published one? Nothing empty, collapsed, partial, blocked or invalid does.

What is doubtful is held, with a reason an operator can read. Some doubts end when later crawls give the same result;
some only when a person confirms it; a file that is empty or invalid is never published. The thresholds follow what
keeps other systems from deleting by accident (octoDNS: 30 % of 10 records; Bedrock knowledge bases: 15 %).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from runtime.document.changes import compare_documents
from runtime.document.model import Document
from runtime.document.parse import entries
from runtime.document.render import Rendered, write
from runtime.document.suspects import not_the_site
from runtime.document.validate import validate
from runtime.reading import TRANSIENT_LEFT, CrawlResult, Left

COLLAPSE_FROM = 10
COLLAPSE_CONFIRMATIONS = 3
COLLAPSE_HOURS = 24
PARTIAL_CONFIRMATIONS = 2
MIN_GAP = timedelta(minutes=10)
"""Two crawls within it share their cause (a deploy, a fault) and count as one."""

MAX_BYTES = 5_000_000
MAX_ERROR_SHARE = 0.2


class Concern(StrEnum):
    """Why a document is held."""

    EMPTY = "empty"
    INVALID = "invalid"
    TOO_LARGE = "too_large"
    NOT_THE_SITE = "not_the_site"
    PARTIAL = "partial"
    COLLAPSED = "collapsed"


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """What is remembered of a held result: plain JSON values; times are ISO 8601 in UTC.

    `fingerprint` is of the set of listed URLs: two results with the same pages count as the same, whatever became of
    their descriptions. `confirmed` is set by an operator.
    """

    concern: str
    fingerprint: str
    sha256: str
    entries: int
    first_at: str
    last_at: str
    times: int = 1
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Publish:
    """The document may be published."""

    reason: str


@dataclass(frozen=True, slots=True)
class Hold:
    """The published file stays. `memory` is to be given to the next call as `held_before`."""

    reason: str
    memory: HeldMemory


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A concern in words, and how many equal results, over how long, put it to rest; 0 means that none do."""

    concern: Concern
    why: str
    results: int = 0
    hours: int = 0
    confirmable: bool = True


def guard(
    *,
    previous: Document | None,
    new: Document,
    rendered: Rendered,
    crawl: CrawlResult,
    held_before: HeldMemory | None,
    now: datetime,
    options_changed: bool = False,
    public_only: bool = False,
) -> Publish | Hold:
    """Judge a new document against the published one.

    :param previous: the published document, None if there is none.
    :param held_before: the memory of the last hold, None if the last result was not held.
    :param options_changed: the owner chose other pages or lengths, so that a smaller file is what was asked for.
    :param public_only: hold a file with links to loopback or private hosts.
    """
    doubt = _doubt(previous, new, rendered, crawl, options_changed=options_changed, public_only=public_only)
    if doubt is None:
        if previous is None:
            return Publish(f"the first file of the site, with {_pages(entries(new))}")
        return Publish(compare_documents(previous, new).summary)
    memory = _remember(doubt, new, rendered, held_before, now)
    if held_before is not None and held_before.confirmed and doubt.confirmable and _still(held_before, memory):
        return Publish(f"an operator confirmed it although {doubt.why}")
    hours = (_time(memory.last_at, now) - _time(memory.first_at, now)) / timedelta(hours=1)
    if doubt.results and memory.times >= doubt.results and hours >= doubt.hours:
        return Publish(f"{memory.times} crawls over {hours:.0f} hours gave the same result, although {doubt.why}")
    return Hold(f"held: {doubt.why}; {_way_out(doubt, memory)}", memory)


def _doubt(
    previous: Document | None,
    new: Document,
    rendered: Rendered,
    crawl: CrawlResult,
    *,
    options_changed: bool,
    public_only: bool,
) -> _Doubt | None:
    """The gravest doubt about a result, if any."""
    if not crawl.pages or not entries(new):
        return _Doubt(Concern.EMPTY, f"the crawl found no page to list{_most_left_out(crawl)}", confirmable=False)
    for name, text in [("the file", rendered.text), *rendered.sections.items()]:
        problems = validate(text, public_only=public_only)
        if problems:
            why = f"{name} breaks rule {problems[0].rule} in line {problems[0].line} ({problems[0].message})"
            return _Doubt(Concern.INVALID, why, confirmable=False)
    size = sum(len(text.encode()) for text in (rendered.text, *rendered.sections.values()))
    if size > MAX_BYTES:
        return _Doubt(Concern.TOO_LARGE, f"the file has {size:,} bytes, more than {MAX_BYTES:,}")
    return (
        _another_site(new, crawl)
        or _partial(previous, new, crawl)
        or (None if previous is None or options_changed else _collapsed(previous, new))
    )


def _another_site(new: Document, crawl: CrawlResult) -> _Doubt | None:
    """Whether the site showed us something else than itself: a block, a login, an empty shell, a parking page."""
    count = Counter(item.reason for item in crawl.left_out)
    for reason, what in (
        (Left.BLOCKED, "answered with a block page"),
        (Left.NEEDS_RENDERING, "are empty without scripts"),
        (Left.LOGIN, "lead to a login"),
    ):
        if count[reason] and (count[reason] >= len(crawl.pages) or crawl.home is None):
            return _Doubt(
                Concern.NOT_THE_SITE, f"{_pages(count[reason])} {what}, against {len(crawl.pages)} that did not"
            )
    title = not_the_site(new)
    if title:
        return _Doubt(Concern.NOT_THE_SITE, f"the site shows “{title}” instead of its pages")
    return None


def _partial(previous: Document | None, new: Document, crawl: CrawlResult) -> _Doubt | None:
    """Whether the crawl saw only a part. What it did not see does not disappear by its word, however often repeated."""
    errors = len(crawl.left(TRANSIENT_LEFT))
    share = errors / (errors + len(crawl.pages))
    if crawl.complete and share <= MAX_ERROR_SHARE and not (crawl.home is None and errors):
        return None
    why = crawl.problem or (
        f"{errors} of {errors + len(crawl.pages)} pages could not be read" if errors else "the crawl ended early"
    )
    if previous is None:
        return None if crawl.home is not None else _Doubt(Concern.PARTIAL, f"{why}, the home page among them")
    known = {item.url for item in crawl.left_out if item.reason not in {*TRANSIENT_LEFT, Left.LIMIT}}
    lost = [entry for entry in compare_documents(previous, new).removed if entry.url not in known]
    if lost:
        return _Doubt(Concern.PARTIAL, f"{why}, and {_pages(len(lost))} would disappear")
    return _Doubt(Concern.PARTIAL, why, results=PARTIAL_CONFIRMATIONS)


def _collapsed(previous: Document, new: Document) -> _Doubt | None:
    before, after = entries(previous), entries(new)
    if before < COLLAPSE_FROM:
        return None
    if after * 2 < before:
        why = f"the new file lists {_pages(after)}, the published one {before}"
        return _Doubt(Concern.COLLAPSED, why, COLLAPSE_CONFIRMATIONS, COLLAPSE_HOURS)
    if before == sum(1 for _ in previous.links()):  # a root of section files says nothing about bytes
        old_size, new_size = len(write(previous).encode()), len(write(new).encode())
        if new_size * 2 < old_size:
            why = f"the new file has {new_size:,} bytes, the published one {old_size:,}"
            return _Doubt(Concern.COLLAPSED, why, COLLAPSE_CONFIRMATIONS, COLLAPSE_HOURS)
    return None


def _remember(doubt: _Doubt, new: Document, rendered: Rendered, before: HeldMemory | None, now: datetime) -> HeldMemory:
    urls = sorted({link.url for link in new.links()})
    fingerprint = hashlib.sha256("\n".join(urls).encode()).hexdigest()
    stamp = now.astimezone(UTC).isoformat()
    again = before is not None and before.concern == doubt.concern and before.fingerprint == fingerprint
    if before is None or not again:
        return HeldMemory(doubt.concern, fingerprint, rendered.sha256, len(urls), stamp, stamp)
    gap = now - _time(before.last_at, now)
    if gap < MIN_GAP:
        return before
    return HeldMemory(
        doubt.concern,
        fingerprint,
        rendered.sha256,
        len(urls),
        before.first_at,
        stamp,
        before.times + 1,
        before.confirmed,
    )


def _still(confirmed: HeldMemory, result: HeldMemory) -> bool:
    """Whether a result is what the operator confirmed, or one of the same kind with at most a tenth fewer pages."""
    if result.concern != confirmed.concern:
        return False
    return result.fingerprint == confirmed.fingerprint or result.entries * 10 >= confirmed.entries * 9


def _way_out(doubt: _Doubt, memory: HeldMemory) -> str:
    if not doubt.confirmable:
        return "the published file stays until a crawl gives a sound one"
    if not doubt.results:
        return "an operator can confirm it"
    over = f" over {doubt.hours} hours" if doubt.hours else ""
    return f"result {memory.times} of {doubt.results} equal ones{over} that will publish it; an operator can confirm it"


def _most_left_out(crawl: CrawlResult) -> str:
    if crawl.problem:
        return f" ({crawl.problem})"
    count = Counter(item.reason for item in crawl.left_out)
    reason, times = max(count.items(), key=lambda item: (item[1], item[0]), default=(None, 0))
    return f" (most were left out for the reason “{reason}”: {times} of {len(crawl.left_out)})" if reason else ""


def _pages(count: int) -> str:
    return "1 page" if count == 1 else f"{count} pages"


def _time(stamp: str, default: datetime) -> datetime:
    """A remembered time; one that cannot be read counts as this moment, so that nothing is confirmed by it."""
    try:
        time = datetime.fromisoformat(stamp)
    except ValueError:
        return default
    return time if time.tzinfo else time.replace(tzinfo=UTC)
