"""The long runs in small, so that they are fit to be run; `make soak` has the numbers."""

from __future__ import annotations

import time

import pytest

from tests.faults.child import KILL_POINTS
from tests.faults.workers import running_workers
from tests.soak.kills import soak_kills
from tests.soak.readers import soak_readers

HOUR = 3_600


def test_sites_whose_worker_is_killed_are_committed_once() -> None:
    """Three sites, each kill point, two seeds: a new site and one that has a file already."""
    with running_workers() as workers:
        tally = soak_kills(workers, sites=3, seeds=2, until=time.monotonic() + HOUR)

    assert tally.problems == []
    assert (tally.runs, tally.killed, tally.commits) == (2 * len(KILL_POINTS),) * 2 + (6 * len(KILL_POINTS),)


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_readers_get_the_old_file_or_the_new_one(kind: str) -> None:
    """Ten publishes, the last of them killed on its way: no reader gets anything else, and each ETag is its body's."""
    view = soak_readers(kind, publishes=10, readers=24, until=time.monotonic() + HOUR)

    assert view.problems == []
    assert (view.publishes, view.killed, view.reads) == (10, 1, 240)
    assert view.old
    assert view.new


def test_what_does_not_fit_into_the_time_is_counted() -> None:
    """A soak without time runs nothing, and says so instead of passing."""
    with running_workers() as workers:
        tally = soak_kills(workers, sites=1, seeds=1, until=time.monotonic() - 1)

    assert (tally.runs, tally.unserved) == (0, len(KILL_POINTS))
