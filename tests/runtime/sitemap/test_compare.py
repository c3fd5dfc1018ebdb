"""The verdict: is the site different from last time?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.reading import DocumentState, Inventory, Validators, stamp
from runtime.sitemap.compare import compare, compare_with_check_time
from runtime.sitemap.lastmod import LastmodTrust, newest
from runtime.verdicts import Changed, Unchanged, Unknown, Verdict

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
Entries = Mapping[str, str | None]


def inventory(entries: Entries, read_at: datetime = NOW - DAY, *, complete: bool = True) -> Inventory:
    """An inventory of one document, read at that time."""
    document = DocumentState(
        url="https://example.com/sitemap.xml",
        final_url="https://example.com/sitemap.xml",
        validators=Validators(),
        sha256="",
        kind="urlset",
        checked_at=stamp(read_at),
        members=(0, len(entries)),
    )
    return Inventory(entries, complete, (document,), () if complete else ("a child answers 503",))


def judge(
    before: Entries | Inventory | None,
    after: Entries | Inventory,
    trust: LastmodTrust | None = None,
    *,
    read_at: datetime = NOW - DAY,
) -> Verdict:
    previous = before if before is None or isinstance(before, Inventory) else inventory(before, read_at)
    current = after if isinstance(after, Inventory) else inventory(after, NOW)
    return compare(previous, current, trust or LastmodTrust(), NOW)


OLD, NEW = "2025-05-01T00:00:00Z", "2026-05-30T00:00:00Z"


def test_equal_inventories_with_dates_everywhere_are_unchanged() -> None:
    """The same URLs with the same lastmods, all dated: the one case that proves something."""
    assert isinstance(judge({"/a": OLD, "/b": NEW}, {"/b": NEW, "/a": OLD}), Unchanged)


def test_added_removed_and_touched_urls_are_known_by_name() -> None:
    """Old dates do not hide a page that came or went, and nothing hides behind the newest date."""
    verdict = judge(
        {"/a": OLD, "/gone": OLD, "/t": OLD, "/far": "2041-01-01"},
        {"/a": OLD, "/new": OLD, "/t": NEW, "/far": "2041-01-01"},
    )
    assert verdict == Changed(("/new",), ("/gone",), ("/t",), "1 added, 1 removed, 1 touched")


def test_one_url_removed_and_all_other_lastmods_equal_is_changed() -> None:
    """A maximum over lastmods cannot see a removal; the inventory does."""
    assert judge({"/a": NEW, "/b": OLD}, {"/a": NEW}) == Changed((), ("/b",), (), "1 removed")


def test_a_lastmod_is_compared_as_an_instant_whatever_its_zone() -> None:
    """The zone is converted, not dropped; another spelling of the same time is no change."""
    same = {"/a": "2026-01-01T10:00:00+09:00", "/b": "2026-01-01T01:00:00.000Z"}
    assert isinstance(judge({"/a": "2026-01-01T01:00:00Z", "/b": "2026-01-01T01:00:00+00:00"}, same), Unchanged)
    moved = {"/a": "2026-01-01T10:00:00-09:00", "/b": "2026-01-01T01:00:00Z"}
    assert isinstance(judge({"/a": "2026-01-01T10:00:00Z", "/b": "2026-01-01T01:00:00Z"}, moved), Changed)


def test_the_baseline_is_the_stored_inventory_not_the_time_of_the_last_change() -> None:
    """A lastmod that moved once is news once: the next check with the same sitemap is a skip."""
    bumped = {"/a": NEW, "/b": OLD}
    assert isinstance(judge({"/a": OLD, "/b": OLD}, bumped), Changed)
    assert isinstance(judge(bumped, bumped), Unchanged)


def test_zoned_unzoned_dated_and_broken_lastmods_are_compared_side_by_side() -> None:
    """One bad value among good ones neither raises nor hides a change."""
    mixed = {"/a": "2024-05-01", "/b": "2024-05-01T08:00:00+02:00", "/c": "2024-05-01T05:00:00", "/d": "soon"}
    assert isinstance(judge(mixed, mixed), Unknown)
    assert judge(mixed, {**mixed, "/c": "2024-05-02T05:00:00"}) == Changed((), (), ("/c",), "1 touched")


@pytest.mark.parametrize("entries", [{"/a": None, "/b": None}, {"/a": OLD, "/b": None, "/c": None, "/d": None}])
def test_entries_without_a_lastmod_prove_nothing(entries: Entries) -> None:
    """No date, or dates on some pages only, leave the question open: never unchanged."""
    assert isinstance(judge(entries, entries), Unknown)


def test_a_few_undated_entries_are_accepted_after_quiet_runs_were_confirmed() -> None:
    """Once crawls found nothing three times while nothing moved, one page in ten without a date is no obstacle."""
    entries: Entries = {**{f"/{number}": OLD for number in range(9)}, "/": None}
    assert isinstance(judge(entries, entries, LastmodTrust(quiet=2)), Unknown)
    assert isinstance(judge(entries, entries, LastmodTrust(quiet=3)), Unchanged)
    half: Entries = {"/a": OLD, "/": None}
    assert isinstance(judge(half, half, LastmodTrust(quiet=9)), Unknown)


def test_a_reading_with_a_hole_proves_nothing_and_removes_nothing() -> None:
    """Partial knowledge is unknown, on either side, with the reason; no URL is called removed."""
    hole = inventory({"/a": OLD}, complete=False)
    verdict = judge({"/a": OLD, "/b": OLD}, hole)
    assert verdict == Unknown("the sitemaps could not be read completely: a child answers 503")
    assert isinstance(judge(hole, {"/a": OLD}), Unknown)


def test_a_site_without_a_sitemap_or_without_a_past_is_unknown() -> None:
    """Nothing to compare is not the same as nothing changed."""
    assert isinstance(judge(None, {"/a": OLD}), Unknown)
    assert isinstance(judge(Inventory(complete=True), Inventory(complete=True)), Unknown)
    assert isinstance(judge({}, {}), Unknown)


def test_a_date_that_was_not_over_at_the_last_reading_may_hide_an_edit() -> None:
    """A page dated today, edited after this morning's run, is found on the next run; tomorrow evening it is settled."""
    entries: Entries = {"/a": "2026-06-01", "/b": OLD}
    morning = NOW - timedelta(hours=4)
    verdict = judge(entries, entries, read_at=morning)
    assert isinstance(verdict, Changed)
    assert verdict.touched == ("/a",)
    settled = inventory(entries, datetime(2026, 6, 2, 12, tzinfo=UTC))
    later = datetime(2026, 6, 3, tzinfo=UTC)
    assert isinstance(compare(settled, settled, LastmodTrust(), later), Unchanged)


def test_what_left_a_feed_is_not_removed() -> None:
    """A feed lists the newest pages: one that fell off its end is still there."""
    (document,) = inventory({"/1": OLD, "/2": OLD}).documents
    feed = DocumentState(
        url=document.url, final_url=document.url, validators=Validators(), sha256="", kind="rss", members=(0, 2)
    )
    before = Inventory({"/1": OLD, "/2": OLD}, True, (feed,))
    assert judge(before, {"/2": OLD, "/3": NEW}) == Changed(("/3",), (), (), "1 added")


def test_lastmods_that_are_not_believed_touch_nothing() -> None:
    """Where every build moves every date, only pages that came or went are news; the rest is unknown, not a crawl of all."""
    for trust in (LastmodTrust(kind="always_now"), LastmodTrust(kind="every_build")):
        assert not trust.believed
        assert isinstance(judge({"/a": OLD, "/b": OLD}, {"/a": NEW, "/b": NEW}, trust), Unknown)
        assert judge({"/a": OLD}, {"/a": NEW, "/b": NEW}, trust) == Changed(("/b",), (), (), "1 added")
        assert isinstance(judge({"/a": OLD}, {"/a": OLD}, trust), Unchanged), "what moves too often stood still"


def test_a_large_sitemap_kept_by_its_bytes_is_changed_when_they_are() -> None:
    """A document beyond the cap is compared as a whole, without names."""

    def large(sha256: str, *, dated: bool = True) -> Inventory:
        document = DocumentState(
            url="/2.xml", final_url="/2.xml", validators=Validators(), sha256=sha256, kind="urlset", listed=False,
            dated=dated,
        )  # fmt: skip
        return Inventory({"/a": OLD}, True, (document,))

    assert isinstance(judge(large("1"), large("2")), Changed)
    assert isinstance(judge(large("1"), large("1")), Unchanged)
    assert isinstance(judge(large("1", dated=False), large("1", dated=False)), Unknown)


ENTRIES = st.dictionaries(
    st.sampled_from(["/a", "/b", "/c"]), st.sampled_from([None, "", "x", "2024", "2026-06-01", OLD, NEW, "2041-01-01"])
)


@settings(deadline=None)
@given(ENTRIES, ENTRIES, st.booleans(), st.booleans())
def test_unchanged_is_only_ever_said_of_two_complete_equal_inventories(
    before: Entries, after: Entries, whole_before: bool, whole_after: bool
) -> None:
    """Whatever the entries: unchanged needs both readings complete and every page dated alike."""
    previous, current = inventory(before, complete=whole_before), inventory(after, NOW, complete=whole_after)
    verdict = compare(previous, current, LastmodTrust(), NOW)
    if isinstance(verdict, Unchanged):
        assert whole_before
        assert whole_after
        assert before == after != {}
    if isinstance(verdict, Changed):
        assert whole_before
        assert whole_after
        assert set(verdict.added) == set(after) - set(before)
        assert set(verdict.removed) == set(before) - set(after)


# A row that stores only a check time


def since(entries: Entries, checked: str, known: str | None = None) -> Verdict:
    return compare_with_check_time(
        inventory(entries, NOW),
        LastmodTrust(),
        NOW,
        last_checked_at=datetime.fromisoformat(checked),
        newest_lastmod=datetime.fromisoformat(known) if known else None,
    )


def test_a_lastmod_west_of_utc_is_later_than_it_looks() -> None:
    """2025-12-01T23:30-05:00 is 04:30Z of the next day: after a check at midnight UTC. The zone is not dropped."""
    assert isinstance(since({"/a": "2025-12-01T23:30:00-05:00"}, "2025-12-02T00:00:00+00:00"), Changed)


def test_a_lastmod_east_of_utc_is_earlier_than_it_looks() -> None:
    """2025-12-02T08:00+09:00 is 23:00Z of the day before: a check at midnight UTC has seen it."""
    assert isinstance(since({"/a": "2025-12-02T08:00:00+09:00"}, "2025-12-02T00:00:00+00:00"), Unchanged)


def test_a_day_that_overlaps_the_check_counts_as_changed() -> None:
    """Midnight of a date is not when the page was edited."""
    assert isinstance(since({"/a": "2024-05-01"}, "2024-05-01T10:00:00+00:00"), Changed)
    assert isinstance(since({"/a": "2024-04-29"}, "2024-05-02T10:00:00+00:00"), Unchanged)


def test_the_newest_lastmod_that_was_already_known_is_no_news() -> None:
    """A site whose clock is ahead of ours does not change for ever."""
    known = "2026-06-01T09:00:00+00:00"
    assert isinstance(since({"/a": known}, "2026-06-01T08:00:00+00:00", known), Unchanged)
    assert isinstance(since({"/a": known, "/b": "2026-06-01T08:30:00Z"}, "2026-06-01T08:00:00+00:00", known), Changed)


def test_a_check_time_vouches_for_nothing_undated_future_or_incomplete() -> None:
    """Where a date is missing or lies ahead, a check time proves nothing; nor does a check that never was."""
    checked = "2026-05-31T00:00:00+00:00"
    assert isinstance(since({"/a": OLD, "/b": None}, checked), Unknown)
    assert isinstance(since({"/a": "2041-01-01"}, checked), Unknown)
    assert isinstance(since({}, checked), Unknown)
    hole = inventory({"/a": OLD}, complete=False)
    assert isinstance(compare_with_check_time(hole, LastmodTrust(), NOW, last_checked_at=NOW), Unknown)
    whole = inventory({"/a": OLD})
    assert isinstance(compare_with_check_time(whole, LastmodTrust(), NOW, last_checked_at=None), Unknown)


# Rows of clock_cases.jsonl


def test_clk_001_lastmod_east_of_utc() -> None:
    """clk-001: the same instant is unchanged."""
    assert isinstance(judge({"/a": "2026-01-01T01:00:00Z"}, {"/a": "2026-01-01T10:00:00+09:00"}), Unchanged)
    assert isinstance(since({"/a": "2026-01-01T10:00:00+09:00"}, "2026-01-01T01:00:00+00:00"), Unchanged)


def test_clk_002_lastmod_west_of_utc() -> None:
    """clk-002: 00:00-08:00 is after 05:00Z of that day."""
    assert isinstance(since({"/a": "2026-01-01T00:00:00-08:00"}, "2026-01-01T05:00:00+00:00"), Changed)


def test_clk_005_date_only_equal_but_url_set_differs() -> None:
    """clk-005: a page added on the same day is a change."""
    verdict = judge({"/a": "2026-01-02"}, {"/a": "2026-01-02", "/b": "2026-01-02"})
    assert isinstance(verdict, Changed)
    assert verdict.added == ("/b",)


def test_clk_007_lastmod_in_the_future() -> None:
    """clk-007: a date that lay in the future last time and still does is unchanged."""
    assert isinstance(judge({"/a": "2099-01-01", "/b": OLD}, {"/a": "2099-01-01", "/b": OLD}), Unchanged)
    assert newest(inventory({"/a": "2099-01-01", "/b": OLD}), NOW) == datetime(2025, 5, 1, tzinfo=UTC)


def test_clk_009_frozen_lastmod() -> None:
    """clk-009: lastmods known to stand still while pages change do not spare a crawl."""
    assert isinstance(judge({"/a": OLD}, {"/a": OLD}, LastmodTrust(kind="frozen")), Unknown)


def test_clk_010_no_lastmod_at_all() -> None:
    """clk-010: without lastmods nobody can tell."""
    assert isinstance(judge({"/a": None}, {"/a": None}), Unknown)


def test_the_order_of_entries_does_not_matter() -> None:
    """The verdict names URLs in one order, whatever order the sitemaps list them in."""

    def shuffled(items: Iterable[tuple[str, str | None]]) -> Entries:
        return dict(reversed(list(items)))

    before: Entries = {"/a": OLD, "/b": OLD, "/c": OLD}
    after: Entries = {"/b": NEW, "/d": OLD, "/e": OLD}
    assert judge(before, after) == judge(shuffled(before.items()), shuffled(after.items()))
