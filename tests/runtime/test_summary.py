"""The summary of a tick."""

from __future__ import annotations

from collections import Counter
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from runtime.models import Outcome, Summary


@given(st.lists(st.tuples(st.sampled_from(Outcome), st.booleans())))
def test_a_summary_adds_up(runs: list[tuple[Outcome, bool]]) -> None:
    """Every outcome is counted once, under its own name, and together they are the total."""
    summary = reduce(lambda sum_, run: sum_.plus(run[0], crawled=run[1]), runs, Summary())
    seen = Counter(outcome for outcome, _ in runs)

    assert summary.total == len(runs)
    assert summary.processed == sum(crawled for _, crawled in runs)
    assert summary.updated == seen[Outcome.UPDATED]
    assert summary.unchanged == seen[Outcome.UNCHANGED_SITEMAP] + seen[Outcome.UNCHANGED_CONTENT]
    assert (summary.held, summary.errors, summary.deferred) == (
        seen[Outcome.HELD],
        seen[Outcome.FAILED],
        seen[Outcome.DEFERRED],
    )
    parts = summary.updated + summary.unchanged + summary.held + summary.errors + summary.deferred
    assert summary.total == parts
