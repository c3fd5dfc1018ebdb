"""The stores of the contract suite, each with a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.sites.sqlite import SqliteSites
from tests.runtime.sites.store import START, Store


@pytest.fixture(params=["sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    clock = [START]
    with SqliteSites(tmp_path / "sites.db", clock=lambda: clock[0]) as sites:
        yield Store("sqlite", sites, lambda at: clock.__setitem__(0, at))
