"""May this URL be asked for? robots.txt per origin, read once a run, and the bounds of the site.

The answer is given before every hop, so that a redirect cannot lead where a link may not (RFC 9309 2.2.2).
"""

from __future__ import annotations

import asyncio

from runtime import urls
from runtime.crawl.access import Access, read_access
from runtime.ports import Web
from runtime.reading import Left
from runtime.settings import CrawlLimits


class Rules:
    """The rules of one run. `home` narrows the scope once the entry page has landed; until then `site` does."""

    def __init__(self, web: Web, site: str, limits: CrawlLimits) -> None:
        self._web, self._limits = web, limits
        self.scope = site
        self._access: dict[str, asyncio.Task[Access]] = {}

    async def know(self, origin: str, access: Access) -> None:
        """Use a robots.txt that was read already; its pace holds from now on."""
        self._access[origin] = asyncio.ensure_future(self._slowed(origin, access))
        await self._access[origin]

    async def access(self, url: str) -> Access:
        origin = urls.origin(url)
        task = self._access.get(origin)
        if task is None:
            task = self._access[origin] = asyncio.ensure_future(self._read(origin))
        return await task

    async def may_visit(self, url: str) -> str | None:
        """None lets the request out; otherwise `Left.OFF_SITE` or `Left.ROBOTS`."""
        if not urls.in_scope(self.scope, url):
            return Left.OFF_SITE
        access = await self.access(url)
        return None if access.robots.allowed(url) else Left.ROBOTS

    async def may_enter(self, url: str) -> str | None:
        """The same for the entry page, which may move within the site's host pair but not to another site."""
        if not urls.same_site(self.scope, url):
            return Left.OFF_SITE
        access = await self.access(url)
        return None if access.robots.allowed(url) else Left.ROBOTS

    async def _read(self, origin: str) -> Access:
        return await self._slowed(origin, await read_access(self._web, origin, self._limits))

    async def _slowed(self, origin: str, access: Access) -> Access:
        """The same, once its Crawl-delay is kept."""
        delay = access.robots.crawl_delay()
        if delay:
            await self._web.set_pace(urls.host_of(origin), min(delay, self._limits.max_crawl_delay_seconds))
        return access
