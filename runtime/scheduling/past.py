"""What the dates of a sitemap tell of the time before the first look. Pure.

A page shows its last change alone. The newest date is always seen, the ones before it unless all the pages of that
change have been touched again since; so only the newest ones are counted, few beside the number of pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from runtime.scheduling.rate import Watched

HALF_LIFE_MINUTES = 180 * 1_440.0
"""What was seen half a year ago counts half, and dates that are older count for nothing."""

SAME_EDIT = 5.0
"""Minutes. Dates this close together are of one edit: a new page, and the lists that it appears in."""

PAGES_A_DATE = 5
"""Of so many pages one date may be counted: then about nine in ten of those that are looked for still show."""

STAMPED = 0.9
"""Where this share of the pages has one date, it is the date of a build, or of the request, and of no change."""


def past_of(ages: Sequence[float]) -> Watched | None:
    """What is known of the last half year by the pages' dates; None where they tell nothing.

    :param ages: how many minutes ago each page was changed last, one number a page, in any order.
    """
    moments = apart(ages)
    if len(moments) < 2 or max(moments.values()) >= STAMPED * len(ages):
        return None
    window = min(HALF_LIFE_MINUTES, max(moments))
    shown = sorted(age for age in moments if age < window)
    most = max(1, len(ages) // PAGES_A_DATE)
    if len(shown) > most:
        shown = shown[:most]
        window = shown[-1]
    return Watched.of_dates(shown, window, HALF_LIFE_MINUTES)


def apart(ages: Sequence[float]) -> Counter[float]:
    """The edits that dates tell apart, by the newest date of each, and how many pages have a date of it."""
    edits: Counter[float] = Counter()
    newest = before = float("-inf")
    for age in sorted(max(0.0, age) for age in ages):
        if age - before > SAME_EDIT:
            newest = age
        edits[newest] += 1
        before = age
    return edits
