"""The public door: a function URL for webhooks, the cron call over HTTP, and the management API."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import replace
from typing import Any

from runtime import environment as env
from runtime.api import Api
from runtime.errors import ServiceError
from runtime.handlers.process import Process, remaining_seconds
from runtime.http import Request
from runtime.ports import World

NEEDED = (env.SUPABASE_SECRET_ARN, env.CRON_SECRET_ARN, env.API_KEY_SECRET_ARN, env.QUEUE_URL, env.STATE_BUCKET)
STORE_SECONDS = 1.5
"""A caller is answered within two seconds, whatever the database does; a call of it does not outlive that by much."""

process = Process(NEEDED, store_seconds=STORE_SECONDS)

UNAVAILABLE = {"detail": "try again later", "code": "unavailable"}


def handler(event: Any, context: Any) -> dict[str, Any]:
    """Answer one request of the function URL (payload format 2.0)."""
    request = parse_event(event)
    host = event["requestContext"].get("domainName", "")

    async def work(world: World) -> dict[str, Any]:
        world = itself(world, host)

        async def start() -> int:
            from runtime.dispatch import tick  # most calls are hooks

            return (await tick(world, tick_id=request.id, remaining_seconds=remaining_seconds(context))).total

        answer = await Api(world, process.secrets, start, renew=process.renew).handle(request)
        return respond(answer.status, dict(answer.body), dict(answer.headers))

    try:
        result: dict[str, Any] = process.run(context, work)
    except ServiceError:
        # Secrets or rows cannot be reached: logged and counted by the process, and no reason for a caller to know why.
        return respond(503, {**UNAVAILABLE, "request_id": request.id}, {"retry-after": "30"})
    return result


def itself(world: World, host: str) -> World:
    """The world of a service that knows its own address, and so enrols no site there: the stack cannot tell a function
    the name of its own URL, but every request brings it, written by Lambda.
    """
    policy = world.settings.policy
    if not host or host in policy.self_hosts:
        return world
    known = replace(policy, self_hosts=(*policy.self_hosts, host))
    return replace(world, settings=replace(world.settings, policy=known))


def parse_event(event: dict[str, Any]) -> Request:
    """The request inside a function-URL event. Only the envelope that Lambda built is believed; a body that imitates
    another kind of event is just a body. One that is not the base64 it claims to be, or not Unicode (JSON can escape
    half a character), is a body that is no UTF-8, which the route refuses.
    """
    http = event["requestContext"]["http"]
    body = (event.get("body") or "").encode("utf-8", "surrogatepass")
    if event.get("isBase64Encoded"):
        try:
            body = base64.b64decode(body, validate=True)
        except binascii.Error:
            body = b"\xff"
    return Request(
        method=http["method"],
        path=event.get("rawPath", "/"),
        headers={name.lower(): value for name, value in event.get("headers", {}).items()},
        body=body,
        query=event.get("rawQueryString", ""),
        id=event["requestContext"].get("requestId", ""),
    )


def respond(status: int, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json", "cache-control": "no-store", **headers},
        "body": json.dumps(body, ensure_ascii=False),
    }
