"""The owner's interval, kept to its slots: a late run does not make all later ones late."""

from __future__ import annotations

from datetime import datetime, timedelta

from runtime.models import EPOCH
from runtime.scheduling.history import History

JITTER = 0.1
"""A look is up to a tenth of the interval early, so that sites enrolled together drift apart. Never late: a site that
is due a little after a tick waits for the next one, and an interval of one tick would become two."""

SLOT = "slot"
LAST_SECOND = 32_503_680_000
"""The year 3000: a later slot is not one of ours."""

_TOLERANCE = timedelta(minutes=5)


def next_slot(history: History, now: datetime, spread: float) -> tuple[datetime, datetime]:
    """The next look, and the slot that it belongs to.

    Slots follow each other at exactly the interval, whenever the runs happen and however early each look is, so the
    mean interval is the owner's. A run at another time than planned (a webhook, an outage) starts a new row of slots.
    """
    interval = timedelta(minutes=history.interval)
    slot = _slot_of_this_run(history, now, interval) + interval
    early = interval * JITTER * spread
    if slot - early <= now:
        slot = now + interval
    return slot - early, slot


def _slot_of_this_run(history: History, now: datetime, interval: timedelta) -> datetime:
    due = history.due_at
    if due is None or due - now > _TOLERANCE or now - due >= interval:
        return now
    slot = _remembered(history)
    if slot is not None and -_TOLERANCE <= slot - due <= interval * JITTER + _TOLERANCE:
        return slot
    return due


def _remembered(history: History) -> datetime | None:
    stored = history.memory.get(SLOT)
    if stored is None or not 0 <= stored < LAST_SECOND:
        return None
    return EPOCH + timedelta(seconds=stored)
