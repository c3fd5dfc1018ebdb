"""The queue's door: a batch of sites, worked on side by side; the messages that failed are named one by one."""

from __future__ import annotations

from typing import Any

from runtime import environment as env
from runtime.errors import InputError, Misconfigured, StoreDown
from runtime.handlers.process import Process, remaining_seconds
from runtime.models import Summary
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
