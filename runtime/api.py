"""The HTTP contract: pure request to response, carried by the Lambda function URL and by `python -m runtime serve`.

Paths match exactly. No answer holds a secret (but the webhook secret of a new site, or a new one, once), a stack trace
or somebody else's error text; every error is `{"detail": …, "code": …, "request_id": …}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime import live_token, metrics, urls, views, webhook
from runtime.errors import InputError, NotFound, Refused, ServiceError, StaleClaim, Transient
from runtime.http import Answer, HttpError, Request, parse_object
from runtime.models import Site, SiteStatus
from runtime.ports import Message, World
from runtime.registry import Requested
from runtime.start import delay, start_run

CRON_PATH = "/internal/cron/recrawl"
HOOK_PATH = "/internal/hooks/site-changed"
TOKEN_PATH = "/auth/token"  # noqa: S105 - a path
STORE_SECONDS = 1.2
"""What the database has to answer a webhook; with `start.QUEUE_SECONDS` and the way here it makes two seconds."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """What callers are checked against. Several values are valid at once while one is being rotated."""

    cron: tuple[str, ...] = field(default=(), repr=False)
    api_keys: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Api:
    """The routes.

    :param secrets: reads the current secrets; raises Transient when they cannot be read, and the call is then refused.
    :param tick: starts a tick and gives the number of sites claimed.
    :param renew: lets the next read of the secrets see a rotation that is younger than what is remembered.
    """

    world: World
    secrets: Callable[[], Awaitable[Secrets]]
    tick: Callable[[], Awaitable[int]]
    store_seconds: float = STORE_SECONDS
    renew: Callable[[], None] = lambda: None

    async def handle(self, request: Request) -> Answer:
        """Answer any request; never raises."""
        try:
            return await self._route(request)
        except HttpError as error:
            return self._refuse(request, error.status, error.code, str(error), error.headers)
        except InputError as error:
            return self._refuse(request, 422, error.code, str(error), field=error.field)
        except Refused as error:
            return self._refuse(request, 422, error.code, f"url: {error}", field="url")
        except NotFound as error:
            return self._refuse(request, 404, error.code, str(error))
        except (Transient, TimeoutError):
            return self._refuse(request, 503, "unavailable", "try again later", {"retry-after": "30"})
        except StaleClaim:
            return self._refuse(request, 409, "busy", "the site is being crawled; try again later")
        except ServiceError as error:
            self.world.events.event("request_failed", request_id=request.id, error=error.code)
            return self._refuse(request, 500, error.code, "the service is not set up correctly")
        except Exception as error:  # noqa: BLE001 - the outermost wall: its text may hold anything, so only its type is logged
            self.world.events.event("request_failed", request_id=request.id, error=type(error).__name__)
            return self._refuse(request, 500, "internal", "an internal error; it was logged")

    async def _route(self, request: Request) -> Answer:
        routes: dict[str, tuple[str, Callable[[Request], Awaitable[Answer]]]] = {
            "/health": ("GET", self._health),
            CRON_PATH: ("POST", self._cron),
            HOOK_PATH: ("POST", self._hook),
            TOKEN_PATH: ("POST", self._token),
        }
        known = routes.get(request.path)
        if known is not None:
            method, handler = known
            if request.method != method:
                raise HttpError(405, "method_not_allowed", f"use {method}", {"allow": method})
            return await handler(request)
        if request.path == "/sites" or request.path.startswith("/sites/"):
            await self._authorize(request)
            from runtime import management  # most calls are hooks

            return await management.route(request, self.world)
        raise HttpError(404, "not_found", "there is nothing at this path")

    async def _health(self, _: Request) -> Answer:
        return Answer(200, {"status": "ok"})

    async def _cron(self, request: Request) -> Answer:
        """Start a tick. Beside one that is running it finds nothing to claim, and does no harm."""
        if not await self._is_one(request.headers.get("x-cron-secret", ""), lambda secrets: secrets.cron):
            raise HttpError(401, "unauthorized", "Unauthorized")
        total = await self.tick()
        message = f"Recrawl of {total} due site{'' if total == 1 else 's'} started"
        return Answer(200, {"status": "triggered", "message": message, "total": total})

    async def _token(self, request: Request) -> Answer:
        """Five minutes in which a browser, which can send no header, may open a live crawl."""
        given = request.headers.get("x-api-key", "")
        for key in (await self.secrets()).api_keys:
            if webhook.equal(given, key):
                token = live_token.issue(key, self.world.clock())
                return Answer(200, {"token": token, "expires_in": int(live_token.LIFETIME.total_seconds())})
        raise HttpError(401, "unauthorized", "Unauthorized")

    async def _hook(self, request: Request) -> Answer:
        base_url, secret = _hook_fields(parse_object(request))
        async with asyncio.timeout(self.store_seconds):
            site = await self._find(base_url)
            if site is None:
                raise HttpError(404, "not_enrolled", "Site not enrolled")
            now = self.world.clock()
            if not webhook.verify(site, headers=request.headers, body=request.body, body_secret=secret, now=now):
                self.world.events.event(metrics.WEBHOOK_UNAUTHORIZED, request_id=request.id, site_id=site.id)
                raise HttpError(401, "unauthorized", "Invalid webhook secret")
            requested = await self.world.sites.request_recrawl(
                site.id,
                debounce_seconds=self.world.settings.debounce_seconds,
                message_id=request.headers[webhook.ID] if webhook.is_signed(request.headers) else None,
                replay_seconds=webhook.REPLAY_SECONDS,
            )
        if requested.replayed:
            raise HttpError(409, "replayed", "this webhook-id was used before; nothing was done")
        if requested.run_at is not None:
            wait = delay(requested.run_at, now)
            await start_run(self.world, Message(site_id=site.id, delay_seconds=wait))
        status = _status(site, requested)
        self.world.events.event(metrics.WEBHOOK_ACCEPTED, request_id=request.id, site_id=site.id, status=status)
        when = None if status == SiteStatus.PAUSED else views.moment(requested.next_crawl_at)
        return Answer(200, {"status": status, "base_url": site.base_url, "next_crawl_at": when})

    async def _find(self, base_url: str) -> Site | None:
        try:
            canonical = urls.canonical_base_url(base_url)
        except InputError:
            return None  # what cannot be enrolled is not enrolled
        return await self.world.sites.find(canonical)

    async def _authorize(self, request: Request) -> None:
        if not await self._is_one(request.headers.get("x-api-key", ""), lambda secrets: secrets.api_keys):
            raise HttpError(401, "unauthorized", "send a valid X-Api-Key header")

    async def _is_one(self, given: str, of: Callable[[Secrets], tuple[str, ...]]) -> bool:
        """Whether a caller's secret is valid. One that is not is looked for again among renewed secrets: right after a
        rotation the new one is known to the callers before it is to this process.
        """
        if webhook.equal_any(given, of(await self.secrets())):
            return True
        self.renew()
        return webhook.equal_any(given, of(await self.secrets()))

    def _refuse(
        self,
        request: Request,
        status: int,
        code: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        field: str | None = None,
    ) -> Answer:
        self.world.events.event("request_refused", request_id=request.id, status=status, code=code)
        body: dict[str, Any] = {"detail": detail, "code": code, "request_id": request.id}
        if field is not None:
            body["field"] = field
        return Answer(status, body, headers or {})


def _hook_fields(given: Mapping[str, Any]) -> tuple[str, str | None]:
    """`base_url` (top level, or under `data` as Standard Webhooks writes it) and the body secret."""
    data = given.get("data")
    base_url = given.get("base_url", data.get("base_url") if isinstance(data, dict) else None)
    secret = given.get("webhook_secret")
    if not isinstance(base_url, str) or not (secret is None or isinstance(secret, str)):
        raise HttpError(400, "bad_request", "send base_url and webhook_secret as text")
    return base_url, secret


def _status(before: Site, requested: Requested) -> str:
    """What the call came to: a run of its own (`scheduled`), one that was planned already, or a site that is paused.

    A run of its own moves the crawl time, or follows the run that holds the lease.
    """
    if before.status is SiteStatus.PAUSED:
        return SiteStatus.PAUSED
    moved = requested.next_crawl_at != before.next_crawl_at
    follows = requested.accepted and before.lease_owner is not None
    return "scheduled" if moved or follows else "already_scheduled"
