"""A run that was asked for: when it may begin, and how it gets into the queue."""

from __future__ import annotations

import asyncio
import math
from datetime import datetime

from runtime.errors import Transient
from runtime.ports import Message, World

QUEUE_SECONDS = 0.6


async def start_run(world: World, message: Message) -> None:
    """Hand a site to a worker. One that cannot be queued is no loss: its row is due, and the next tick takes it."""
    try:
        async with asyncio.timeout(QUEUE_SECONDS):
            unsent = await world.queue.send([message])
    except (Transient, TimeoutError):
        unsent = [message]
    if unsent:
        world.events.event("run_not_queued", site_id=message.site_id)


def delay(run_at: datetime, now: datetime) -> int:
    """Whole seconds until a run may begin."""
    return max(0, math.ceil((run_at - now).total_seconds()))
