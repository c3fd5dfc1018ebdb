"""The learned policy: look when a look is worth it, given all that the site has taught us.

Without a budget the interval is the geometric mean of the owner's interval and half the time between changes: a site
that changes once in two intervals is looked at once per interval, a quieter one less often, a livelier one more often,
and more observed change never lengthens it; where a sitemap spares the crawls, looks are cheap and more frequent.

With a budget a price takes its place (`value`): every look has to save as many minutes of staleness as any other look
of the deployment. A site that changes faster than the budget can follow is then looked at less, which is what makes
the sum of all sites the freshest.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import expm1, sqrt

from runtime.models import MIN_INTERVAL, Outcome
from runtime.scheduling.backoff import seconds
from runtime.scheduling.history import LONGEST_ADAPTIVE, History, ScheduleSettings, within
from runtime.scheduling.rate import Belief
from runtime.scheduling.signals import GUESS, Knowledge
from runtime.scheduling.value import best_interval, cost

LONGEST = 30 * 1_440.0
LONGEST_INTERVALS = 4
"""No site waits longer than four of its owner's intervals; not less than 7 days, not more than 30, or the interval."""

ACQUAINTANCE = 1_440.0
"""Minutes. The second look at a site with a sitemap comes within a day: it tells what the sitemap is worth."""

USABLE_ALARM = 0.7
"""Below it a sitemap spares enough crawls for plain looks and full readings to have intervals of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The next look: after how many minutes, and whether it should read the pages whatever the sitemap says.

    `belief` is how often a plain look has something to find; `crawls_a_day` how often its pages are expected to be read
    from now on, webhooks left out: a look that ends with the sitemap takes nothing of a budget of crawls.
    """

    minutes: float
    full: bool
    knowledge: Knowledge
    belief: Belief
    crawls_a_day: float


def longest_of(history: History) -> float:
    """The longest interval (minutes) that the policy may choose for a site."""
    return max(history.interval, min(LONGEST, max(LONGEST_ADAPTIVE, LONGEST_INTERVALS * history.interval)))


def plan(history: History, settings: ScheduleSettings, now: datetime) -> Plan:
    """Learn from the run that now ends, and choose the next look."""
    known = Knowledge.of(history.memory).after(history, now)
    seen = known.rate_seen(history.interval)
    look = _interval(seen, history, settings, look=settings.look_cost, alarm=known.alarm)
    if known.nothing_seen:
        look = min(look, history.interval if known.silent else ACQUAINTANCE)
    crawls = cost(seen, look, look=0.0, alarm=known.alarm) * 1_440 / look
    if known.alarm >= USABLE_ALARM:
        return Plan(minutes=look, full=False, knowledge=known, belief=seen, crawls_a_day=crawls)
    reading = _interval(known.rate_hidden(history.interval), history, settings)
    unread = within((seconds(now) - known.read_at) / 60, 0, reading)
    full = max(MIN_INTERVAL, reading - unread)
    crawls /= -expm1(-crawls * reading / 1_440)
    return Plan(minutes=min(look, full), full=full <= look, knowledge=known, belief=seen, crawls_a_day=crawls)


def _interval(
    belief: Belief, history: History, settings: ScheduleSettings, *, look: float = 0.0, alarm: float = 1.0
) -> float:
    """Minutes between looks at something that changes as `belief` says; the cost of a look as in `value.cost`."""
    longest = longest_of(history)
    if settings.price is None:
        each = min(1.0, look + alarm)
        return within(sqrt(history.interval * belief.typical / GUESS * each), MIN_INTERVAL, longest)
    return best_interval(belief, settings.price / history.weight, MIN_INTERVAL, longest, look=look, alarm=alarm)


def reason(chosen: Plan, history: History, settings: ScheduleSettings) -> str:
    """Why the next look is when it is: the rate, how sure it is, the signals, the price."""
    known, belief = chosen.knowledge, chosen.belief
    parts = [f"changes are found about every {_days(belief.typical)} ({_sure(belief.relative_error)})"]
    if history.outcome is Outcome.UPDATED:
        parts.insert(0, "it changed")
    if known.announced >= 0.5:
        share = known.announced / (known.announced + known.found)
        parts.append(f"its webhook announces {share:.0%} of its changes")
    if known.asked >= 2 and not known.silent:
        parts.append(f"its sitemap spares {1 - known.alarm:.0%} of needless crawls")
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
