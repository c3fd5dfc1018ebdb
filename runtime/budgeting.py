"""Keeps the price of a crawl: found once, then moved a little every day, so that what is planned fits the budget.

The gate (`Sites.claim_due`) keeps the budget whatever is planned; the price decides whose crawls it is spent on. No
tick computes anything for all sites: the first price comes from a sample, and once a day the store adds up what the
schedules plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from heapq import nsmallest

from runtime.models import Budget, Outcome, Site, SiteStatus
from runtime.policy import policy_of, schedule_settings
from runtime.ports import World
from runtime.scheduling import History, spread_of
from runtime.scheduling.budget import next_price, price_for
from runtime.scheduling.decide import PLANNED
from runtime.scheduling.history import LEARNED
from runtime.scheduling.learned import LONGEST, plan
from runtime.scheduling.signals import Knowledge
from runtime.settings import Settings

EVERY = timedelta(days=1)
SAMPLE, PAGE, MOST_READ = 200, 500, 10_000
"""Sites that the first price is found with; of how many rows they are drawn, so many at a time and in all."""

TARGET, LEAST = 0.985, 0.1
"""Shares of the budget: the price aims at what webhooks leave of it, or what is kept for them (`Sites.claim_due`), less
a little for days busier than planned; but at a tenth at the least."""

MOST = 10 * LONGEST
"""Minutes. Beyond it no site of a weight up to ten is looked at less, and the way back would be long."""

ACQUAINTED = {"asked": 1.0, "wrong": 1.0, "seen_quiet": 1.0}
"""The memory of a site whose sitemap is worth nothing: what is supposed of one that was not looked at twice."""


async def adapt_price(world: World) -> Budget:
    """The budget as it stands, after its price was found or moved on if that is due.

    :raises StoreDown: the rows cannot be read.
    """
    settings, now = world.settings, world.clock()
    known = await world.sites.budget()
    if settings.crawls_a_day is None or (known.priced_at is not None and now - known.priced_at < EVERY):
        return known
    planned = await world.sites.planned_crawls()
    limit = settings.crawls_a_day
    room = max(LEAST * limit, TARGET * (limit - max(known.asked, Budget.kept_for_asked(limit))))
    if known.price is not None:
        price = next_price(known.price, planned, room)
    else:
        sites = await sample(world)
        if not sites:
            return known
        share = sum(map(_remembered, sites)) / planned if planned else 1.0
        price = first_price(sites, room * min(1.0, share), settings, now)
    price = min(MOST, price)
    await world.sites.set_price(price, after=known.priced_at)
    world.events.event("crawl_priced", price=round(price, 3), planned_a_day=round(planned, 1), room=round(room, 1))
    return await world.sites.budget()


async def sample(world: World) -> list[Site]:
    """Active sites drawn by their ids: by their addresses the sites of one owner, which are alike, stand together.

    The rows are read once in a deployment's life, and only the sample is kept.

    :raises StoreDown: the rows cannot be read.
    """
    drawn: list[Site] = []
    after: str | None = None
    for _ in range(MOST_READ // PAGE):
        page = await world.sites.list_sites(after=after, limit=PAGE)
        active = (site for site in page if site.status is SiteStatus.ACTIVE)
        drawn = nsmallest(SAMPLE, [*drawn, *active], key=lambda site: spread_of(site.id, 0))
        if len(page) < PAGE:
            break
        after = page[-1].base_url
    return drawn


def first_price(sites: Sequence[Site], crawls_a_day: float, settings: Settings, now: datetime) -> float:
    """The lowest price at which these sites together cost no more than `crawls_a_day`."""
    return price_for(crawls_a_day, lambda price: sum(planned_at(site, price, settings, now) for site in sites))


def planned_at(site: Site, price: float, settings: Settings, now: datetime) -> float:
    """Crawls a day that a site would cost at a price; one whose policy knows no price costs what it does."""
    if policy_of(site.options, settings) != LEARNED:
        return 1_440 / site.options.recrawl_interval_minutes
    memory = dict(site.schedule)
    if Knowledge.of(memory).nothing_seen:
        memory |= ACQUAINTED  # the early look that makes acquaintance with a site is made once, at any price
    history = History.of(site, Outcome.DEFERRED, failures=0, memory=memory)  # an outcome that teaches nothing
    history = replace(history, adaptive=True, weight=site.options.weight)
    return plan(history, schedule_settings(LEARNED, price), now).crawls_a_day


def _remembered(site: Site) -> float:
    return site.schedule.get(PLANNED, 1_440 / site.options.recrawl_interval_minutes)
