"""Which schedule a site follows: its own choice, else the deployment's."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.models import Site, SiteOptions
from runtime.scheduling import ScheduleSettings
from runtime.scheduling.decide import FULL, PLANNED
from runtime.scheduling.history import EWMA, FIXED, LEARNED
from runtime.settings import Settings

LEARNED_ALONE = frozenset({FULL, PLANNED})
"""What only the learned policy may act on; under another one it is out of date."""


def policy_of(options: SiteOptions, settings: Settings) -> str:
    """`fixed`, `ewma` or `learned`. A site that chose none and may adapt follows the deployment's policy too, but for
    `fixed`: then it is `ewma`.
    """
    if options.policy:
        return options.policy
    return EWMA if options.adaptive and settings.schedule == FIXED else settings.schedule


def schedule_settings(policy: str, price: float | None) -> ScheduleSettings:
    """What `scheduling.decide` goes by; a fixed site is one whose history is not adaptive."""
    return ScheduleSettings(adaptive_policy=EWMA if policy == FIXED else policy, price=price)


def memory_for(policy: str, memory: Mapping[str, float]) -> dict[str, float]:
    """A site's memory without what belongs to another policy."""
    return {name: value for name, value in memory.items() if policy == LEARNED or name not in LEARNED_ALONE}


def reads_pages(site: Site, settings: Settings) -> bool:
    """Whether the last decision wants the pages read whatever the sitemap says."""
    return policy_of(site.options, settings) == LEARNED and bool(site.schedule.get(FULL))


def is_priced(site: Site, settings: Settings) -> bool:
    """Whether the price of a crawl decides when the site is looked at."""
    return settings.crawls_a_day is not None and policy_of(site.options, settings) == LEARNED
