"""Listed pages leave by discipline: what is gone goes, what merely failed today stays as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from runtime.reading import TRANSIENT_LEFT, CrawlResult, Left, LeftOut, Page

MISSES = 3
"""How often in a row a page must be missing before it leaves: short spells of 404 under load look like removals."""

_MISSING = frozenset({Left.NOT_FOUND, Left.SOFT_404, Left.EMPTY, Left.FORBIDDEN, Left.NEEDS_RENDERING, Left.DUPLICATE})


def carry_over(
    previous_pages: Sequence[Page], crawl: CrawlResult, misses: Mapping[str, int]
) -> tuple[tuple[Page, ...], dict[str, int]]:
    """The pages to list after a crawl, in URL order, and how often each of the carried ones was missing in a row.

    A page of the last file that this crawl did not give

    - stays, if it failed for the moment (429, 5xx, no answer, cut off, a bot wall) or was not reached by an incomplete
      crawl;
    - stays for two more crawls, if it was not found or is forbidden, or if nothing mentions it but a page that could
      have failed too;
    - leaves at once otherwise: 410, noindex, robots.txt, login, excluded, another canonical URL, moved, or a complete
      and faultless crawl in which nothing mentions it any more.

    Where a moved page's new entry has no description, the old one's is kept. A crawl without any page carries nothing
    over: it says nothing about the site, and the guard must see that.
    """
    if not crawl.pages:
        return (), dict(misses)
    found = {page.url: page for page in crawl.pages}
    left = {item.url: item for item in crawl.left_out}
    faultless = crawl.complete and not crawl.left(TRANSIENT_LEFT)
    carried: dict[str, Page] = {}
    counts: dict[str, int] = {}
    for page in previous_pages:
        if page.url in found:
            continue
        reason = left.get(page.url)
        if reason is not None and reason.reason is Left.LIMIT and not crawl.complete:
            reason = None  # it was queued when the crawl ended early: not reached, not cut by max_pages
        count = misses.get(page.url, 0) + _missed(reason, complete=crawl.complete, faultless=faultless)
        if count < MISSES and _may_stay(reason, faultless=faultless):
            carried[page.url] = page
            if count:
                counts[page.url] = count
        elif reason is not None and reason.reason is Left.REDIRECT:
            _pass_on(page, reason, found)
    listed = _within_limit(found, carried, previous_pages, crawl)
    return tuple(sorted([*listed, *carried.values()], key=lambda page: page.url)), counts


def _may_stay(left: LeftOut | None, *, faultless: bool) -> bool:
    if left is None:
        return not faultless
    return left.reason in TRANSIENT_LEFT or left.reason in _MISSING


def _missed(left: LeftOut | None, *, complete: bool, faultless: bool) -> int:
    """1 if this crawl counts against the page. Not being reached, or failing for the moment, does not."""
    if left is None:
        return int(complete and not faultless)
    return int(left.reason in _MISSING)


def _pass_on(page: Page, moved: LeftOut, found: dict[str, Page]) -> None:
    """Give an old description to the page that took the place of another; `detail` of a redirect is its target."""
    target = found.get(moved.detail)
    if target is not None and page.description and not target.description:
        found[target.url] = replace(target, description=page.description)


def _within_limit(
    found: Mapping[str, Page], carried: Mapping[str, Page], previous: Sequence[Page], crawl: CrawlResult
) -> list[Page]:
    """The crawl's pages, less the newcomers that only filled the places of carried ones.

    When `max_pages` cuts, a page that fails lets the next in line in; listing both today and one tomorrow would be two
    changes of a site that did not change.
    """
    pages = list(found.values())
    if not crawl.complete or not crawl.left({Left.LIMIT}):
        return pages
    known = {page.url for page in previous}
    newcomers = sorted(url for url in found if url not in known)
    surplus = set(newcomers[max(0, len(newcomers) - len(carried)) :])
    return [page for page in pages if page.url not in surplus]
