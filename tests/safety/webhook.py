"""The rows of `webhook_cases.jsonl`: a request each, through the door's parsing, the API and real rows.

A row: `request`, `expect`, and optionally `state` (what is different this time) and `repeat` (how many such calls). The
rows and the clock start as the folder's `webhook_fixture.json` says. A state that is not understood fails the row; a
word of `expect` that is not understood is named on stderr, and the rest of the row is judged.

One difference from the rows is decided: a site that is not enrolled is answered 404 `not_enrolled`, where the rows have
the same 401 for everything. The published file is public, and CI users need to tell a typo from a wrong secret.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from runtime.api import HOOK_PATH
from tests.safety.bench import Row, event_of
from tests.safety.judges import judge_of, leaks, wrong_status
from tests.safety.played import Played, base_url_of, spelled

FILE = "webhook_cases.jsonl"
FIXTURE = "webhook_fixture.json"
DEADLINE_SECONDS = 2.0


def run(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The id of every row, and what was wrong."""
    fixture = fixture_of(folder)
    rows = {row["name"]: expected(row, fixture) for row in rows_of(folder)}
    for row in rows.values():
        yield row["id"], problems_of(row, fixture, rows)
        for word in row["expect"]:
            if judge_of(word) is None:
                print(f"{row['id']}: not judged: {word}", file=sys.stderr)


def rows_of(folder: Path) -> list[Row]:
    return [json.loads(line) for line in (folder / FILE).read_text(encoding="utf-8").splitlines() if line.strip()]


def fixture_of(folder: Path) -> dict[str, Any]:
    """The folder's fixture; a folder of rows alone starts from the one of this repository."""
    own = folder / FIXTURE
    path = own if own.is_file() else Path(__file__).parents[1] / "data" / "safety" / FIXTURE
    fixture: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return fixture


def problems_of(row: Row, fixture: dict[str, Any], others: Mapping[str, Row] | None = None) -> list[str]:
    """Play a row (as `expected` gives it) and judge it."""
    played, expect = Played(row, fixture, others or {}), row["expect"]
    try:
        played.play()
    except KeyError as unknown:
        return [f"the row is not understood: {unknown}"]
    problems = list(wrong_status(played, expect, played.answers[0], ""))
    later = expect.get("second") or {name: expect[name] for name in ("status", "status_any", "codes") if name in expect}
    for place, answer in enumerate(played.answers[1:], start=2):
        problems += wrong_status(played, later, answer, f"call {place}: ")
    if played.slowest > DEADLINE_SECONDS:
        problems.append(f"answered after {played.slowest:.2f} s")
    problems += leaks(played)
    for word, wanted in expect.items():
        if judge := judge_of(word):
            problems += judge(played, wanted)
    return problems


def expected(row: Row, fixture: dict[str, Any]) -> Row:
    """The row with the decided answer for a site that is not enrolled."""
    expect, request = dict(row["expect"]), row["request"]
    url = base_url_of(event_of(request))
    enrolled = {spelled(site["base_url"]) for site in fixture["sites"].values()}
    asks = request["path"].partition("?")[0] == HOOK_PATH and request["method"] == "POST"
    if not asks or url is None or spelled(url) in enrolled:
        return row
    if expect.get("status") == 401:
        expect |= {"status": 404, "code": "not_enrolled"}
        expect.pop("same_response_as", None)
    elif 401 in expect.get("status_any", ()):
        expect["status_any"] = [*expect["status_any"], 404]
    return {**row, "expect": expect}
