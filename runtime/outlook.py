"""Why the next look at a site is when it is: the rate, how sure it is, the signals, the reason. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from runtime.models import Budget, Site
from runtime.policy import policy_of, reads_pages
from runtime.scheduling.decide import PLANNED, in_words
from runtime.scheduling.history import FIXED, LEARNED
from runtime.scheduling.signals import Knowledge
from runtime.settings import Settings


def outlook(site: Site, settings: Settings, budget: Budget, now: datetime) -> dict[str, Any]:
    """The schedule of a site as JSON.

    `changes_every_minutes` and `relative_error` (1 is a guess, 0.1 is known well) are what is believed of its changes,
    None where the policy does not learn; `signals` what each signal is worth: the share of the changes that the webhook
    announces, of the needless crawls that the sitemap spares, and the minutes between changes that the sitemap hides.
    """
    policy = policy_of(site.options, settings)
    view: dict[str, Any] = {
        "policy": policy,
        "why": _why(site, settings, budget, now),
        "changes_every_minutes": None if policy == FIXED else site.avg_change_interval_minutes,
        "relative_error": None,
        "signals": {},
        "reads_pages": reads_pages(site, settings),
        "crawls_a_day": 1_440 / site.options.recrawl_interval_minutes,
        "price_minutes": budget.price if policy == LEARNED and settings.crawls_a_day is not None else None,
    }
    if policy != LEARNED or site.last_checked_at is None:
        return view
    known, interval = Knowledge.of(site.schedule), float(site.options.recrawl_interval_minutes)
    belief = known.rate_seen(interval)
    told = known.announced + known.found
    return view | {
        "changes_every_minutes": round(belief.typical, 1),
        "relative_error": round(belief.relative_error, 2),
        "signals": {
            "webhook": round(known.announced / told, 2) if told else None,
            "sitemap": round(1 - known.alarm, 2) if known.alarm < 1 else None,
            "hidden_every_minutes": None if known.silent else round(known.rate_hidden(interval).typical, 1),
        },
        "crawls_a_day": site.schedule.get(PLANNED, view["crawls_a_day"]),
    }


def outlook_lines(view: dict[str, Any]) -> list[tuple[str, str]]:
    """The same for a person: names and texts, without what is not known."""
    signals = view["signals"]
    every = view["changes_every_minutes"]
    lines = [("schedule policy", view["policy"]), ("why then", view["why"])]
    if every is not None:
        error = view["relative_error"]
        sure = "" if error is None else " (a guess so far)" if error > 0.8 else f" (give or take {error:.0%})"
        lines.append(("changes", f"about every {_span(every)}{sure}"))
    if signals.get("webhook") is not None:
        lines.append(("webhook", f"announces {signals['webhook']:.0%} of the changes"))
    if signals.get("sitemap") is not None:
        lines.append(("sitemap", f"spares {signals['sitemap']:.0%} of needless crawls"))
    if signals.get("hidden_every_minutes") is not None:
        lines.append(("hidden changes", f"about every {_span(signals['hidden_every_minutes'])}"))
    if view["reads_pages"]:
        lines.append(("next look", "reads the pages, whatever the sitemap says"))
    lines.append(("expected cost", f"{view['crawls_a_day']:.3g} crawls a day"))
    if view["price_minutes"] is not None:
        lines.append(("price", f"a crawl has to save {_span(view['price_minutes'])} of staleness"))
    return lines


def _why(site: Site, settings: Settings, budget: Budget, now: datetime) -> str:
    """The reason of the last decision, or what came after it."""
    if site.next_crawl_at is None:
        return f"the site is {site.status}; it is not looked at"
    if site.requested_at is not None:
        reason = "a webhook or a person asked for it"
    elif site.last_checked_at is None:
        reason = "it was not looked at yet"
    else:
        reason = site.next_crawl_reason or "as planned"
    limit = settings.crawls_a_day
    if limit is not None and site.next_crawl_at <= now and budget.is_spent(limit):
        reason += f"; it waits for the budget: {budget.crawls} of {limit} crawls were used in the last 24 hours"
    return reason


def _span(minutes: float) -> str:
    return in_words(timedelta(minutes=minutes))
