"""Chooses the adapters of a process. The pipeline knows ports only; here is the one place that knows which is which."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from runtime.ports import Clock, Events, World
from runtime.publish.folder import FolderPublisher, FolderStates
from runtime.queues.memory import MemoryQueue
from runtime.settings import Settings
from runtime.sites.sqlite import SqliteSites
from runtime.web.fetch import FetchClient

PUBLISHED, STATES, DATABASE = "published", "states", "sites.db"
"""What a home folder holds: the published files, the private state objects, the rows."""


def utc_now() -> datetime:
    """The real clock; doors pass it on, everything below is given the time."""
    return datetime.now(UTC)


@asynccontextmanager
async def embedded_world(
    home: Path, *, settings: Settings, events: Events, base_url: str, clock: Clock = utc_now
) -> AsyncIterator[World]:
    """Everything on one machine: SQLite, folders, an in-process queue.

    :param home: the folder for all state; made if missing.
    :param base_url: the public domain that `published/` is served under.
    :raises CorruptState: the database file is damaged. :raises StoreDown: the folder cannot be written.
    """
    home.mkdir(parents=True, exist_ok=True)
    web = FetchClient(settings.policy, settings.limits)
    with SqliteSites(home / DATABASE, clock=clock) as sites:
        try:
            yield World(
                web=web,
                sites=sites,
                publisher=FolderPublisher(home / PUBLISHED, base_url),
                states=FolderStates(home / STATES),
                queue=MemoryQueue(),
                events=events,
                clock=clock,
                settings=settings,
            )
        finally:
            await web.aclose()
