"""Ports that are opened by their first call."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import StoreDown
from runtime.ports import Publisher
from runtime.publish.folder import FolderPublisher
from runtime.publish.opening import OnFirstUse, OpenedPublisher

BASE = "https://files.example.org"


async def test_a_publisher_is_opened_once_by_its_first_call(tmp_path: Path) -> None:
    """A public URL needs no bucket; everything else shares the one that the first call opened."""
    opened: list[Publisher] = []

    async def opening() -> Publisher:
        opened.append(FolderPublisher(tmp_path, BASE))
        return opened[-1]

    publisher = OpenedPublisher(opening, BASE)
    assert publisher.url("docs.example.com/llms.txt") == f"{BASE}/docs.example.com/llms.txt"
    assert not opened
    await publisher.put_version("a/versions/1.txt", b"one", sha256="1" * 64)
    etag = await publisher.put("a/llms.txt", b"one", sha256="1" * 64, generation=1, expected_etag=None)
    stored = await publisher.read("a/llms.txt")
    assert stored is not None
    assert (stored.body, stored.etag) == (b"one", etag)
    await publisher.delete("a/llms.txt", expected_etag=etag)
    assert await publisher.read("a/llms.txt") is None
    assert len(opened) == 1


async def test_an_opening_that_failed_is_tried_again_by_the_next_call(tmp_path: Path) -> None:
    """A secret store that was down for a moment must not spoil the process."""
    failures = [StoreDown("the secret store does not answer")]

    async def opening() -> Publisher:
        if failures:
            raise failures.pop()
        return FolderPublisher(tmp_path, BASE)

    publisher = OpenedPublisher(opening, BASE)
    with pytest.raises(StoreDown):
        await publisher.read("a/llms.txt")
    assert await publisher.read("a/llms.txt") is None


def test_a_port_is_made_by_its_first_use_and_only_then() -> None:
    """A cold start pays for what its invocation needs."""
    made: list[list[int]] = []

    def make() -> object:
        made.append([])
        return made[-1]

    port = OnFirstUse(make)
    assert not made
    port.append(1)
    port.append(2)
    assert made == [[1, 2]]
