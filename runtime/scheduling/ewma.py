"""The specification's adaptive interval (section "Adaptive Scheduling"), with its faults mended.

As written the average moves only on a change, and then never below the interval that is already used, so it cannot
shrink; it never grows on quiet; seven days clamp an owner's thirty; and a clock that ran back makes it negative.
"""

from __future__ import annotations

from datetime import datetime

from runtime.models import MIN_INTERVAL, Outcome
from runtime.scheduling.history import LOOKED, History, within

ALPHA = 0.5
QUIET_SAMPLE = 4.0
"""What a quiet look says about the time between changes, in units of the average: it is longer, by an unknown factor.
With ALPHA a quiet interval multiplies the average by 2.5; from an hour to seven days are six looks."""

CHANGE_SAMPLE = 0.5
"""A change between two looks happened half-way, on average."""


def averaged(history: History, now: datetime) -> float:
    """The new average time between changes, in minutes, within an hour and the longer of 7 days and the interval.

    A quiet look lengthens it, in proportion to how much of the average has passed; a change shortens it; a run that
    does not say leaves it. Time that did not pass (a clock set back) counts as a whole average on a change, and as
    nothing on quiet.
    """
    stored = history.avg_change_interval_minutes
    average = within(history.interval if stored is None else stored, MIN_INTERVAL, history.longest)
    elapsed = history.minutes_since_look(now)
    if history.outcome is Outcome.UPDATED:
        sample = CHANGE_SAMPLE * min(average, average if elapsed is None else elapsed)
    elif history.outcome in LOOKED:
        passed = 0.0 if elapsed is None else min(1.0, elapsed / average)
        sample = average * (1 + (QUIET_SAMPLE - 1) * passed)
    else:
        return average
    return within(ALPHA * sample + (1 - ALPHA) * average, MIN_INTERVAL, history.longest)
