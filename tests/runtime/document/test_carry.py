"""How listed pages leave, and how they stay."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.document.carry import MISSES, carry_over
from runtime.reading import TRANSIENT_LEFT, CrawlResult, Left, LeftOut, Page
from tests.runtime.document.pages import BASE, page

A, B, C, D = page("/a", "A", "About A."), page("/b", "B"), page("/c", "C"), page("/d", "D")


def crawl(pages: Sequence[Page], *left: tuple[Page, Left, str], complete: bool = True) -> CrawlResult:
    out = tuple(LeftOut(gone.url, reason, detail) for gone, reason, detail in left)
    return CrawlResult(pages=tuple(pages), left_out=out, complete=complete)


def titles(pages: Sequence[Page]) -> list[str]:
    return [listed.title for listed in pages]


@pytest.mark.parametrize(
    "reason",
    [
        Left.GONE,
        Left.NOINDEX,
        Left.ROBOTS,
        Left.LOGIN,
        Left.EXCLUDED,
        Left.CANONICAL,
        Left.REDIRECT,
        Left.LIMIT,
        Left.REFUSED,
    ],
)
def test_u9_what_is_gone_leaves_at_once(reason: Left) -> None:
    """410, noindex, robots.txt, a login, an owner's exclude: the next file is without the page."""
    pages, misses = carry_over([A, B], crawl([A], (B, reason, "")), {B.url: 1})

    assert titles(pages) == ["A"]
    assert misses == {}


@pytest.mark.parametrize("reason", [Left.NOT_FOUND, Left.SOFT_404, Left.EMPTY, Left.FORBIDDEN])
def test_p4_a_404_leaves_at_the_third_miss(reason: Left) -> None:
    """Short spells of 404 under load look like removals; three crawls in a row do not."""
    listed: Sequence[Page] = [A, B]
    misses: dict[str, int] = {}
    seen = []
    for _ in range(MISSES):
        listed, misses = carry_over(listed, crawl([A], (B, reason, "")), misses)
        seen.append(titles(listed))

    assert seen == [["A", "B"], ["A", "B"], ["A"]]
    assert misses == {}


def test_a_page_that_comes_back_is_forgiven() -> None:
    """The count starts anew."""
    _, misses = carry_over([A, B], crawl([A], (B, Left.NOT_FOUND, "")), {B.url: 1})
    assert misses == {B.url: 2}
    _, misses = carry_over([A, B], crawl([A, B]), misses)

    assert misses == {}


@pytest.mark.parametrize("reason", sorted(TRANSIENT_LEFT))
def test_d4_a_page_that_fails_for_the_moment_keeps_its_entry(reason: Left) -> None:
    """As often as it happens: noise does not change the file."""
    listed: Sequence[Page] = [A, B]
    misses: dict[str, int] = {}
    for _ in range(10):
        listed, misses = carry_over(listed, crawl([A], (B, reason, "")), misses)

    assert listed == (A, B)
    assert misses == {}


def test_c3_what_nothing_mentions_any_more_leaves() -> None:
    """A complete crawl without faults that never met the page is proof enough."""
    assert titles(carry_over([A, B], crawl([A]), {})[0]) == ["A"]


def test_m2_what_nothing_mentions_stays_while_the_page_that_did_may_have_failed() -> None:
    """The hub answered 503, so its children were not met: they count as missed, and leave at the third time."""
    listed: Sequence[Page] = [A, B, C]
    misses: dict[str, int] = {}
    seen = []
    for _ in range(3):
        listed, misses = carry_over(listed, crawl([A], (B, Left.HTTP_ERROR, "503")), misses)
        seen.append(titles(listed))

    assert seen == [["A", "B", "C"], ["A", "B", "C"], ["A", "B"]]


def test_p8_what_an_incomplete_crawl_did_not_reach_stays() -> None:
    """Pages still in the queue when the time was up are neither gone nor missed."""
    left = [(B, Left.LIMIT, "the crawl ran out of time")]

    assert carry_over([A, B, C], crawl([A], *left, complete=False), {})[0] == (A, B, C)


def test_a_moved_page_hands_its_description_on() -> None:
    """301 or 308: the new URL takes the place, with the old description if it has none of its own."""
    pages, _ = carry_over([A, B], crawl([B, C], (A, Left.REDIRECT, C.url)), {})

    assert [(listed.url, listed.description) for listed in pages] == [(B.url, ""), (C.url, "About A.")]


def test_a_new_description_is_not_overwritten() -> None:
    """The new page knows better."""
    target = page("/c", "C", "About C.")
    pages, _ = carry_over([A], crawl([target], (A, Left.REDIRECT, target.url)), {})

    assert pages == (target,)


def test_a_crawl_without_pages_carries_nothing() -> None:
    """An outage must look like one: the guard sees an empty result and keeps the file."""
    assert carry_over([A, B], crawl([], (A, Left.UNREACHABLE, "timeout")), {B.url: 2}) == ((), {B.url: 2})


def test_a_page_that_filled_a_carried_ones_place_waits() -> None:
    """max_pages 2 of A, B, C: B fails, C moves up; listing three today and two tomorrow would be two changes."""
    pages, _ = carry_over([A, B], crawl([A, C], (B, Left.HTTP_ERROR, "500"), (D, Left.LIMIT, "max_pages is 2")), {})

    assert pages == (A, B)


def test_newcomers_are_welcome_where_nothing_was_cut() -> None:
    """Without a limit in force a new page is listed beside the carried one."""
    assert carry_over([A, B], crawl([A, C], (B, Left.HTTP_ERROR, "500")), {})[0] == (A, B, C)


urls = [f"{BASE}/{name}" for name in "abcdef"]
some_pages = st.lists(st.sampled_from(urls), unique=True).map(lambda found: [Page(url=url, title=url) for url in found])
crawls = st.builds(
    lambda pages, left, complete: CrawlResult(
        pages=tuple(pages),
        left_out=tuple(LeftOut(u, r) for u, r in left.items() if u not in {p.url for p in pages}),
        complete=complete,
    ),
    some_pages,
    st.dictionaries(st.sampled_from(urls), st.sampled_from(Left)),
    st.booleans(),
)


@given(previous=some_pages, result=crawls, misses=st.dictionaries(st.sampled_from(urls), st.integers(0, 5)))
def test_every_listed_page_is_found_or_was_known(
    previous: list[Page], result: CrawlResult, misses: dict[str, int]
) -> None:
    """Nothing is invented or listed twice, the order is that of the URLs, and only carried pages have counts."""
    pages, counts = carry_over(previous, result, misses)
    listed = [found.url for found in pages]

    assert listed == sorted(set(listed))
    assert set(listed) <= {p.url for p in result.pages} | {p.url for p in previous}
    assert set(counts) <= set(listed) - {p.url for p in result.pages} or not result.pages
    assert {p.url for p in result.pages} & {p.url for p in previous} <= set(listed)
