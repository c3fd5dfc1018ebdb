"""Which sitemap does a site have? Asked once, when a site is new."""

from __future__ import annotations

from datetime import datetime

from runtime.ports import MayVisit, Web
from runtime.settings import CrawlLimits
from runtime.sitemap.fetch import read_document
from runtime.sitemap.places import places


async def discover_sentinel(
    web: Web,
    base_url: str,
    *,
    robots_sitemaps: tuple[str, ...] = (),
    limits: CrawlLimits,
    now: datetime,
    may_visit: MayVisit | None = None,
) -> str | None:
    """The final URL of the first sitemap that a site really has, or None. Content decides, never a status."""
    for url in dict.fromkeys((*robots_sitemaps, *places(base_url, None))):
        outcome = await read_document(web, url, None, limits=limits, now=now, may_visit=may_visit)
        if outcome.state is not None:
            return outcome.state.final_url
        if outcome.not_before is not None:
            return None
    return None
