"""What may replace a good file: both sides of every rule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.document.guard import HeldMemory, Hold, Publish, guard
from runtime.document.model import Document
from runtime.document.parse import parse
from runtime.reading import TRANSIENT_LEFT, CrawlResult, Left, LeftOut, Page
from tests.runtime.document.pages import BASE, HOME, document_of, hostile_pages, page, rendered

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def site(count: int, *, title: str = "Acme") -> list[Page]:
    return [
        page("/", title, "We make widgets."),
        *(page(f"/p{n}", f"Page {n}", f"About {n}.") for n in range(1, count)),
    ]


def crawl_of(
    pages: Sequence[Page],
    left: Sequence[LeftOut] = (),
    *,
    home: str | None = HOME,
    complete: bool = True,
    problem: str = "",
) -> CrawlResult:
    return CrawlResult(pages=tuple(pages), left_out=tuple(left), home=home, complete=complete, problem=problem)


def left_out(reason: Left, count: int) -> list[LeftOut]:
    return [LeftOut(f"{BASE}/left{n}", reason) for n in range(count)]


def judge(
    before: Document | None,
    pages: Sequence[Page],
    crawl: CrawlResult | None = None,
    *,
    memory: HeldMemory | None = None,
    confirmed: HeldMemory | None = None,
    now: datetime = NOW,
    still_wanted: int | None = None,
    public_only: bool = False,
) -> Publish | Hold:
    crawl = crawl or crawl_of(pages)
    new = document_of(pages, home=crawl.home)
    return guard(
        previous=before,
        new=new,
        rendered=rendered(new),
        crawl=crawl,
        held_before=memory,
        confirmed=confirmed,
        now=now,
        still_wanted=still_wanted,
        public_only=public_only,
    )


GOOD = document_of(site(20))


def test_an_honest_edit_is_published() -> None:
    """A page more, another less, a new title: the reason says what changed."""
    verdict = judge(GOOD, [*site(19), page("/new", "New")])

    assert verdict == Publish("1 page added (New); 1 page removed (Page 19)")


def test_the_first_file_is_published() -> None:
    """With nothing to protect, a complete crawl is enough."""
    assert judge(None, site(3)) == Publish("the first file of the site, with 3 pages")


@pytest.mark.parametrize("before", [None, GOOD])
@pytest.mark.parametrize("reason", [Left.UNREACHABLE, Left.ROBOTS, Left.NEEDS_RENDERING, Left.OFF_SITE])
def test_d1_f47_nothing_empty_is_ever_published(before: Document | None, reason: Left) -> None:
    """Site down, shut out by robots.txt, empty shells, moved to another domain: held, however often it is repeated."""
    memory: HeldMemory | None = None
    for day in range(10):
        crawl, now = crawl_of([], left_out(reason, 30), home=None), NOW + timedelta(days=day)
        verdict = judge(before, [], crawl, memory=memory, confirmed=memory, now=now)
        assert isinstance(verdict, Hold)
        memory = verdict.memory

    assert "found no page" in verdict.reason
    assert str(reason) in verdict.reason


def test_p2_a_collapse_is_held_until_three_equal_crawls_over_a_day() -> None:
    """12 of 120 pages: held, held, published with the reason once the third crawl of 24 hours says the same."""
    before, small = document_of(site(120)), site(12)
    first = judge(before, small)
    assert isinstance(first, Hold)
    assert first.reason.startswith("held: the new file lists 12 pages, the published one 120; result 1 of 3")
    second = judge(before, small, memory=first.memory, now=NOW + timedelta(hours=12))
    assert isinstance(second, Hold)
    third = judge(before, small, memory=second.memory, now=NOW + timedelta(hours=24))

    assert isinstance(third, Publish)
    assert third.reason.startswith("3 crawls over 24 hours gave the same result")


def test_three_equal_crawls_within_a_day_are_not_enough() -> None:
    """Three results in six hours may have one cause."""
    before, memory = document_of(site(120)), None
    for hour in (0, 3, 6):
        verdict = judge(before, site(12), memory=memory, now=NOW + timedelta(hours=hour))
        assert isinstance(verdict, Hold)
        memory = verdict.memory


def test_a_crawl_within_minutes_of_the_last_does_not_count() -> None:
    """A burst of webhooks gives no independent results; a clock that ran back gives none either."""
    before = document_of(site(120))
    first = judge(before, site(12))
    assert isinstance(first, Hold)
    for minutes in (0, 5, -600):
        again = judge(before, site(12), memory=first.memory, now=NOW + timedelta(minutes=minutes))
        assert isinstance(again, Hold)
        assert again.memory == first.memory


def test_another_result_starts_the_count_anew() -> None:
    """Results that differ in their pages confirm nothing."""
    before, memory = document_of(site(120)), None
    for day, count in enumerate((12, 13, 12, 14)):
        verdict = judge(before, site(count), memory=memory, now=NOW + timedelta(days=day))
        assert isinstance(verdict, Hold)
        memory = verdict.memory
        assert memory.times == 1


def test_descriptions_may_differ_between_equal_results() -> None:
    """The set of pages is what counts: a headline that changes every day does not hold a collapse for ever."""
    before, memory = document_of(site(120)), None
    for day in range(3):
        pages = [*site(11), page("/news", "News", f"Headline of day {day}.")]
        verdict = judge(before, pages, memory=memory, now=NOW + timedelta(days=day))
        memory = verdict.memory if isinstance(verdict, Hold) else None

    assert isinstance(verdict, Publish)


@pytest.mark.parametrize(("before", "after", "held"), [(20, 10, False), (20, 9, True), (10, 4, True), (9, 1, False)])
def test_the_threshold_is_half_of_ten_or_more(before: int, after: int, held: bool) -> None:
    """Half stays publishable; small files may change as they like."""
    assert isinstance(judge(document_of(site(before)), site(after)), Hold) is held


def test_f49_bytes_that_fall_below_half_are_a_collapse() -> None:
    """As many pages as before, but without their descriptions."""
    long = [replace(p, description=f"{p.title} is described at length. " * 8) for p in site(20)]

    verdict = judge(document_of(long), site(20))

    assert isinstance(verdict, Hold)
    assert "bytes" in verdict.reason


def test_a_smaller_file_that_the_owner_asked_for_is_no_collapse() -> None:
    """After the owner changed max_pages or exclude, the guard counts the pages that are still wanted."""
    before = document_of(site(120))

    assert isinstance(judge(before, site(12), still_wanted=12), Publish)
    assert isinstance(judge(before, site(12), still_wanted=24), Publish)
    held = judge(before, site(12), still_wanted=119)
    assert isinstance(held, Hold)
    assert "the published one 120, of which 119 are still wanted" in held.reason
    assert isinstance(judge(before, site(1), still_wanted=9), Publish), "few pages may become fewer"


def test_shorter_texts_that_the_owner_asked_for_are_no_collapse() -> None:
    """After the owner changed desc_length, the guard does not argue about bytes."""
    long = [replace(p, description=f"{p.title} is described at length. " * 8) for p in site(20)]

    assert isinstance(judge(document_of(long), site(20), still_wanted=21), Publish)


def test_a_collapse_to_a_root_of_section_files_is_measured_in_pages() -> None:
    """The published root lists few links, and many pages: it is those that count."""
    pages = [page(f"/s/{n}", f"Page {n}", f"Number {n}. " + "A long description of it. " * 9) for n in range(900)]
    root = parse(rendered(document_of(pages)).text)

    assert isinstance(judge(root, pages), Publish)
    assert isinstance(judge(root, site(30)), Hold)


def test_f49_a_file_of_more_than_five_megabytes_needs_an_operator() -> None:
    """No number of equal results publishes it; a confirmation does."""
    pages = [Page(url=f"{BASE}/s{n % 30}/{'x' * 700}{n}", title=f"Page {n}") for n in range(7_500)]
    new, crawl = document_of(pages, home=None), crawl_of(pages, home=None)
    made = rendered(new)
    memory: HeldMemory | None = None
    for day in range(4):
        verdict = guard(
            previous=GOOD, new=new, rendered=made, crawl=crawl, held_before=memory, now=NOW + timedelta(days=day)
        )
        assert isinstance(verdict, Hold)
        memory = verdict.memory
    assert memory is not None
    later = NOW + timedelta(days=9)
    known: dict[str, Any] = {"previous": GOOD, "new": new, "rendered": made, "crawl": crawl, "now": later}

    assert isinstance(guard(**known, held_before=memory, confirmed=memory), Publish)


def test_f31_a_partial_crawl_never_shrinks_the_file() -> None:
    """The crawl ended early and pages are missing: held as often as it happens, until an operator confirms."""
    crawl = crawl_of(site(15), complete=False, problem="the crawl ran out of time")
    memory: HeldMemory | None = None
    for day in range(6):
        verdict = judge(GOOD, site(15), crawl, memory=memory, now=NOW + timedelta(days=day))
        assert isinstance(verdict, Hold)
        memory = verdict.memory

    assert verdict.reason == (
        "held: the crawl ran out of time, and 5 pages would disappear; an operator can confirm it"
    )
    assert memory is not None
    assert isinstance(judge(GOOD, site(15), crawl, memory=memory, confirmed=memory), Publish)


def test_a_partial_crawl_that_only_adds_is_published_when_it_repeats() -> None:
    """A site too large for its time still gets its new pages, one confirmation later."""
    pages = site(25)
    first = judge(GOOD, pages, crawl_of(pages, complete=False))
    assert isinstance(first, Hold)

    assert isinstance(
        judge(GOOD, pages, crawl_of(pages, complete=False), memory=first.memory, now=NOW + timedelta(hours=6)), Publish
    )


def test_a_page_that_said_goodbye_may_leave_in_a_partial_crawl() -> None:
    """A 410 or a noindex that was seen is evidence, however early the crawl ended."""
    pages = site(19)
    crawl = crawl_of(pages, [LeftOut(f"{BASE}/p19", Left.NOINDEX)], complete=False)
    first = judge(GOOD, pages, crawl)
    assert isinstance(first, Hold)

    assert isinstance(judge(GOOD, pages, crawl, memory=first.memory, now=NOW + timedelta(hours=6)), Publish)


@pytest.mark.parametrize("reason", sorted(TRANSIENT_LEFT))
def test_many_errors_make_a_crawl_partial(reason: Left) -> None:
    """More than a fifth of the pages failing for the moment: nothing may disappear."""
    assert isinstance(judge(GOOD, site(16), crawl_of(site(16), left_out(reason, 5))), Hold)
    assert isinstance(judge(GOOD, site(17), crawl_of(site(17), left_out(reason, 3))), Publish)


def test_a_failing_home_page_makes_a_crawl_partial() -> None:
    """One error is enough if it is the entry page's."""
    pages = site(20)[1:]
    crawl = crawl_of(pages, [LeftOut(HOME, Left.HTTP_ERROR, "503")], home=None)

    assert isinstance(judge(GOOD, pages, crawl), Hold)


@pytest.mark.parametrize(("home", "published"), [(HOME, True), (None, False)])
def test_a_first_file_may_be_partial_if_it_has_a_home_page(home: str | None, published: bool) -> None:
    """Better a part of the site than nothing, as long as it says what site it is."""
    verdict = judge(None, site(4), crawl_of(site(4), complete=False, home=home))

    assert isinstance(verdict, Publish) is published


@pytest.mark.parametrize("before", [None, GOOD])
@pytest.mark.parametrize("reason", [Left.BLOCKED, Left.NEEDS_RENDERING, Left.FORBIDDEN])
def test_p1_u16_block_pages_and_shells_never_count_as_the_site(before: Document | None, reason: Left) -> None:
    """Mostly blocked, or mostly empty without scripts: no number of equal results publishes it."""
    pages = site(2)
    memory: HeldMemory | None = None
    for day in range(5):
        verdict = judge(
            before, pages, crawl_of(pages, left_out(reason, 20)), memory=memory, now=NOW + timedelta(days=day)
        )
        assert isinstance(verdict, Hold)
        assert verdict.memory.concern == "not_the_site"
        memory = verdict.memory


@pytest.mark.parametrize(
    "title",
    [
        "Just a moment...", "Attention Required! | Cloudflare", "403 Forbidden", "Access denied",
        "Buy this domain: example.com is for sale", "This domain is parked", "Welcome to nginx!", "Apache2 Debian Default Page: It works",
        "502 Bad Gateway", "Account Suspended", "Site under maintenance", "Sign in", "Are you a robot?",
    ],
)  # fmt: skip
def test_a_parked_or_blocked_site_is_recognised_by_its_title(title: str) -> None:
    """Such a page with status 200 is not the site, for a first file and for a later one."""
    assert isinstance(judge(None, site(1, title=title)), Hold)
    assert isinstance(judge(document_of(site(5)), site(1, title=title)), Hold)


def test_a_real_site_may_have_such_a_page() -> None:
    """Documentation of errors and logins is documentation."""
    pages = [
        *site(8),
        page("/errors/403", "403 Forbidden"),
        page("/login", "Sign in"),
        page("/denied", "Access denied"),
    ]

    assert isinstance(judge(None, pages), Publish)


def test_an_invalid_file_is_never_published() -> None:
    """Whatever wrote it, and whoever confirms it."""
    new = document_of(site(3))
    broken = replace(rendered(new), text="# Acme\n\n## Main\n\nProse.\n")
    crawl = crawl_of(site(3))
    held = guard(previous=None, new=new, rendered=broken, crawl=crawl, held_before=None, now=NOW)
    assert isinstance(held, Hold)
    assert "breaks rule" in held.reason
    known: dict[str, Any] = {"previous": None, "new": new, "rendered": broken, "crawl": crawl, "now": NOW}

    assert isinstance(guard(**known, held_before=held.memory, confirmed=held.memory), Hold)


def test_u15_private_links_are_held_where_the_operator_wants_it() -> None:
    """`http://localhost:3000` in every link is somebody's build machine."""
    pages = [Page(url="http://localhost:3000/", title="Acme")]

    assert isinstance(judge(None, pages, crawl_of(pages, home=pages[0].url)), Publish)
    assert isinstance(judge(None, pages, crawl_of(pages, home=pages[0].url), public_only=True), Hold)


def test_a_confirmation_holds_for_what_was_confirmed() -> None:
    """The same kind of result with about as many pages; not for a worse one, and not for another doubt."""
    before = document_of(site(120))
    held = judge(before, site(40))
    assert isinstance(held, Hold)
    known: dict[str, Any] = {"memory": held.memory, "confirmed": held.memory}

    assert isinstance(judge(before, site(39), **known), Publish)
    assert isinstance(judge(before, site(12), **known), Hold)
    crawl = crawl_of(site(40), complete=False)
    assert isinstance(judge(before, site(40), crawl, **known), Hold)
    assert isinstance(judge(before, site(39), confirmed=held.memory), Hold), "what is not held needs no confirmation"


def test_a_memory_is_json() -> None:
    """It survives a round through JSON; one with an unreadable time confirms nothing."""
    held = judge(document_of(site(120)), site(12))
    assert isinstance(held, Hold)
    assert HeldMemory(**json.loads(json.dumps(asdict(held.memory)))) == held.memory
    spoiled = replace(held.memory, last_at="yesterday", times=9)

    assert isinstance(judge(document_of(site(120)), site(12), memory=spoiled), Hold)


crawls = st.builds(
    CrawlResult,
    pages=hostile_pages.map(tuple),
    left_out=st.lists(
        st.builds(LeftOut, url=st.sampled_from([f"{BASE}/l{n}" for n in range(9)]), reason=st.sampled_from(Left))
    ).map(tuple),
    home=st.none() | st.just(HOME),
    complete=st.booleans(),
)


@given(crawl=crawls, fresh=st.booleans())
def test_whatever_is_published_lists_pages_and_keeps_the_promises(crawl: CrawlResult, fresh: bool) -> None:
    """For any crawl: published means pages, a complete or first crawl, and not a collapse."""
    verdict = judge(None if fresh else GOOD, crawl.pages, crawl)
    listed = len(list(document_of(crawl.pages, home=crawl.home).links()))

    if isinstance(verdict, Publish):
        assert listed > 0
        assert crawl.complete or (fresh and crawl.home)
        assert fresh or listed * 2 >= 20
