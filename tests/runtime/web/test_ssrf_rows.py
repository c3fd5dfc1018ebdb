"""Every row of both ssrf_urls.jsonl as a fetch, judged by where the product connected; and that the judge can see a fault."""

from __future__ import annotations

import asyncio
import json
import socket
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from runtime.web import gate
from tests.safety import __main__ as runner
from tests.safety import ssrf
from tests.safety.certificates import Authority
from tests.safety.internet import Audit

DATA = Path(__file__).parents[2] / "data"
FOLDER = DATA / "safety"
ROWS = [
    json.loads(line)
    for folder in (FOLDER, DATA / "ssrf_more")
    for line in (folder / ssrf.FILE).read_text(encoding="utf-8").splitlines()
]
BY_ID = {row["id"]: row for row in ROWS}
POLICY = ssrf.policy_of(FOLDER)


@lru_cache(maxsize=1)
def tools() -> tuple[Authority, Audit]:
    return Authority(), Audit()


def problems(row: dict[str, Any]) -> list[str]:
    return asyncio.run(ssrf.check(row, POLICY, *tools()))


@pytest.mark.parametrize("row", ROWS, ids=list(BY_ID))
def test_row(row: dict[str, Any]) -> None:
    """The fetch is allowed or denied as the row says, for the row's reason, and connects to nothing bad."""
    assert problems(row) == []


@pytest.mark.parametrize(
    ("row", "change", "seen"),
    [
        ("ssrf-242", {"verdict": "deny", "code": "port"}, "allow (ok) instead of deny (port)"),
        ("ssrf-001", {"code": "port"}, "denied as address_loopback instead of port"),
        ("ssrf-243", {"normalized": "http://example.com/x"}, "instead of http://example.com/x"),
        ("ssrf-199", {"must_connect_to": "93.184.216.35"}, "instead of 93.184.216.35"),
        ("ssrf-222", {"max_lookups": 1}, "looked up 2 times"),
    ],
)
def test_a_wrong_expectation_fails(row: str, change: dict[str, Any], seen: str) -> None:
    """The judge is not blind: a row that says something else does not pass."""
    assert any(seen in problem for problem in problems(BY_ID[row] | change))


@pytest.mark.parametrize("row", ["ssrf-186", "ssrf-214", "ssrf-200", "ssrf-195"])
def test_a_gate_that_does_not_judge_answers_is_found_at_the_connect(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the address check the connect itself is seen, whatever the verdict would have been."""
    monkeypatch.setattr("runtime.web.fetch.check_addresses", lambda *_: None)
    assert any(problem.startswith("connected to ") for problem in problems(BY_ID[row]))


def test_a_second_way_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connect or look-up beside the pinned transport is reported, even if it fails."""
    real = gate.check_url

    def leaky(url: str, policy: Any) -> Any:
        with socket.socket() as sock:
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", 9))
        return real(url, policy)

    monkeypatch.setattr("runtime.web.fetch.check_url", leaky)
    assert any("left the process: socket.connect" in problem for problem in problems(BY_ID["ssrf-242"]))


def test_the_runner_counts_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m tests.safety DIR` prints the failing rows and the totals; a folder without rows is no success."""
    rows = [BY_ID["ssrf-001"], BY_ID["ssrf-242"] | {"id": "wrong", "verdict": "deny", "code": "port"}]
    assert runner.main([str(tmp_path)]) == 1
    (tmp_path / ssrf.FILE).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert runner.main([str(tmp_path)]) == 1
    output = capsys.readouterr().out.splitlines()
    assert output[1].startswith("wrong: allow (ok)")
    assert output[2] == "1 passed, 1 failed"
