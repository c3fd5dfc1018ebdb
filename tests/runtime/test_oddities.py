"""URLs and webhooks that two parsers read in two ways: as many as were thought of, beside the rows of `data/safety`."""

from __future__ import annotations

from pathlib import Path

from tests.safety.__main__ import results

FOLDER = Path(__file__).parents[1] / "data" / "oddities"


def test_odd_urls_and_webhooks_are_answered_as_their_rows_say() -> None:
    """Digits of other scripts, embedded addresses, odd authorities; signatures, duplicate keys, encodings of a body."""
    found = dict(results(FOLDER))
    assert len(found) == sum(len(file.read_text("utf-8").splitlines()) for file in FOLDER.glob("*.jsonl"))
    assert {row: problems for row, problems in found.items() if problems} == {}
