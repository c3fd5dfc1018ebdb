"""Real change histories: read from changelogs, stored as dates, replayed as sites."""

from __future__ import annotations

import gzip
import json
from itertools import accumulate, pairwise
from pathlib import Path

from benchmarks.freshness.histories import LEAST_CHANGES, LEAST_DAYS, days_of, extract, load, packed
from benchmarks.freshness.workload import DAY, Sitemap, replayed

DEBIAN = """tool (1.2-1) unstable; urgency=medium

  * New release.

 -- A Person <a@example.org>  Fri, 02 Jan 1970 23:30:00 -0100

tool (1.1-1) unstable; urgency=low

 -- A Person <a@example.org>  Thu,  1 Jan 2009 10:00:00 +0000
"""


def test_three_kinds_of_changelogs_are_dated() -> None:
    """The day in UTC, each once, in order; a day that no calendar has is none."""
    assert days_of(DEBIAN) == [2, 14_245]
    assert days_of("2009-01-01  A Person  <a@b.c>\n\n2009-01-01  B\n\n2009-02-30  C\n2009-01-03  D\n") == [
        14_245,
        14_247,
    ]
    assert days_of("commit 1f\nAuthor: A <a@b.c>\nDate:   Sat Jan 3 10:11:12 2009 +0200\n") == [14_247]


def test_a_system_gives_each_history_once(tmp_path: Path) -> None:
    """Two packages of one source have one history; a short one has none; what is packed is what was read."""
    entries = [f"20{year:02}-0{month}-01  A Person\n" for year in (1, 2, 3, 4) for month in (1, 4, 7, 9)]
    for name, text in (("one", "".join(entries)), ("two", "".join(entries)), ("young", "".join(entries[:5]))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "changelog.gz").write_bytes(gzip.compress(text.encode()))
    found = extract(tmp_path)

    assert list(found) == ["one/changelog"]
    assert len(found["one/changelog"]) == len(entries)
    assert list(accumulate(json.loads(packed(found))["one/changelog"])) == found["one/changelog"]


def test_the_stored_histories_are_real_ones() -> None:
    """Hundreds, years long, of very different habits; days in order."""
    histories = load()
    spans = [(days[-1] - days[0]) / (len(days) - 1) for days in histories]

    assert len(histories) > 200
    assert all(len(days) >= LEAST_CHANGES and days[-1] - days[0] >= LEAST_DAYS for days in histories)
    assert all(two > one for days in histories for one, two in pairwise(days))
    assert min(spans) < 7
    assert max(spans) > 180


def test_replayed_sites_change_when_their_history_did() -> None:
    """The gaps between changes are those of a stored history, to a day; signals are those that the kind says."""
    stored = [[two - one for one, two in pairwise(days)] for days in load()]
    sites = replayed(40, 180, 3)
    for site in sites:
        days = [round(two / DAY - one / DAY) for one, two in pairwise(site.changes)]
        assert all(0 < time < 180 * DAY for time in site.changes)
        assert any(
            all(abs(gap - real) <= 1 for gap, real in zip(days, steps[at:], strict=False))
            for steps in stored
            for at in range(len(steps) - len(days) + 1)
        )
    assert {site.sitemap for site in sites} == {Sitemap.NONE, Sitemap.HONEST}
    assert any(site.announced for site in sites)
