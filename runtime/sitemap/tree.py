"""The sitemaps of a site, read from their roots down: what the site says it has, and how completely it could be read.

Roots are what robots.txt names, else the sitemap that worked last time, else the usual places. Everything is bounded:
documents, depth, children, hosts; nothing is asked for twice.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from runtime import urls
from runtime.ports import MayVisit, Web
from runtime.reading import DocumentState, Inventory
from runtime.settings import CrawlLimits
from runtime.sitemap.body import Allowance
from runtime.sitemap.fetch import Outcome, Unread, ask, parse, stands
from runtime.sitemap.lastmod import LastmodTrust
from runtime.sitemap.merge import Merger
from runtime.sitemap.places import places

CONCURRENT: Final = 4
FORGET: Final = timedelta(days=60)
"""A document that did not come in full for so long is no longer carried along when it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryReading:
    """One look at a site's sitemaps.

    `sentinel_url` is the first root that was read, as its final URL; None when there is none. `not_modified`: every
    document answered 304 or had the bytes it had. `not_before`: a server asked not to be asked again before then.
    `carried` are entries of documents that could not be read this time.
    """

    inventory: Inventory
    sentinel_url: str | None
    requests: int
    not_modified: bool
    not_before: datetime | None = None
    carried: frozenset[str] = frozenset()


async def read_inventory(
    web: Web,
    base_url: str,
    *,
    robots_sitemaps: tuple[str, ...],
    sentinel_url: str | None,
    previous: Inventory | None,
    limits: CrawlLimits,
    now: datetime,
    trust: LastmodTrust | None = None,
    may_visit: MayVisit | None = None,
) -> InventoryReading:
    """Read every sitemap of a site. Never raises for what a site answers.

    A document that fails makes the inventory incomplete; what it listed last time stays in it. On a site whose
    lastmods proved honest, a child whose own lastmod in the index has not moved is not asked for.

    :param robots_sitemaps: the Sitemap lines of robots.txt; they may be on any host.
    :param sentinel_url: the root that worked last time.
    :param previous: the stored inventory, for conditional requests and for the entries of what did not change.
    :param trust: what the site's lastmods are worth; without it every document is asked for.
    """
    tree = _Tree(web, base_url, previous or Inventory(), limits, now, may_visit)
    tree.skips = trust is not None and trust.kind == "honest"
    sentinel = None
    if robots_sitemaps:
        sentinel = await tree.walk(robots_sitemaps)
    for url in places(base_url, sentinel_url) if sentinel is None else ():
        if tree.not_before is not None:
            break
        sentinel = await tree.walk((url,), guess=True)
        if sentinel is not None or tree.lost_for_now(url):
            break
    return tree.result(sentinel, sentinel_url)


class _Tree:
    """One reading under way: what was asked for, what came, what is left of the bounds."""

    def __init__(
        self,
        web: Web,
        base_url: str,
        previous: Inventory,
        limits: CrawlLimits,
        now: datetime,
        may_visit: MayVisit | None,
    ) -> None:
        self._web, self._base_url, self._limits, self._now = web, base_url, limits, now
        self._may_visit = may_visit
        self._merger = Merger(base_url, previous, now)
        self._before = {document.final_url: document for document in previous.documents}
        self._before |= {document.url: document for document in previous.documents}
        self._seen: set[str] = set()
        self._failed: list[tuple[Outcome, bool]] = []
        self._documents = 0
        self._allowance = Allowance(limits.sitemap_wire_bytes_per_site, limits.sitemap_bytes_per_site)
        self._requests = 0
        self._standing: set[str] = set()
        self.skips = False
        self.not_before: datetime | None = None

    async def walk(self, roots: Sequence[str], *, guess: bool = False) -> str | None:
        """Read the trees below some roots, level by level; the final URL of the first root that is a sitemap.

        :param guess: nobody said that the roots exist.
        """
        found = None
        level = [url for url in dict.fromkeys(roots) if url not in self._seen]
        self._seen.update(level)
        for depth in range(1, self._limits.sitemap_depth + 1):
            below: list[str] = []
            async for outcome in self._read(level):
                state = outcome.state
                if outcome.again:
                    continue
                if state is None:
                    if depth == 1:
                        self._failed.append((outcome, guess))
                    else:
                        self._lose(outcome)
                    continue
                if state.final_url != outcome.url:
                    if state.final_url in self._seen:
                        continue
                    self._seen.add(state.final_url)
                state = self._merger.add(outcome)
                found = found or state.final_url
                below += self._children(state)
                del outcome  # its entries would stay while those of the next document are read
            level = below
        if level:
            self._merger.lost(f"sitemap indexes nested more than {self._limits.sitemap_depth} deep")
        return found

    def result(self, sentinel: str | None, stored_sentinel: str | None) -> InventoryReading:
        """The reading, once everything was asked for. A root that failed counts if it was there before, or may be."""
        carried = False
        for outcome, guess in self._failed:
            if guess and sentinel is not None and not self.lost_for_now(outcome.url):
                continue  # it moved, or never was
            if outcome.url in self._before:
                carried = True
                self._lose(outcome)
            elif outcome.transient:
                self._merger.lost(outcome.problem)
            else:
                self._merger.note(outcome.problem)
        inventory = self._merger.inventory()
        return InventoryReading(
            inventory=inventory,
            sentinel_url=sentinel or (stored_sentinel if carried else None),
            requests=self._requests,
            not_modified=bool(inventory.documents) and inventory.complete and not self._merger.fresh,
            not_before=self.not_before,
            carried=frozenset(self._merger.carried),
        )

    def lost_for_now(self, url: str) -> bool:
        """Whether a root that was there last time may well be there next time: no reason to look elsewhere."""
        return url in self._before and any(outcome.url == url and outcome.transient for outcome, _ in self._failed)

    async def _read(self, level: Sequence[str]) -> AsyncIterator[Outcome]:
        """The outcomes of a level in its order, a few documents at a time."""
        allowed = max(0, self._limits.sitemap_documents - self._documents)
        if len(level) > allowed:
            self._merger.lost(f"more than {self._limits.sitemap_documents} sitemap documents")
            for url in level[allowed:]:
                self._carry(url)
        for start in range(0, min(len(level), allowed), CONCURRENT):
            if self._allowance.spent:
                self._merger.lost(f"{self._allowance.spent}; {min(len(level), allowed) - start} not asked for")
                for url in level[start:allowed]:
                    self._carry(url)
                return
            batch = level[start : min(start + CONCURRENT, allowed)]
            came = deque(await asyncio.gather(*map(self._ask, batch)))
            while came:  # one document at a time is held parsed, and none longer than it is needed
                one = came.popleft()
                yield await parse(one, self._limits, self._now) if isinstance(one, Unread) else one

    async def _ask(self, url: str) -> Outcome | Unread:
        if self.not_before is not None:
            return Outcome(
                url=url, problem=f"{url}: not asked for, the server wants a pause", transient=True, requests=0
            )
        self._documents += 1
        if url in self._standing:
            return Outcome(url=url, state=self._before[url], requests=0)
        before = self._before.get(url)
        came = await ask(
            self._web,
            url,
            before,
            limits=self._limits,
            now=self._now,
            allowance=self._allowance,
            may_visit=self._may_visit,
            seen=self._seen,
        )
        self._requests += came.requests
        if isinstance(came, Outcome) and came.not_before is not None:
            self.not_before = max(filter(None, (self.not_before, came.not_before)))
        return came

    def _children(self, state: DocumentState) -> list[str]:
        """The child sitemaps that may be asked for: on the site, or on the host that serves their index."""
        wanted: list[str] = []
        before = dict(self._before[state.url].children) if self.skips and state.url in self._before else {}
        for url, lastmod in state.children:
            if url in self._seen:
                continue
            self._seen.add(url)
            if lastmod and lastmod == before.get(url) and stands(self._before.get(url), lastmod, self._now):
                self._standing.add(url)
            if urls.same_site(self._base_url, url) or urls.host_of(url) == urls.host_of(state.final_url):
                wanted.append(url)
            else:
                self._merger.lost(f"{url}: a child sitemap on another host")
        return wanted

    def _lose(self, outcome: Outcome) -> None:
        self._merger.lost(outcome.problem)
        self._carry(outcome.url)

    def _carry(self, url: str) -> None:
        """Keep what a document, and those below it, said last time."""
        state = self._before.get(url)
        if state is None or (state.fetched is not None and self._now - state.fetched > FORGET):
            return
        self._merger.carry(state)
        for child, _ in state.children:
            if child not in self._seen:
                self._seen.add(child)
                self._carry(child)
