"""Which runs are told of, and what the message says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from runtime.document.changes import ChangeRecord, Entry, Reworded
from runtime.models import Commit, Outcome, Site, SiteOptions, SiteStatus
from runtime.notice import MAX_BYTES, Kind, kind_of, notice_of

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)


def site(**fields: Any) -> Site:
    return Site(id="s1", base_url="https://docs.example.com", options=SiteOptions(), **fields)


def commit(outcome: Outcome, **fields: Any) -> Commit:
    given: dict[str, Any] = {"reason": "because", "next_crawl_at": None, **fields}
    return Commit(run_id="run-1", tick_id=None, outcome=outcome, **given)


def test_a_changed_file_is_told() -> None:
    """With what was there before, what is there now, and the differences."""
    changes = ChangeRecord(
        added=(Entry("https://docs.example.com/new", "New \u2028 [page]", "Guides"),),
        retitled=(Reworded("https://docs.example.com/a", "A2", "A"),),
    )
    before = site(latest_llms_hash="a" * 64)
    row = site(latest_llms_hash="b" * 64, latest_llms_url="https://files.example.org/docs.example.com/llms.txt")
    made = notice_of(before, row, commit(Outcome.UPDATED), changes, now=NOW, after_failures=3)

    assert made is not None
    assert (made.id, made.kind) == ("run-1", Kind.UPDATED)
    payload = json.loads(made.body)
    assert (payload["type"], payload["timestamp"]) == ("llms_txt.updated", NOW.isoformat())
    data = payload["data"]
    assert (data["base_url"], data["outcome"], data["reason"]) == ("https://docs.example.com", "updated", "because")
    assert (data["previous_llms_hash"], data["llms_hash"]) == ("a" * 64, "b" * 64)
    assert data["llms_url"] == "https://files.example.org/docs.example.com/llms.txt"
    told = data["changes"]
    assert told["counts"] == {"added": 1, "removed": 0, "moved": 0, "retitled": 1, "redescribed": 0, "site": 0}
    assert told["added"] == [{"url": "https://docs.example.com/new", "title": "New \u2028 [page]", "section": "Guides"}]
    assert told["retitled"] == [{"url": "https://docs.example.com/a", "new": "A2", "old": "A"}]
    assert told["summary"] == changes.summary


HELD = {"last_outcome": Outcome.HELD}
QUIET = [
    (site(), commit(Outcome.UNCHANGED_SITEMAP)),
    (site(), commit(Outcome.UNCHANGED_CONTENT)),
    (site(), commit(Outcome.DEFERRED)),
    (site(**HELD), commit(Outcome.HELD)),
    (site(), commit(Outcome.FAILED, failure_count=1)),
    (site(failure_count=1), commit(Outcome.FAILED, failure_count=2)),
    (site(failure_count=3), commit(Outcome.FAILED, failure_count=4)),
    (site(failure_count=3), commit(Outcome.DEFERRED, failure_count=3)),
]
TOLD = [
    (site(), commit(Outcome.HELD), Kind.HELD),
    (site(last_outcome=Outcome.FAILED), commit(Outcome.HELD), Kind.HELD),
    (site(failure_count=2), commit(Outcome.FAILED, failure_count=3), Kind.FAILING),
    (site(failure_count=2), commit(Outcome.DEFERRED, failure_count=3), Kind.FAILING),
    (site(failure_count=9), commit(Outcome.FAILED, failure_count=10, status=SiteStatus.DISABLED), Kind.DISABLED),
    (site(failure_count=2), commit(Outcome.FAILED, failure_count=3, status=SiteStatus.DISABLED), Kind.DISABLED),
    (site(failure_count=5), commit(Outcome.UPDATED), Kind.UPDATED),
]


@pytest.mark.parametrize(("before", "after"), QUIET)
def test_most_runs_are_nobodys_news(before: Site, after: Commit) -> None:
    """Nothing changed, still held, still failing."""
    assert kind_of(before, after, 3) is None
    assert notice_of(before, site(), after, None, now=NOW, after_failures=3) is None


@pytest.mark.parametrize(("before", "after", "kind"), TOLD)
def test_what_is_news_is_told(before: Site, after: Commit, kind: Kind) -> None:
    """The beginning of a hold, the third failure in a row, and the end of trying."""
    made = notice_of(before, site(), after, None, now=NOW, after_failures=3)

    assert kind_of(before, after, 3) is kind
    assert made is not None
    assert json.loads(made.body)["type"] == kind


def test_a_hold_that_goes_on_after_a_failure_is_no_news() -> None:
    """Whoever knows that it began earlier says so."""
    assert kind_of(site(last_outcome=Outcome.FAILED), commit(Outcome.HELD), 3, held_before=True) is None


def test_clk_017_ten_failures_are_two_messages() -> None:
    """One when the streak is long enough to tell, and exactly one when the site is given up."""
    kinds = []
    for n in range(1, 11):
        status = SiteStatus.DISABLED if n == 10 else None
        kinds.append(kind_of(site(failure_count=n - 1), commit(Outcome.FAILED, failure_count=n, status=status), 3))

    assert [kind for kind in kinds if kind] == [Kind.FAILING, Kind.DISABLED]


@pytest.mark.parametrize("count", [10, 10_000])
@pytest.mark.parametrize("title", ["x", "é" * 5_000, '"\\' * 300])
def test_a_message_has_a_size(count: int, title: str) -> None:
    """However much changed, and whatever it is called: fewer are named, all are counted."""
    entries = tuple(Entry(f"https://docs.example.com/{n}/{'x' * 1_000}", title, title) for n in range(count))
    changes = ChangeRecord(added=entries, removed=entries)
    made = notice_of(site(), site(), commit(Outcome.UPDATED, reason="r" * 5_000), changes, now=NOW, after_failures=3)

    assert made is not None
    assert len(made.body) <= MAX_BYTES
    told = json.loads(made.body)["data"]["changes"]
    assert (told["counts"]["added"], told["counts"]["removed"]) == (count, count)
