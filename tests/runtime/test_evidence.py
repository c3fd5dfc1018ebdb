"""What a run tells the schedule: whether the sitemap named what changed, and how many changes its dates tell apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runtime.document.changes import ChangeRecord, Entry, Reworded
from runtime.evidence import dated_changes, dated_past, evidence, newest_change, unlisted
from runtime.judgement import Survey, says_changed
from runtime.models import Claim, Outcome, Site, SiteOptions
from runtime.reading import CrawlResult, Inventory, Page
from runtime.state import SiteState
from runtime.verdicts import Changed, Unchanged, Unknown, Verdict

NOW = datetime(2026, 6, 10, tzinfo=UTC)
LAST = NOW - timedelta(days=7)
A, B, HOME = "https://x.example/a", "https://x.example/b", "https://x.example/"


def reworded(*urls: str) -> ChangeRecord:
    return ChangeRecord(retitled=tuple(Reworded(url, "new", "old") for url in urls))


def seen(verdict: Verdict, record: ChangeRecord, **more: Any) -> Survey:
    given: dict[str, Any] = {
        "outcome": Outcome.UPDATED,
        "reason": "",
        "state": SiteState(),
        "sitemap_says_changed": says_changed(verdict, Inventory(), Inventory()),
        "asked_for_all": True,
        "crawl": CrawlResult(),
        **more,
    }
    return Survey(verdict=verdict, changes=record, **given)


@pytest.mark.parametrize(
    ("verdict", "record", "hidden"),
    [
        (Changed(touched=(A,)), reworded(A), False),
        (Changed(touched=(A,)), reworded(A, B), True),
        (Changed(added=(B,)), ChangeRecord(added=(Entry(B, "b", "s"),)), False),
        (Changed(removed=(B,)), ChangeRecord(removed=(Entry(B, "b", "s"),)), False),
        (Changed(added=(B,)), ChangeRecord(added=(Entry(B, "b", "s"),), removed=(Entry(A, "a", "s"),)), True),
        (Unchanged("still"), reworded(A), True),
        (Unknown("no dates"), reworded(A), None),
    ],
)
def test_a_change_is_hidden_that_the_sitemap_does_not_name(
    verdict: Verdict, record: ChangeRecord, hidden: bool | None
) -> None:
    """A sitemap that names another page has still hidden this one; one without an answer hides nothing."""
    assert unlisted(seen(verdict, record)) is hidden


def test_nothing_is_said_of_pages_that_were_not_asked_for() -> None:
    """A crawl that trusted unmoved lastmods cannot know what they hide."""
    assert unlisted(seen(Changed(touched=(A,)), reworded(A, B), asked_for_all=False)) is None


def test_a_page_listed_by_its_markdown_twin_is_the_page_that_the_sitemap_names() -> None:
    """The file links the twin; the sitemap has the page."""
    twin = f"{A}.md"
    page = Page(url=A, title="a", description="", twin=twin)

    assert unlisted(seen(Changed(touched=(A,)), reworded(twin), state=SiteState(pages=(page,)))) is False


def days_ago(days: float) -> str:
    return (NOW - timedelta(days=days)).isoformat()


@pytest.mark.parametrize(
    ("verdict", "dates", "count"),
    [
        (Changed(added=(A,)), {A: days_ago(2)}, 1),
        (Changed(added=(A, B)), {A: days_ago(2), B: days_ago(1)}, 2),
        (Changed(added=(A, B)), {A: days_ago(2), B: days_ago(2.001)}, 1),
        (Changed(added=(A, B), touched=(HOME,)), {A: days_ago(2), B: days_ago(1), HOME: days_ago(1)}, 2),
        (Changed(added=(A,), touched=(B,)), {A: days_ago(2), B: days_ago(1)}, None),
        (Changed(touched=(B,)), {B: days_ago(1)}, None),
        (Changed(added=(A,), removed=(B,)), {A: days_ago(2)}, None),
        (Changed(added=(A,)), {A: "2026-06-08"}, None),
        (Changed(added=(A,)), {A: days_ago(8)}, None),
        (Changed(added=(A, B)), {A: days_ago(2), B: None}, None),
        (Unknown("first"), {A: days_ago(2)}, None),
    ],
)
def test_only_new_pages_with_exact_dates_are_counted(
    verdict: Verdict, dates: dict[str, str | None], count: int | None
) -> None:
    """An edited page shows its last edit alone, and a day holds any number of edits: neither is a count."""
    state = SiteState(inventory=Inventory(entries=dates, complete=True))

    assert dated_changes(seen(verdict, ChangeRecord(), state=state), LAST, NOW) == count


def test_dates_that_lie_count_nothing() -> None:
    """A generator that stamps every build tells nothing apart."""
    state = SiteState(inventory=Inventory(entries={A: days_ago(1)}, complete=True), trust={"kind": "every_build"})

    assert dated_changes(seen(Changed(added=(A,)), ChangeRecord(), state=state), LAST, NOW) is None


def test_the_first_sight_of_a_sitemap_says_changed() -> None:
    """It has an answer from now on; a reading that was incomplete, or lost its memory, has none."""
    first, listed = Unknown("there is no earlier reading to compare with"), Inventory(entries={A: None}, complete=True)

    assert says_changed(first, None, listed) is True
    assert says_changed(first, None, Inventory(entries={A: None}, complete=False)) is None
    assert says_changed(first, None, Inventory(complete=True)) is None
    assert says_changed(Unknown("dates are missing"), listed, listed) is None


def test_a_run_without_a_change_tells_no_counts() -> None:
    """Held, failed or unchanged: what differs was not published, and is told when it is."""
    site = Site(id="1", base_url=HOME, options=SiteOptions())
    claim = Claim(site=site, generation=1, lease_owner="w", lease_until=NOW, claimed_at=NOW, forced=True)
    told = evidence(claim, seen(Changed(touched=(A,)), reworded(A), outcome=Outcome.HELD), NOW)

    assert told == {
        "announced": True, "sitemap_says_changed": True, "read": True, "unlisted": None, "changes": None, "newest": None,
        "pages_changed": 0, "past": None,
    }  # fmt: skip


def listed(dates: dict[str, str | None], **more: Any) -> Survey:
    state = SiteState(inventory=Inventory(entries=dates, complete=True), **more)
    return seen(Unknown("there is no earlier reading"), ChangeRecord(), state=state)


def posts(days: list[float]) -> dict[str, str | None]:
    return {f"{HOME}{number}": days_ago(age) for number, age in enumerate(days)}


def test_the_first_look_reads_the_past_from_the_dates() -> None:
    """Forty pages, four of them changed in the last month on different days: four changes, and the half year before."""
    past = dated_past(listed(posts([1, 8, 15, 22, *range(200, 236)])), NOW)

    assert past is not None
    assert past.told == pytest.approx(4, rel=0.1)
    assert past.quiet > 100 * 1_440


@pytest.mark.parametrize(
    "dates",
    [
        {},
        posts([3] * 20),
        posts([0] * 20),
        posts([3, 5, 9, 40]) | dict.fromkeys(map(str, range(4))),
        {url: text and text[:4] for url, text in posts([3, 500, 900, 1_400]).items()},
    ],
)
def test_dates_that_do_not_tell_pages_apart_tell_no_past(dates: dict[str, str | None]) -> None:
    """None at all, all of one day, all of the request, half of them missing, or years alone."""
    assert dated_past(listed(dates), NOW) is None


def test_dates_known_to_lie_tell_no_past() -> None:
    """A generator that stamps every build."""
    assert dated_past(listed(posts([3, 5, 9, 40]), trust={"kind": "every_build"}), NOW) is None


def test_a_past_is_read_once_and_only_by_a_policy_that_learns() -> None:
    """A site whose schedule has looked before, and one on a fixed interval, are not asked."""
    options = SiteOptions()
    site = Site(id="1", base_url=HOME, options=options)
    known = Site(id="1", base_url=HOME, options=options, schedule={"looked_at": 1.7e9})
    result = listed(posts([1, 8, 15, *range(200, 236)]))

    def told(of: Site, *, learns: bool) -> object:
        claim = Claim(site=of, generation=1, lease_owner="w", lease_until=NOW, claimed_at=NOW, forced=False)
        return evidence(claim, result, NOW, learns=learns)["past"]

    assert told(site, learns=True) is not None
    assert told(known, learns=True) is None
    assert told(site, learns=False) is None


@pytest.mark.parametrize(
    ("verdict", "dates", "days"),
    [
        (Changed(touched=(A,)), {A: days_ago(2)}, 2.0),
        (Changed(touched=(A, B)), {A: days_ago(2), B: days_ago(5)}, 2.0),
        (Changed(added=(A,), touched=(B,)), {A: days_ago(3), B: days_ago(1)}, 1.0),
        (Changed(touched=(A,)), {A: days_ago(-0.5)}, 0.0),
        (Changed(touched=(A,)), {A: "2026-06-08"}, 1.5),
        (Changed(touched=(A,)), {A: "2026-06"}, None),
        (Changed(touched=(A,)), {A: days_ago(8)}, None),
        (Changed(touched=(A, B)), {A: days_ago(2), B: None}, None),
        (Changed(touched=(A,), removed=(B,)), {A: days_ago(2)}, None),
        (Changed(reason="a large sitemap changed"), {A: days_ago(2)}, None),
        (Unknown("first"), {A: days_ago(2)}, None),
    ],
)
def test_the_newest_date_says_when_the_site_changed_last(
    verdict: Verdict, dates: dict[str, str | None], days: float | None
) -> None:
    """By the pages that moved since the last look; not where one of them does not say, or only which month."""
    state = SiteState(inventory=Inventory(entries=dates, complete=True))
    age = newest_change(seen(verdict, ChangeRecord(), state=state), LAST, NOW)

    assert age == (None if days is None else pytest.approx(days * 1_440))


def test_the_newest_date_of_a_sitemap_that_lies_says_nothing() -> None:
    """A generator that stamps every build, and one that was never looked at before."""
    inventory = Inventory(entries={A: days_ago(1)}, complete=True)
    moved = Changed(touched=(A,))
    lying = seen(moved, ChangeRecord(), state=SiteState(inventory=inventory, trust={"kind": "every_build"}))

    assert newest_change(lying, LAST, NOW) is None
    assert newest_change(seen(moved, ChangeRecord(), state=SiteState(inventory=inventory)), None, NOW) is None
