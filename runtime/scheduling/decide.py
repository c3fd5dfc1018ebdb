"""The one decision: failures back off, a site that asks for patience gets it, everything else follows its policy."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from runtime.models import MIN_INTERVAL, Outcome
from runtime.scheduling.backoff import (
    FAILING_SINCE,
    GONE_IN_A_ROW,
    backoff,
    gives_up,
    remember_failure,
    seconds,
)
from runtime.scheduling.ewma import averaged
from runtime.scheduling.fixed import JITTER, SLOT, next_slot
from runtime.scheduling.history import EWMA, LEARNED, History, ScheduleSettings
from runtime.scheduling.learned import plan, reason
from runtime.verdicts import Decision

MOST_PATIENCE = timedelta(days=7)
"""A Retry-After beyond it is not believed."""

HELD_MINUTES = 720
"""A held result is looked at again after half a day at most: three of them confirm it within a day or two."""

DEFERRED_MINUTES = 5

FULL = "full"
"""In the memory: 1 if the next look should read the pages whatever the sitemap says."""

PLANNED = "crawls_a_day"
"""In the memory: what the site is expected to cost from now on; the sum over all sites is what a price is set by."""


def decide(history: History, settings: ScheduleSettings, now: datetime, *, spread: float) -> Decision:
    """When to look at a site again.

    :param spread: a number in [0, 1) that differs between sites and runs (`spread_of`); all jitter comes from it.
    """
    memory = {name: value for name, value in history.memory.items() if name not in {FAILING_SINCE, GONE_IN_A_ROW}}
    if history.failures > 0:
        decision = _after_failure(history, now, spread, memory)
    elif history.outcome is Outcome.DEFERRED:
        wait = timedelta(minutes=DEFERRED_MINUTES * (1 + spread))
        decision = Decision(next_crawl_at=now + wait, reason="the run could not be finished; it goes on", memory=memory)
    elif history.outcome is Outcome.HELD:
        wait = timedelta(minutes=min(history.interval, HELD_MINUTES) * (1 + JITTER * spread))
        decision = Decision(next_crawl_at=now + wait, reason="a held result is looked at again soon", memory=memory)
    elif history.adaptive and settings.adaptive_policy == EWMA:
        decision = _ewma(history, now, spread, memory)
    elif history.adaptive and settings.adaptive_policy == LEARNED:
        decision = _learned(history, settings, now, spread)
    else:
        decision = _fixed(history, now, spread, memory)
    return _patient(decision, history, now)


def spread_of(site_id: str, generation: int) -> float:
    """A number in [0, 1) that is the same whenever and wherever it is asked for, and another one for the next run."""
    digest = hashlib.sha256(f"{site_id}/{generation}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _after_failure(history: History, now: datetime, spread: float, memory: dict[str, float]) -> Decision:
    kept = remember_failure(history, now)
    given_up = gives_up(history, kept, now)
    wait = backoff(history, spread)
    times = "once" if history.failures == 1 else f"{history.failures} times in a row"
    reason = f"disabled: {given_up}" if given_up else f"failed {times}; tried again in {in_words(wait)}"
    return Decision(next_crawl_at=now + wait, reason=reason, memory=memory | kept, disable=bool(given_up))


def _fixed(history: History, now: datetime, spread: float, memory: dict[str, float]) -> Decision:
    at, slot = next_slot(history, now, spread)
    reason = f"every {in_words(timedelta(minutes=history.interval))}, as chosen"
    return Decision(next_crawl_at=at, reason=reason, memory=memory | {SLOT: seconds(slot)})


def _ewma(history: History, now: datetime, spread: float, memory: dict[str, float]) -> Decision:
    average = averaged(history, now)
    wait = timedelta(minutes=max(MIN_INTERVAL, average * (1 - JITTER * spread)))
    what = "changed" if history.outcome is Outcome.UPDATED else "did not change"
    reason = f"it {what}; changes are expected every {in_words(timedelta(minutes=average))}"
    return Decision(next_crawl_at=now + wait, reason=reason, avg_change_interval_minutes=average, memory=memory)


def _learned(history: History, settings: ScheduleSettings, now: datetime, spread: float) -> Decision:
    chosen = plan(history, settings, now)
    wait = timedelta(minutes=max(MIN_INTERVAL, chosen.minutes * (1 - JITTER * spread)))
    return Decision(
        next_crawl_at=now + wait,
        reason=f"{reason(chosen, history, settings)}; the next look is in {in_words(wait)}",
        avg_change_interval_minutes=chosen.belief.typical,
        memory=chosen.knowledge.as_numbers() | {FULL: float(chosen.full), PLANNED: round(chosen.crawls_a_day, 6)},
        full=chosen.full,
    )


def _patient(decision: Decision, history: History, now: datetime) -> Decision:
    """The same decision, not before the site wants us back."""
    if history.retry_after is None:
        return decision
    earliest = min(history.retry_after, now + MOST_PATIENCE)
    if earliest <= decision.next_crawl_at:
        return decision
    return Decision(
        next_crawl_at=earliest,
        reason=f"{decision.reason}; the site asks for patience until then (Retry-After)",
        avg_change_interval_minutes=decision.avg_change_interval_minutes,
        memory=decision.memory,
        disable=decision.disable,
        full=decision.full,
    )


def in_words(span: timedelta) -> str:
    """A duration as a person says it: `6 h`, `7 days`, `45 min`."""
    minutes = round(span.total_seconds() / 60)
    if minutes < 120:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes / 60:.3g} h"
    return f"{minutes / 1_440:.3g} days"
