"""The owner's calls under `/sites`: list, show, explain, change, pause, run now, roll back. Callers are authorised."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from runtime import enroll, webhook
from runtime.errors import InputError, ServiceError
from runtime.http import MAX_BODY_BYTES, Answer, HttpError, Request, parse_object
from runtime.models import Budget, Site, SiteStatus
from runtime.ports import Message, World
from runtime.start import delay, start_run
from runtime.views import moment, run_view, site_view

__all__ = ["route", "run_view", "site_view"]

PAGE_SIZE = 100
ROTATION_OVERLAP_SECONDS = 3_600
MAX_OVERLAP_SECONDS = 604_800

Handler = Callable[[Request, World, str], Awaitable[Answer]]


async def route(request: Request, world: World) -> Answer:
    """Answer a request whose path starts with `/sites`.

    :raises HttpError: 404 for an unknown path, 405 for a method that the path does not have.
    """
    methods: Mapping[str, Handler] = {}
    site_id = ""
    match request.path.split("/"):
        case ["", "sites"]:
            methods = _COLLECTION
        case ["", "sites", site_id] if site_id:
            methods = _SITE
        case ["", "sites", site_id, part] if site_id:
            methods = _PARTS.get(part, {})
    if not methods:
        raise HttpError(404, "not_found", "there is nothing at this path")
    if request.method not in methods:
        allow = ", ".join(methods)
        raise HttpError(405, "method_not_allowed", f"use {allow}", {"allow": allow})
    return await methods[request.method](request, world, site_id)


async def _enroll(request: Request, world: World, _: str) -> Answer:
    secret = webhook.new_secret()
    site, new = await enroll.enroll(world, _fields(request), secret=secret)
    if not new and site.status is SiteStatus.ACTIVE:
        site = await _look_again(world, site)
    elif new and site.next_crawl_at == site.created_at:  # in a crowd it has a place of its own
        await start_run(world, Message(site_id=site.id))
    view = site_view(site)
    if site.webhook_secret == secret:
        view["webhook_secret"] = secret
    return Answer(201 if new else 200, view)


async def _list(request: Request, world: World, _: str) -> Answer:
    limit = _limit(request)
    sites = await world.sites.list_sites(after=request.parameter("after"), limit=limit)
    following = sites[-1].base_url if len(sites) == limit else None
    return Answer(200, {"sites": [site_view(site) for site in sites], "next": following})


async def _show(_: Request, world: World, site_id: str) -> Answer:
    return Answer(200, site_view(await world.sites.get(site_id)))


async def _schedule(_: Request, world: World, site_id: str) -> Answer:
    """Why the next look is when it is."""
    from runtime.outlook import outlook  # the schedules' rooms, which no other call here needs

    site, settings = await world.sites.get(site_id), world.settings
    budget = Budget() if settings.crawls_a_day is None else await world.sites.budget()
    planned = {"id": site.id, "url": site.base_url, "next_crawl_at": moment(site.next_crawl_at)}
    return Answer(200, {**planned, **outlook(site, settings, budget, world.clock())})


async def _change(request: Request, world: World, site_id: str) -> Answer:
    given = _fields(request)
    if "url" in given:
        raise InputError("url", "cannot be changed; enrol the other address as a site of its own")
    enabled = given.pop("enableAutoUpdate", None)
    status = None if enabled is None else enroll.status_of(enroll.check_flag("enableAutoUpdate", enabled))
    before = await world.sites.get(site_id)
    options = enroll.parse_options(given, before.options, policy=world.settings.policy)
    site = await world.sites.update(site_id, options=options, status=status)
    reshaped = options.shaping() != before.options.shaping() or options.services() != before.options.services()
    if site.status is SiteStatus.ACTIVE and (reshaped or before.status is not SiteStatus.ACTIVE):
        site = await _look_again(world, site)
    return Answer(200, site_view(site))


async def _forget(request: Request, world: World, site_id: str) -> Answer:
    """The row goes, and with it secret and history; the published file stays where readers have it."""
    _fields(request, optional=True, allowed=frozenset())
    await world.sites.delete(site_id)
    try:
        await world.states.delete(site_id)
    except ServiceError as error:
        # Without its row nothing reads it any more; the site is forgotten all the same.
        world.events.event("state_left_behind", site_id=site_id, code=error.code)
    return Answer(200, {"status": "deleted", "id": site_id})


async def _runs(request: Request, world: World, site_id: str) -> Answer:
    limit, before = _limit(request), request.parameter("before")
    await world.sites.get(site_id)
    runs = await world.sites.runs(site_id, limit=limit, before=None if before is None else _instant(before))
    # With a Z, because the + of an offset means a space in a query.
    following = f"{runs[-1].finished_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}" if len(runs) == limit else None
    return Answer(200, {"runs": [run_view(run) for run in runs], "next": following})


async def _recrawl(request: Request, world: World, site_id: str) -> Answer:
    _fields(request, optional=True, allowed=frozenset())
    requested = await world.sites.request_recrawl(site_id, debounce_seconds=0)
    # A paused site is crawled this once; the message says so, its row stays as it is.
    await start_run(world, Message(site_id=site_id, force=True))
    return Answer(200, {"status": "scheduled", "id": site_id, "next_crawl_at": moment(requested.next_crawl_at)})


async def _pause(request: Request, world: World, site_id: str) -> Answer:
    _fields(request, optional=True, allowed=frozenset())
    return Answer(200, site_view(await world.sites.update(site_id, status=SiteStatus.PAUSED)))


async def _resume(request: Request, world: World, site_id: str) -> Answer:
    _fields(request, optional=True, allowed=frozenset())
    site = await world.sites.update(site_id, status=SiteStatus.ACTIVE)
    return Answer(200, site_view(await _look_again(world, site)))


async def _rollback(request: Request, world: World, site_id: str) -> Answer:
    version = _fields(request, optional=True, allowed=frozenset({"version"})).get("version")
    if version is not None and not isinstance(version, str):
        raise InputError("version", "must be the SHA-256 of a published version (64 hex digits)")
    from runtime import versions  # reads documents and states, which no other call here needs

    return Answer(200, site_view(await versions.rollback(world, site_id, version)))


async def _confirm(request: Request, world: World, site_id: str) -> Answer:
    _fields(request, optional=True, allowed=frozenset())
    await world.sites.get(site_id)
    from runtime import versions

    await versions.confirm(world, site_id)
    return Answer(200, {"status": "confirmed", "id": site_id})


async def _rotate(request: Request, world: World, site_id: str) -> Answer:
    """A new webhook secret, shown once; the old one stays good for the overlap, or not at all after a leak."""
    given = _fields(request, optional=True, allowed=frozenset({"overlapSeconds"}))
    overlap = enroll.check_number(
        "overlapSeconds", given.get("overlapSeconds", ROTATION_OVERLAP_SECONDS), 0, MAX_OVERLAP_SECONDS
    )
    secret = webhook.new_secret()
    site = await world.sites.rotate_secret(site_id, secret, overlap_seconds=overlap)
    until = moment(site.previous_secret_until)
    return Answer(200, {"id": site.id, "url": site.base_url, "webhook_secret": secret, "previous_secret_until": until})


_COLLECTION: Mapping[str, Handler] = {"GET": _list, "POST": _enroll}
_SITE: Mapping[str, Handler] = {"GET": _show, "PATCH": _change, "DELETE": _forget}
_PARTS: Mapping[str, Mapping[str, Handler]] = {
    "runs": {"GET": _runs},
    "schedule": {"GET": _schedule},
    "recrawl": {"POST": _recrawl},
    "pause": {"POST": _pause},
    "resume": {"POST": _resume},
    "rollback": {"POST": _rollback},
    "confirm": {"POST": _confirm},
    "secret": {"POST": _rotate},
}


async def _look_again(world: World, site: Site) -> Site:
    """Ask for a run that sees what the owner changed; calls in a row share one, as webhooks do."""
    requested = await world.sites.request_recrawl(site.id, debounce_seconds=world.settings.debounce_seconds)
    if requested.run_at is not None:
        await start_run(world, Message(site_id=site.id, delay_seconds=delay(requested.run_at, world.clock())))
    return await world.sites.get(site.id)


def _fields(request: Request, *, optional: bool = False, allowed: frozenset[str] = enroll.FIELDS) -> dict[str, Any]:
    """The fields of the body, none of them unknown; no body at all is no fields where it is `optional`."""
    given = {} if optional and not request.body else parse_object(request, max_bytes=MAX_BODY_BYTES)
    enroll.check_fields(given, allowed)
    return given


def _limit(request: Request) -> int:
    text = request.parameter("limit") or str(PAGE_SIZE)
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    return enroll.check_number("limit", number, 1, PAGE_SIZE)


def _instant(text: str) -> datetime:
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        value = None
    if value is None or value.utcoffset() is None:
        raise InputError("before", "must be a time such as 2026-12-02T12:00:00Z")
    return value
