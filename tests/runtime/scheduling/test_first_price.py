"""The sites that the first price of a crawl is found with stand for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import pytest

from runtime import budgeting
from runtime.models import SiteStatus
from tests.runtime.pipeline.test_spread import Fleet


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path)
    yield made
    made.sites.close()


async def test_the_sample_is_drawn_from_all_sites(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty of 200, read sixteen at a time: from all over the addresses, and no paused site."""
    monkeypatch.setattr(budgeting, "SAMPLE", 40)
    monkeypatch.setattr(budgeting, "PAGE", 16)
    await fleet.enroll(200)
    rows = await fleet.rows()
    await fleet.sites.update(rows[0].id, status=SiteStatus.PAUSED)
    places = {row.id: place for place, row in enumerate(rows)}

    drawn = [places[site.id] for site in await budgeting.sample(fleet.world)]

    assert len(set(drawn)) == 40
    assert 0 not in drawn
    assert 60 < mean(drawn) < 140


async def test_a_fleet_smaller_than_the_sample_is_taken_whole(fleet: Fleet) -> None:
    """And an empty one is no error."""
    assert await budgeting.sample(fleet.world) == []
    await fleet.enroll(3)

    assert len(await budgeting.sample(fleet.world)) == 3
