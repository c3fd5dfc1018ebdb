"""What speaks against a new document: it is empty, invalid, too large, not the site, partial or collapsed.

The thresholds follow what keeps other systems from deleting by accident (octoDNS: 30 % of 10 records; Bedrock knowledge
bases: 15 %).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
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
class Doubt:
    """A concern in words, and how many equal results, over how long, put it to rest; 0 means that none do."""

    concern: Concern
    why: str
    results: int = 0
    hours: int = 0
    confirmable: bool = True


def doubt_about(
    previous: Document | None,
    new: Document,
    rendered: Rendered,
    crawl: CrawlResult,
    *,
    still_wanted: int | None,
    public_only: bool,
) -> Doubt | None:
    """The gravest doubt about a result, if any; see `guard`."""
    if not crawl.pages or not entries(new):
        return Doubt(Concern.EMPTY, f"the crawl found no page to list{_most_left_out(crawl)}", confirmable=False)
    for name, text in [("the file", rendered.text), *rendered.sections.items()]:
        problems = validate(text, public_only=public_only)
        if problems:
            why = f"{name} breaks rule {problems[0].rule} in line {problems[0].line} ({problems[0].message})"
            return Doubt(Concern.INVALID, why, confirmable=False)
    size = sum(len(text.encode()) for text in (rendered.text, *rendered.sections.values()))
    if size > MAX_BYTES:
        return Doubt(Concern.TOO_LARGE, f"the file has {size:,} bytes, more than {MAX_BYTES:,}")
    return (
        _another_site(new, crawl)
        or _partial(previous, new, crawl)
        or (None if previous is None else _collapsed(previous, new, still_wanted))
    )


def _another_site(new: Document, crawl: CrawlResult) -> Doubt | None:
    """Whether the site showed us something else than itself: a block, a login, an empty shell, a parking page."""
    count = Counter(item.reason for item in crawl.left_out)
    for reason, what in (
        (Left.BLOCKED, "answered with a block page"),
        (Left.NEEDS_RENDERING, "are empty without scripts"),
        (Left.LOGIN, "lead to a login"),
        (Left.FORBIDDEN, "are forbidden to our crawler"),
    ):
        if count[reason] and (count[reason] >= len(crawl.pages) or crawl.home is None):
            return Doubt(
                Concern.NOT_THE_SITE, f"{pages_in_words(count[reason])} {what}, against {len(crawl.pages)} that did not"
            )
    title = not_the_site(new)
    if title:
        return Doubt(Concern.NOT_THE_SITE, f"the site shows “{title}” instead of its pages")
    return None


def _partial(previous: Document | None, new: Document, crawl: CrawlResult) -> Doubt | None:
    """Whether the crawl saw only a part. What it did not see does not disappear by its word, however often repeated."""
    errors = len(crawl.left(TRANSIENT_LEFT))
    share = errors / (errors + len(crawl.pages))
    if crawl.complete and share <= MAX_ERROR_SHARE and not (crawl.home is None and errors):
        return None
    why = crawl.problem or (
        f"{errors} of {errors + len(crawl.pages)} pages could not be read" if errors else "the crawl ended early"
    )
    if previous is None:
        return None if crawl.home is not None else Doubt(Concern.PARTIAL, f"{why}, the home page among them")
    known = {item.url for item in crawl.left_out if item.reason not in {*TRANSIENT_LEFT, Left.LIMIT}}
    lost = [entry for entry in compare_documents(previous, new).removed if entry.url not in known]
    whole = entries(previous) == sum(1 for _ in previous.links())  # else a root whose section files were not given
    if lost and (whole or entries(new) < entries(previous)):
        return Doubt(
            Concern.PARTIAL,
            f"{why}, and {pages_in_words(len(lost) if whole else entries(previous) - entries(new))} would disappear",
        )
    return Doubt(Concern.PARTIAL, why, results=PARTIAL_CONFIRMATIONS)


def _collapsed(previous: Document, new: Document, still_wanted: int | None) -> Doubt | None:
    before, after = entries(previous), entries(new)
    expected = before if still_wanted is None else min(before, still_wanted)
    if expected < COLLAPSE_FROM:
        return None
    if after * 2 < expected:
        of_these = "" if expected == before else f", of which {expected} are still wanted"
        why = f"the new file lists {pages_in_words(after)}, the published one {before}{of_these}"
        return Doubt(Concern.COLLAPSED, why, COLLAPSE_CONFIRMATIONS, COLLAPSE_HOURS)
    if still_wanted is not None:  # texts of another length are what the owner asked for
        return None
    if before == sum(1 for _ in previous.links()):  # a root of section files says nothing about bytes
        old_size, new_size = len(write(previous).encode()), len(write(new).encode())
        if new_size * 2 < old_size:
            why = f"the new file has {new_size:,} bytes, the published one {old_size:,}"
            return Doubt(Concern.COLLAPSED, why, COLLAPSE_CONFIRMATIONS, COLLAPSE_HOURS)
    return None


def _most_left_out(crawl: CrawlResult) -> str:
    if crawl.problem:
        return f" ({crawl.problem})"
    count = Counter(item.reason for item in crawl.left_out)
    reason, times = max(count.items(), key=lambda item: (item[1], item[0]), default=(None, 0))
    return f" (most were left out for the reason “{reason}”: {times} of {len(crawl.left_out)})" if reason else ""


def pages_in_words(count: int) -> str:
    return "1 page" if count == 1 else f"{count} pages"
