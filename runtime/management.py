"""The owner's calls under `/sites`: list, show, change, pause, run now, roll back. Callers are authorised already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime import enroll, versions
from runtime.errors import InputError
from runtime.http import Answer, HttpError, Request, parse_object
from runtime.models import Run, Site, SiteStatus
from runtime.ports import Message, World

PAGE_SIZE = 100


async def route(request: Request, world: World) -> Answer:
    """Answer a request whose path starts with `/sites`.

    :raises HttpError: 404 for an unknown path, 405 for a method that the path does not have.
    """
    parts = request.path.strip("/").split("/")
    if request.path.endswith("/") or not all(parts):
        raise HttpError(404, "not_found", "there is nothing at this path")
    key = (request.method, len(parts), parts[2] if len(parts) == 3 else "")
    match key:
        case ("POST", 1, _):
            return await _enroll(request, world)
        case ("GET", 1, _):
            return await _list(request, world)
        case ("GET", 2, _):
            return Answer(200, site_view(await world.sites.get(parts[1])))
        case ("PATCH", 2, _):
            return await _change(request, world, parts[1])
        case ("DELETE", 2, _):
            await world.sites.delete(parts[1])
            return Answer(200, {"status": "deleted", "id": parts[1]})
        case ("GET", 3, "runs"):
            await world.sites.get(parts[1])
            runs = await world.sites.runs(parts[1], limit=PAGE_SIZE)
            return Answer(200, {"runs": [run_view(run) for run in runs]})
        case ("POST", 3, action):
            return await _act(request, world, parts[1], action)
    if len(parts) > 3:
        raise HttpError(404, "not_found", "there is nothing at this path")
    allow = {1: "GET, POST", 2: "GET, PATCH, DELETE"}.get(len(parts), "GET, POST")
    raise HttpError(405, "method_not_allowed", f"use {allow}", {"allow": allow})


async def _enroll(request: Request, world: World) -> Answer:
    site, new = await enroll.enroll(world, parse_object(request))
    if site.status is SiteStatus.ACTIVE:
        await world.queue.send([Message(site_id=site.id, force=True)])
    view = site_view(site)
    if new:
        view["webhook_secret"] = site.webhook_secret
    return Answer(201 if new else 200, view)


async def _list(request: Request, world: World) -> Answer:
    sites = await world.sites.list_sites(after=request.parameter("after"), limit=PAGE_SIZE)
    following = sites[-1].base_url if len(sites) == PAGE_SIZE else None
    return Answer(200, {"sites": [site_view(site) for site in sites], "next": following})


async def _change(request: Request, world: World, site_id: str) -> Answer:
    given = parse_object(request)
    site = await world.sites.get(site_id)
    if "url" in given:
        raise InputError("url", "cannot be changed; enrol the other address as a site of its own")
    enabled = given.pop("enableAutoUpdate", None)
    if enabled is not None and not isinstance(enabled, bool):
        raise InputError("enableAutoUpdate", "must be true or false")
    status = None if enabled is None else enroll.status_of(enabled)
    options = enroll.parse_options(given, site.options)
    return Answer(200, site_view(await world.sites.update(site_id, options=options, status=status)))


async def _act(request: Request, world: World, site_id: str, action: str) -> Answer:
    match action:
        case "recrawl":
            requested = await world.sites.request_recrawl(site_id, debounce_seconds=0)
            await world.queue.send([Message(site_id=site_id, force=True)])
            return Answer(200, {"status": "scheduled", "next_crawl_at": requested.next_crawl_at.isoformat()})
        case "pause":
            return Answer(200, site_view(await world.sites.update(site_id, status=SiteStatus.PAUSED)))
        case "resume":
            return Answer(200, site_view(await world.sites.update(site_id, status=SiteStatus.ACTIVE)))
        case "rollback":
            given = parse_object(request) if request.body else {}
            version = given.get("version")
            if version is not None and not isinstance(version, str):
                raise InputError("version", "must be the SHA-256 of a published version")
            return Answer(200, site_view(await versions.rollback(world, site_id, version)))
        case "confirm":
            await versions.confirm(world, site_id)
            return Answer(200, {"status": "confirmed", "id": site_id})
    raise HttpError(404, "not_found", "there is nothing at this path")


def site_view(site: Site) -> dict[str, Any]:
    """A site as callers see it: the request's names for what they chose, the row's for what came of it; no secrets."""
    options = site.options
    return {
        "id": site.id,
        "url": site.base_url,
        "status": site.status,
        "maxPages": options.max_pages,
        "descLength": options.desc_length,
        "recrawlIntervalMinutes": options.recrawl_interval_minutes,
        "adaptive": options.adaptive,
        "requireSignature": options.require_signature,
        "include": list(options.include),
        "exclude": list(options.exclude),
        "llms_url": site.latest_llms_url,
        "llms_hash": site.latest_llms_hash,
        "sentinel_url": site.sentinel_url,
        "last_outcome": site.last_outcome,
        "last_error": site.last_error,
        "failure_count": site.failure_count,
        **{
            name: _time(getattr(site, name))
            for name in ("last_checked_at", "last_crawled_at", "last_changed_at", "next_crawl_at", "created_at")
        },
    }


def run_view(run: Run) -> dict[str, Any]:
    counts: Mapping[str, int] = run.counts
    return {
        "id": run.id,
        "outcome": run.outcome,
        "reason": run.reason,
        "error": run.error,
        "counts": dict(counts),
        "llms_hash": run.llms_hash,
        "started_at": _time(run.started_at),
        "finished_at": _time(run.finished_at),
        "duration_ms": run.duration_ms,
    }


def _time(value: Any) -> str | None:
    return None if value is None else value.isoformat()
