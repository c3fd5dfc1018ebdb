"""What every store of state objects promises, run on a folder and on a real S3-compatible server."""

from __future__ import annotations

import pytest

from runtime.errors import InputError
from runtime.ports import States

SITE = "0d5c9f0e-8f5c-4c53-9c7f-1d3f0a4f7b51"


async def test_a_state_is_loaded_as_it_was_saved(states: States) -> None:
    """Any bytes survive, and the last save wins."""
    assert await states.load(SITE) is None
    await states.save(SITE, b"\x00\xff old")
    await states.save(SITE, b"\x00\xff new")

    assert await states.load(SITE) == b"\x00\xff new"


async def test_sites_do_not_share_a_state(states: States) -> None:
    """Removing one site's state leaves the next one's, and may be repeated."""
    await states.save("one", b"1")
    await states.save("two", b"2")
    await states.delete("one")
    await states.delete("one")

    assert await states.load("one") is None
    assert await states.load("two") == b"2"


@pytest.mark.parametrize("site_id", ["", "..", "../other", "a/b", ".hidden", "a\0b", "x" * 300])
async def test_a_site_id_is_no_path(states: States, site_id: str) -> None:
    """An id that could reach another object is refused by every call."""
    with pytest.raises(InputError):
        await states.load(site_id)
    with pytest.raises(InputError):
        await states.save(site_id, b"x")
    with pytest.raises(InputError):
        await states.delete(site_id)
