"""The stores of the contract suite, each with a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.sites.sqlite import SqliteSites
from tests.runtime.sites.store import START, Store


def sqlite_store(path: Path) -> Store:
    clock = [START]
    return Store("sqlite", SqliteSites(path / "sites.db", clock=lambda: clock[0]), lambda at: clock.__setitem__(0, at))


@pytest.fixture(params=["sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = sqlite_store(tmp_path)
    yield made
    made.sites.close()
