"""The learned policy: look when a look is worth it, given all that the site has taught us.

Without a budget the interval is the geometric mean of the owner's interval and the expected time between changes: a
site that changes once per interval is looked at once per interval, a quieter one less often, a livelier one more often,
and more observed change never lengthens it. With a budget a price takes its place (`value`): every look has to save as
many minutes of staleness as any other look of the deployment. A site that changes faster than the budget can follow is
then looked at less, which is what makes the sum of all sites the freshest.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt

from runtime.models import MIN_INTERVAL, Outcome
from runtime.scheduling.backoff import seconds
from runtime.scheduling.history import LONGEST_ADAPTIVE, History, ScheduleSettings, within
from runtime.scheduling.signals import Knowledge
from runtime.scheduling.value import best_interval

LONGEST = 30 * 1_440.0
LONGEST_INTERVALS = 4
"""No site waits longer than four of its owner's intervals; not less than 7 days, not more than 30, or the interval."""

USABLE_ALARM = 0.7
"""Below it a sitemap spares enough crawls for plain looks and full readings to have intervals of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The next look: after how many minutes, and whether it should read the pages whatever the sitemap says."""

    minutes: float
    full: bool
    knowledge: Knowledge


def longest_of(history: History) -> float:
    """The longest interval (minutes) that the policy may choose for a site."""
    return max(history.interval, min(LONGEST, max(LONGEST_ADAPTIVE, LONGEST_INTERVALS * history.interval)))


def plan(history: History, settings: ScheduleSettings, now: datetime) -> Plan:
    """Learn from the run that now ends, and choose the next look."""
    knowledge = Knowledge.of(history.memory).after(history, now)
    longest = longest_of(history)
    look = interval_of(knowledge, history, settings)
    if knowledge.alarm >= USABLE_ALARM:
        return Plan(minutes=look, full=False, knowledge=knowledge)
    unread = within((seconds(now) - knowledge.read_at) / 60, 0, longest)
    full = max(MIN_INTERVAL, _full_interval(knowledge, history, settings) - unread)
    return Plan(minutes=min(look, full), full=full <= look, knowledge=knowledge)


def interval_of(knowledge: Knowledge, history: History, settings: ScheduleSettings) -> float:
    """Minutes between plain looks."""
    belief, longest = knowledge.rate_seen(history.interval), longest_of(history)
    alarm = knowledge.alarm
    if settings.price is None:
        cost = min(1.0, settings.look_cost + alarm)
        return within(sqrt(history.interval * belief.typical * cost), MIN_INTERVAL, longest)
    price = settings.price / history.weight
    return best_interval(belief, price, MIN_INTERVAL, longest, look=settings.look_cost, alarm=alarm)


def _full_interval(knowledge: Knowledge, history: History, settings: ScheduleSettings) -> float:
    """Minutes between readings of the pages against the sitemap's word."""
    belief, longest = knowledge.rate_hidden(history.interval), longest_of(history)
    if settings.price is None:
        return within(sqrt(history.interval * belief.typical), MIN_INTERVAL, longest)
    return best_interval(belief, settings.price / history.weight, MIN_INTERVAL, longest)


def reason(chosen: Plan, history: History, settings: ScheduleSettings) -> str:
    """Why the next look is when it is: the rate, how sure it is, the signals, the price."""
    knowledge = chosen.knowledge
    belief = knowledge.rate_seen(history.interval)
    parts = [f"changes are found about every {_days(belief.typical)} ({_sure(belief.relative_error)})"]
    if history.outcome is Outcome.UPDATED:
        parts.insert(0, "it changed")
    if knowledge.announced >= 0.5:
        of = knowledge.announced + knowledge.found
        parts.append(f"its webhook announces {knowledge.announced / of:.0%} of its changes")
    if knowledge.asked >= 2:
        parts.append(f"its sitemap spares {1 - knowledge.alarm:.0%} of needless crawls")
    if chosen.full:
        parts.append("the next look reads the pages, whatever the sitemap says")
    if settings.price is not None:
        parts.append(f"a crawl has to save {_days(settings.price / history.weight)} of staleness")
    return "; ".join(parts)


def _sure(error: float) -> str:
    if error > 0.8:
        return "a guess so far"
    return "known well" if error < 0.3 else f"give or take {error:.0%}"


def _days(minutes: float) -> str:
    span = timedelta(minutes=minutes)
    if span < timedelta(hours=2):
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.0f} h" if span < timedelta(days=2) else f"{minutes / 1_440:.0f} days"
