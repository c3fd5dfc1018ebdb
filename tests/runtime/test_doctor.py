"""The doctor: one line for each part, what is wrong with it, and what to do, on real adapters that are really broken."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtime.doctor import PROBE_KEY, Finding, examine, probes_of
from runtime.errors import Misconfigured
from runtime.models import SiteOptions
from runtime.ports import Stored, World
from runtime.publish.folder import FolderPublisher
from runtime.registry import Enrollment
from runtime.settings import Settings
from runtime.sites.supabase import SupabaseSites
from runtime.wiring import embedded_world

NOW = datetime(2026, 12, 2, 12, 0, tzinfo=UTC)


class Silence:
    def event(self, name: str, **fields: Any) -> None:
        """The doctor says nothing but its findings."""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = embedded_world(
        tmp_path, settings=Settings(), events=Silence(), base_url="https://pub.example", clock=lambda: NOW
    )
    async with made as world:
        yield world


async def findings(world: World) -> dict[str, Finding]:
    return {finding.part: finding for finding in await examine(probes_of(world))}


async def test_a_healthy_service_is_four_good_lines(world: World, tmp_path: Path) -> None:
    """Store, clock and both buckets; and nothing is left behind."""
    await world.sites.enroll(Enrollment(base_url="https://a.example", options=SiteOptions(), webhook_secret="whsec_a"))
    lines = [finding.line() for finding in await examine(probes_of(world))]

    assert lines == [
        "ok    store       schema and rights are right; 1 due, 0 overdue, the oldest since 2026-12-02 12:00 UTC",
        "ok    clock       in step with the database's",
        "ok    public      can be written, read and cleaned up; doctor/probe.txt was at https://pub.example/doctor/probe.txt",
        "ok    private     state objects can be written, read and deleted",
    ]
    assert await world.publisher.read(PROBE_KEY) is None
    assert await world.states.load("doctor") is None


async def test_a_probe_that_was_left_over_is_no_obstacle(world: World) -> None:
    """A doctor that was interrupted, or another program's object at that key."""
    await world.publisher.put(PROBE_KEY, b"old", sha256="0" * 64, generation=0, expected_etag=None)

    assert (await findings(world))["public"].well


@pytest.mark.parametrize(
    ("seconds", "well", "words"),
    [
        (0, True, "in step"),
        (4, True, "in step"),
        (-30, True, "30 s off"),
        (59, True, "59 s off"),
        (61, False, "61 s off"),
        (-600, False, "set it by NTP"),
    ],
)
async def test_a_clock_that_is_off_is_noted_and_then_refused(
    world: World, seconds: int, well: bool, words: str
) -> None:
    """Both directions, from a minute on."""
    found = (await findings(replace(world, clock=lambda: NOW + timedelta(seconds=seconds))))["clock"]

    assert (found.well, found.code) == (well, "" if well else "clock_skew")
    assert words in found.text


async def test_one_broken_part_does_not_hide_the_others(world: World) -> None:
    """A store that is down: its line and the clock's say so, the buckets are examined all the same."""
    down = SupabaseSites("http://127.0.0.1:1", "a-key")
    found = await findings(replace(world, sites=down))
    down.close()

    assert {part: finding.code for part, finding in found.items()} == {
        "store": "store_down", "clock": "store_down", "public": "", "private": "",
    }  # fmt: skip
    assert found["store"].line().startswith("FAIL  store")
    assert "\n" not in found["store"].line()


async def test_a_folder_that_cannot_be_written_is_found(world: World, tmp_path: Path) -> None:
    """Something else is where the published files should go."""
    (tmp_path / "taken").write_text("a file")
    found = await findings(replace(world, publisher=FolderPublisher(tmp_path / "taken", "https://pub.example")))

    assert not found["public"].well
    assert found["private"].well


class ElsewhereRead(FolderPublisher):
    """A bucket whose reads are answered from another place, as with a wrong endpoint or a stale proxy."""

    async def read(self, key: str) -> Stored | None:
        stored = await super().read(key)
        return replace(stored, body=b"another object") if stored else None


async def test_a_bucket_that_answers_with_something_else_is_found(world: World, tmp_path: Path) -> None:
    """Written here, read there: the sentence names what to check."""
    elsewhere = ElsewhereRead(tmp_path / "published", "https://pub.example")

    assert (await findings(replace(world, publisher=elsewhere)))["public"].code == "bucket_mismatch"


async def test_a_doors_own_probes_are_examined_like_the_others(world: World) -> None:
    """Secrets, say: each is a name and a coroutine."""

    async def filled() -> str:
        return "two values"

    async def empty() -> str:
        raise Misconfigured("the cron secret is empty: put a value into it", code="missing_secret")

    lines = [finding.line() for finding in await examine([("supabase", filled), ("cron", empty)])]
    assert lines == ["ok    supabase    two values", "FAIL  cron        the cron secret is empty: put a value into it"]
