"""The queue's door: a batch of sites, worked on side by side; the messages that failed are named one by one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any

from runtime import environment as env
from runtime.errors import InputError, Misconfigured, StoreDown
from runtime.handlers.process import Process, remaining_seconds
from runtime.letters import from_json as from_text
from runtime.models import Summary
from runtime.notify import deliver_again
from runtime.ownership import take
from runtime.ports import Message, World
from runtime.queues.messages import from_json
from runtime.work import work

NEEDED = (env.SUPABASE_SECRET_ARN, env.QUEUE_URL, env.STATE_BUCKET, env.PUBLIC_BUCKET, env.PUBLIC_BASE_URL)
process = Process(NEEDED, checks=True)


def handler(event: Any, context: Any) -> dict[str, Any]:
    """Work on an SQS batch; gives `{"batchItemFailures": [{"itemIdentifier": …}]}`.

    :raises ServiceError: nothing could be done at all; the whole batch comes back.
    """
    letters = [record for record in event["Records"] if is_letter(record)]
    if letters:
        return {"batchItemFailures": process.run(context, lambda world: deliver(world, letters))}

    async def batch(world: World) -> dict[str, Any]:
        messages: dict[str, Message] = {}
        failed: list[str] = []
        for record in event["Records"]:
            try:
                messages[record["messageId"]] = from_json(record["body"])
            except InputError as error:
                # It will never be readable: let it go to the dead letters, with the reason in the log.
                process.logger.error("message_unreadable", message_id=record["messageId"], detail=str(error))
                failed.append(record["messageId"])
        left, trouble = remaining_seconds(context), await foreign(world)
        result = await work(world, list(messages.values()), remaining_seconds=left, trouble=trouble)
        again = {message.site_id for message in result.retry}
        failed += [key for key, message in messages.items() if message.site_id in again]
        for tick_id, total in {m.tick_id: m.tick_total for m in messages.values() if m.tick_id is not None}.items():
            await report_tick(world, tick_id, total)
        return {"batchItemFailures": [{"itemIdentifier": key} for key in failed]}

    result: dict[str, Any] = process.run(context, batch)
    return result


def is_letter(record: Mapping[str, Any]) -> bool:
    """Whether it comes from the queue of undelivered notifications, which this function also works off."""
    queue = os.environ.get(env.LETTERS_QUEUE_URL, "").rpartition("/")[2]
    return bool(queue) and record["eventSourceARN"].rpartition(":")[2] == queue


async def deliver(world: World, records: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Try undelivered notifications again, side by side; those that are to come back, as Lambda wants them named."""

    async def delivered(record: Mapping[str, Any]) -> bool:
        try:
            return await deliver_again(world, from_text(record["body"]))
        except (InputError, StoreDown) as error:
            process.logger.error("letter_failed", message_id=record["messageId"], detail=str(error))
            return False

    done = await asyncio.gather(*map(delivered, records))
    return [{"itemIdentifier": r["messageId"]} for r, ok in zip(records, done, strict=True) if not ok]


async def foreign(world: World) -> str:
    """Why this process may not publish: the bucket is another stage's, or refuses us. Empty when all is well."""
    try:
        await take(world.publisher, world.settings.stage)
    except Misconfigured as error:
        world.events.event("configuration_failed", code=error.code, detail=str(error))
        return str(error)
    except StoreDown as error:
        return str(error)
    return ""


async def report_tick(world: World, tick_id: str, total: int) -> None:
    """Write the tick's summary once its last site has ended: the line that says that the work was done."""
    outcomes = await world.sites.tick_outcomes(tick_id)
    if len(outcomes) < total:
        return
    summary = Summary()
    for outcome, crawled in outcomes:
        summary = summary.plus(outcome, crawled=crawled)
    world.events.event("tick_completed", tick_id=tick_id, **summary.as_dict())
