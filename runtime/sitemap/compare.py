"""Is the site different from last time? Two sitemap inventories in, a verdict out.

The comparison is with the inventory that the last run stored, never with our clock: URL by URL, as instants. Silence is
no proof. A reading that is incomplete, or entries without a date, leave the question open; so does a date without a
time of day that was not over when the last run looked.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from runtime.reading import Inventory
from runtime.sitemap.dates import Lastmod, parse_lastmod
from runtime.sitemap.lastmod import CLOCK_SKEW, LastmodTrust, differs, usable
from runtime.sitemap.members import named_only_by
from runtime.sitemap.parse import FEEDS
from runtime.verdicts import Changed, Unchanged, Unknown, Verdict

QUIET_RUNS: Final = 3
MAX_UNDATED: Final = 0.2
"""A site where this share of the entries has no date may be skipped once so many quiet runs were confirmed."""


def compare(previous: Inventory | None, current: Inventory, trust: LastmodTrust, now: datetime) -> Verdict:
    """What moved between two readings of one site.

    :param previous: what the last run stored; None when there was none.
    :param now: when `current` was read.
    """
    if not current.complete:
        return Unknown(f"the sitemaps could not be read completely: {_first(current.problems)}")
    if not current.entries and not current.documents:
        return Unknown("the site has no sitemap")
    if previous is None:
        return Unknown("there is no earlier reading to compare with")
    if not previous.complete:
        return Unknown("the earlier reading was incomplete")
    added = tuple(sorted(current.entries.keys() - previous.entries.keys()))
    removed = tuple(sorted(previous.entries.keys() - current.entries.keys() - named_only_by(previous, FEEDS)))
    touched = tuple(
        sorted(
            url
            for url, lastmod in current.entries.items()
            if url in previous.entries and differs(previous.entries[url], lastmod)
        )
    )
    if touched and not trust.moves_believed and not (added or removed):
        return Unknown(f"lastmods moved, but this site's are not believed ({trust.kind.replace('_', ' ')})")
    if added or removed or touched:
        believed = touched if trust.moves_believed else ()
        return Changed(added, removed, believed, _counted(added, removed, believed))
    return _about_stillness(previous, current, trust, now)


def compare_with_check_time(
    current: Inventory,
    trust: LastmodTrust,
    now: datetime,
    *,
    last_checked_at: datetime | None,
    newest_lastmod: datetime | None = None,
) -> Verdict:
    """The verdict for a row that remembers only when it was checked and the newest lastmod, and no inventory.

    Added and removed pages with old dates cannot be seen this way; a day that overlaps the time since the check counts
    as changed.
    """
    if not current.complete:
        return Unknown(f"the sitemaps could not be read completely: {_first(current.problems)}")
    if last_checked_at is None:
        return Unknown("there is no earlier check to compare with")
    dates = usable(current.entries, now)
    later = tuple(sorted(url for url, date in dates.items() if _may_be_after(date, last_checked_at, newest_lastmod)))
    if later and trust.moves_believed:
        return Changed(touched=later, reason=_counted((), (), later))
    if later or len(dates) < len(current.entries) or not dates or not trust.stillness_believed:
        return Unknown("the dates do not vouch for every page")
    return Unchanged("no lastmod is later than the last check")


def _about_stillness(previous: Inventory, current: Inventory, trust: LastmodTrust, now: datetime) -> Verdict:
    """The same URLs with the same lastmods: whether that proves anything."""
    if changed := _changed_unlisted(previous, current):
        return Changed(reason=f"a sitemap too large to be kept entry by entry changed: {changed}")
    if not current.entries:
        return Unknown("the sitemaps list no page")
    if not trust.stillness_believed:
        return Unknown("nothing moved, but this site's lastmods stood still before while pages changed")
    dates = {text: parse_lastmod(text) for text in set(current.entries.values())}
    undated = sum(dates[text] is None for text in current.entries.values())
    total = len(current.entries)
    if not all(document.listed or document.dated for document in current.documents):
        return Unknown("a large sitemap has entries without a lastmod")
    if undated and (trust.quiet < QUIET_RUNS or undated > MAX_UNDATED * total):
        return Unknown(f"{undated} of {total} entries have no lastmod")
    read_at = _read_at(previous)
    open_dates = {text for text, date in dates.items() if date and read_at and _is_open(date, read_at, now)}
    if overlapping := tuple(sorted(url for url, text in current.entries.items() if text in open_dates)):
        reason = f"{len(overlapping)} dated on a day that was not over when they were last read"
        return Changed(touched=overlapping, reason=reason)
    return Unchanged("every page has the lastmod it had at the last run")


def _read_at(inventory: Inventory) -> datetime | None:
    """When the oldest part of the inventory was seen to be so."""
    first = min((document.checked_at for document in inventory.documents), default="")
    return datetime.fromisoformat(first) if first else None


def _is_open(date: Lastmod, moment: datetime, now: datetime) -> bool:
    """Whether an edit after `moment` could still carry this date; a point in time says exactly when it was."""
    return date.end > date.start and date.over > moment and date.start <= now + CLOCK_SKEW


def _may_be_after(date: Lastmod, checked: datetime, known: datetime | None) -> bool:
    """Whether the edit may be later than the check; the newest lastmod that was seen then is known."""
    return date.over > checked and not (date.start == date.end == known)


def _changed_unlisted(previous: Inventory, current: Inventory) -> str:
    """The first document that is not kept entry by entry and is not what it was; empty when there is none."""
    before = {document.url: document for document in previous.documents}
    after = {document.url: document for document in current.documents}
    for url in sorted(before.keys() | after.keys()):
        old, new = before.get(url), after.get(url)
        listed = all(document.listed for document in (old, new) if document is not None)
        if not listed and (old is None or new is None or old.sha256 != new.sha256):
            return url
    return ""


def _counted(added: tuple[str, ...], removed: tuple[str, ...], touched: tuple[str, ...]) -> str:
    parts = ((len(added), "added"), (len(removed), "removed"), (len(touched), "touched"))
    return ", ".join(f"{count} {what}" for count, what in parts if count)


def _first(problems: tuple[str, ...]) -> str:
    return problems[0] if problems else "the reason was not kept"
