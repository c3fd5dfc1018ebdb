"""What a site's lastmods are worth, learnt from run to run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.reading import Inventory
from runtime.sitemap.lastmod import LastmodTrust, observe

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def stamped(moment: datetime, pages: int = 5) -> Inventory:
    return Inventory({f"/{page}": moment.isoformat() for page in range(pages)}, complete=True)


def run(trust: LastmodTrust, before: Inventory, after: Inventory, now: datetime, changed: bool | None) -> LastmodTrust:
    return observe(trust, before, after, now, content_changed=changed)


def test_a_new_site_is_believed() -> None:
    """Nothing speaks against lastmods that nobody has watched yet."""
    assert LastmodTrust().believed


def test_lastmods_equal_to_the_request_time_three_times_in_a_row_are_not_believed() -> None:
    """Stamped anew for every request: recognised at the third check, with or without a crawl in between."""
    trust, before = LastmodTrust(), Inventory()
    for check in range(3):
        assert trust.believed
        now = NOW + check * DAY
        after = stamped(now - timedelta(seconds=2))
        trust, before = run(trust, before, after, now, False if check % 2 else None), after
    assert trust.kind == "always_now"
    assert not trust.believed


def test_dates_without_a_time_that_are_always_today_are_recognised_too() -> None:
    """A generator that writes today's date on every page lies as much as one that writes the time."""
    trust, before = LastmodTrust(), Inventory()
    for check in range(3):
        now = NOW + check * DAY
        after = Inventory(dict.fromkeys(("/a", "/b"), f"{now:%Y-%m-%d}"), complete=True)
        trust, before = run(trust, before, after, now, False), after
    assert trust.kind == "always_now"


def test_pages_that_were_all_built_just_now_and_then_stand_still_are_believed() -> None:
    """A deploy right before each of the first checks is not the time of the request: between deploys nothing moves."""
    deploy = stamped(NOW)
    trust = run(LastmodTrust(), Inventory(), deploy, NOW, True)
    for check in range(1, 4):
        trust = run(trust, deploy, deploy, NOW + check * timedelta(minutes=5), False)
    assert trust.believed


def test_a_site_that_stops_stamping_now_is_watched_afresh() -> None:
    """Once the lastmods stand apart from the request, the old verdict is void."""
    trust = LastmodTrust(kind="always_now", now_streak=7)
    old = stamped(NOW - 9 * DAY)
    assert run(trust, stamped(NOW - 10 * DAY), old, NOW, True).kind == "unproven"


def test_lastmods_that_all_move_with_every_build_are_not_believed() -> None:
    """Twice every page got a new date and nothing had changed."""
    trust, before = LastmodTrust(), stamped(NOW - 30 * DAY)
    for build in range(2):
        assert trust.believed
        after = stamped(NOW - (20 - 10 * build) * DAY)
        trust, before = run(trust, before, after, NOW, False), after
    assert trust.kind == "every_build"


def test_a_redesign_that_moves_everything_is_no_lie() -> None:
    """All dates may move when the pages did change."""
    trust, before = LastmodTrust(), stamped(NOW - 30 * DAY)
    for build in range(4):
        after = stamped(NOW - (20 - 3 * build) * DAY)
        trust, before = run(trust, before, after, NOW, True), after
    assert trust.believed


def test_lastmods_that_stand_still_while_pages_change_are_frozen() -> None:
    """The forced check found a change that no lastmod announced: stillness proves nothing any more."""
    still = stamped(NOW - 60 * DAY)
    trust = run(LastmodTrust(), still, still, NOW, True)
    assert trust.kind == "frozen"
    assert not trust.believed
    assert trust.moves_believed


def test_a_site_that_proved_honest_is_doubted_only_the_second_time() -> None:
    """One unannounced change may have another cause; two in a row may not."""
    still = stamped(NOW - 60 * DAY)
    trust = LastmodTrust(kind="honest", honest_streak=5)
    trust = run(trust, still, still, NOW, True)
    assert trust.believed
    assert run(trust, still, still, NOW, True).kind == "frozen"


def test_a_change_on_a_site_with_undated_pages_condemns_nobody() -> None:
    """The change may be on the page that promised nothing."""
    still = Inventory({"/a": "2025-01-01", "/": None}, complete=True)
    trust = run(LastmodTrust(quiet=5), still, still, NOW, True)
    assert trust.believed
    assert trust.quiet == 0


def moved(entries: Mapping[str, str | None], page: str, moment: datetime) -> Inventory:
    return Inventory({**entries, page: moment.isoformat()}, complete=True)


def test_lastmods_that_move_as_pages_change_earn_trust_back() -> None:
    """Three runs in which some moved and the site had changed: honest, whatever was thought before."""
    for trust in (LastmodTrust(), LastmodTrust(kind="frozen", frozen_streak=2), LastmodTrust(kind="every_build")):
        before = stamped(NOW - 30 * DAY)
        for step in range(3):
            after = moved(before.entries, "/1", NOW - (9 - step) * DAY)
            trust, before = run(trust, before, after, NOW, True), after  # noqa: PLW2901 - the story of one trust
        assert trust.kind == "honest"


def test_quiet_runs_are_counted_while_nothing_moves_and_nothing_changed() -> None:
    """What a crawl confirmed; a run without a crawl confirms nothing."""
    still = stamped(NOW - 60 * DAY)
    trust = run(LastmodTrust(), still, still, NOW, False)
    assert run(trust, still, still, NOW, None) == trust
    assert run(trust, still, still, NOW, False).quiet == 2


def test_an_incomplete_reading_teaches_nothing() -> None:
    """A hole in either reading makes a comparison worthless."""
    whole, hole = stamped(NOW - 60 * DAY), Inventory({"/1": "2025-01-01"}, complete=False)
    assert run(LastmodTrust(), whole, hole, NOW, True) == LastmodTrust()
    assert run(LastmodTrust(), hole, whole, NOW, True) == LastmodTrust()


INVENTORIES = st.builds(
    Inventory,
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([None, "x", "2025", "2026-06-01T12:00:00Z", "2041-01-01"])),
    st.booleans(),
)


@settings(deadline=None)
@given(st.lists(st.tuples(INVENTORIES, st.sampled_from([True, False, None])), max_size=12))
def test_a_trust_survives_json_and_any_history(history: list[tuple[Inventory, bool | None]]) -> None:
    """Whatever a site does, the memory stays a value that JSON gives back."""
    trust, before = LastmodTrust(), Inventory()
    for after, changed in history:
        trust, before = run(trust, before, after, NOW, changed), after
        assert LastmodTrust(**json.loads(json.dumps(asdict(trust)))) == trust
