"""How long a failing site is left alone, and when it is given up."""

from __future__ import annotations

from datetime import datetime, timedelta

from runtime.models import EPOCH
from runtime.scheduling.history import History, within

FIRST_MINUTES = 15
LEAST_MINUTES = 1
LONGEST_MINUTES = 1_440
"""A failing site is tried at least once a day, or as often as its owner chose if that is less often."""

GIVE_UP_FAILURES = 10
GIVE_UP_DAYS = 7
GIVE_UP_GONE = 3
"""410 says that the resource will not come back (RFC 9110 15.5.11): three in a row are believed."""

FAILING_SINCE = "failing_since"
GONE_IN_A_ROW = "gone_in_a_row"


def backoff(history: History, spread: float) -> timedelta:
    """Full jitter: anything up to 15 min × 2^n after the n-th failure, capped at the longer of a day and the interval.

    Spreading over the whole range, rather than around its middle, keeps sites that failed together apart
    (M. Brooker, "Exponential Backoff And Jitter", 2015).
    """
    cap = max(history.interval, LONGEST_MINUTES)
    ceiling = min(cap, FIRST_MINUTES * 2.0 ** min(history.failures, 20))
    return timedelta(minutes=max(LEAST_MINUTES, spread * ceiling))


def remember_failure(history: History, now: datetime) -> dict[str, float]:
    """The memory of a failing site: since when (seconds since 1970), and how often the entry page was gone."""
    this = seconds(now)
    since = history.memory.get(FAILING_SINCE, this) if history.failures > 1 else this
    gone = 1 + within(history.memory.get(GONE_IN_A_ROW, 0), 0, GIVE_UP_GONE) if history.gone else 0
    return {FAILING_SINCE: since if 0 < since < this else this, GONE_IN_A_ROW: gone}


def gives_up(history: History, memory: dict[str, float], now: datetime) -> str:
    """Why the site is given up, or the empty text."""
    if memory[GONE_IN_A_ROW] >= GIVE_UP_GONE:
        return f"its entry page was gone for good (410) {GIVE_UP_GONE} times in a row"
    days = (seconds(now) - memory[FAILING_SINCE]) / 86_400
    if history.failures >= GIVE_UP_FAILURES and days >= GIVE_UP_DAYS:
        return f"it failed {history.failures} times in a row over {days:.0f} days"
    return ""


def seconds(time: datetime) -> float:
    return (time - EPOCH).total_seconds()
