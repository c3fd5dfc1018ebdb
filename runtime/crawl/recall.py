"""Which pages need not come again: remembered, asked for under a condition, or fetched anew. Pure.

A lastmod that the site is believed about and that has not moved spares the request. An equal validator spares the body;
a different one proves nothing, since some hosts renew all of them with every deploy. What is past its age is fetched
without a condition, so that neither a frozen lastmod nor a wrong 304 hides a change for longer than that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from runtime.reading import PageMemory
from runtime.sitemap.lastmod import differs


class Plan(Enum):
    FETCH = "fetch"
    REVALIDATE = "revalidate"
    REUSE = "reuse"


@dataclass(frozen=True, slots=True)
class Recall:
    """The memory of a site, and how far it may be relied on in this run.

    :param lastmods: page URL -> lastmod of the inventory just read.
    :param touched: pages whose lastmod moved, or names a day that was not over.
    :param lastmods_believed: an unmoved lastmod spares the request.
    :param validators_believed: a 304 spares the body.
    :param resumed_since: pages read at or after this `stamp` were read by an earlier part of this very run.
    """

    memory: Mapping[str, PageMemory] = field(default_factory=dict)
    lastmods: Mapping[str, str | None] = field(default_factory=dict)
    touched: frozenset[str] = frozenset()
    lastmods_believed: bool = False
    validators_believed: bool = False
    resumed_since: str | None = None

    @property
    def full(self) -> bool:
        """Whether every page is fetched; what is remembered then only shows whether the site told the truth."""
        return not (self.lastmods_believed or self.validators_believed or self.resumed_since)

    def plan(self, url: str) -> Plan:
        """How to ask for a page."""
        known = self.memory.get(url)
        if known is None:
            return Plan.FETCH
        if self.resumed_since is not None and known.read_at >= self.resumed_since:
            return Plan.REUSE
        lastmod = self.lastmods.get(url)
        unmoved = lastmod is not None and known.lastmod is not None and not differs(known.lastmod, lastmod)
        if self.lastmods_believed and unmoved and url not in self.touched:
            return Plan.REUSE
        if self.validators_believed and known.validators:
            return Plan.REVALIDATE
        return Plan.FETCH
