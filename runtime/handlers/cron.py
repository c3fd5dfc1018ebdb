"""The schedule's door: EventBridge sends the specification's request, the dispatcher answers with a tick.

A tick that fails raises, so that Lambda retries it, keeps it and counts it: an answer of 500 would count as a success.
"""

from __future__ import annotations

from typing import Any

from runtime import environment as env
from runtime.api import CRON_PATH, Api
from runtime.dispatch import tick
from runtime.errors import InputError, ServiceError
from runtime.handlers.process import Process, remaining_seconds
from runtime.http import Request
from runtime.ports import World

NEEDED = (env.SUPABASE_SECRET_ARN, env.CRON_SECRET_ARN, env.QUEUE_URL, env.STATE_BUCKET)
process = Process(NEEDED, checks=True)


class TickFailed(ServiceError):
    """The tick was refused or did not work; the message says which."""

    code = "tick_failed"


def handler(event: Any, context: Any) -> dict[str, Any]:
    """Start a tick for `{"httpMethod":"POST","path":"/internal/cron/recrawl","headers":{"X-Cron-Secret":…}}`.

    :raises InputError: another event. :raises TickFailed: the secret is wrong, or the tick did not work.
    """
    request = parse_event(event, getattr(context, "aws_request_id", ""))

    async def work(world: World) -> dict[str, Any]:
        async def start() -> int:
            left = remaining_seconds(context)
            return (await tick(world, tick_id=request.id or "tick", remaining_seconds=left)).total

        answer = await Api(world, process.secrets, start, renew=process.renew).handle(request)
        if answer.status != 200:
            raise TickFailed(f"{answer.status}: {answer.body['detail']}", code=str(answer.body["code"]))
        return dict(answer.body)

    result: dict[str, Any] = process.run(context, work)
    return result


def parse_event(event: Any, request_id: str) -> Request:
    """The request inside a scheduled event.

    :raises InputError: the event is not what the rule sends.
    """
    headers = event.get("headers") if isinstance(event, dict) else None
    if not isinstance(headers, dict) or event.get("httpMethod") != "POST" or event.get("path") != CRON_PATH:
        raise InputError("event", f"must be a POST to {CRON_PATH} with headers, as the rule sends it", code="bad_event")
    lowered = {str(name).lower(): str(value) for name, value in headers.items()}
    return Request(method="POST", path=CRON_PATH, headers=lowered, id=request_id)
