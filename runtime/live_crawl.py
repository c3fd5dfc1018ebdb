"""A crawl that somebody watches: once, or as the first run of a site that is enrolled by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from runtime import live, urls, webhook
from runtime.enhancement import enhance
from runtime.enroll import FIELDS, check_fields, enroll, parse_options
from runtime.errors import InputError
from runtime.live import Frame, Wanted
from runtime.models import Outcome, Site, SiteStatus
from runtime.ports import Events, Message, World
from runtime.published import read_published
from runtime.recrawl import Finished, recrawl
from runtime.state import SiteState
from runtime.survey import survey
from runtime.views import site_view
from runtime.web.gate import check_url

OWNER = "live"
ONE_OFF = "live"

Say = Callable[[Frame], None]


async def crawl_live(world: World, wanted: Wanted, say: Say, *, deadline: float | None = None) -> None:
    """Do what a client asked for, and say what happens; `done` is said last, whatever came of it. Never raises.

    :param deadline: event-loop time by which the crawl must have stopped; by default the site's own limit from now.
    """
    watched = replace(world, events=_Told(world.events, say))
    site: dict[str, Any] | None = None
    try:
        work = _enrolled if wanted.enroll else _once
        site = await work(watched, wanted, say, deadline)
    except Exception as error:  # noqa: BLE001 - the outermost wall: the client is told a sentence of ours, the log a type
        world.events.event("live_crawl_failed", error=getattr(error, "code", type(error).__name__))
        say(live.refusal(error))
    say(live.done(site))


async def start_live(world: World, wanted: Wanted) -> tuple[Site, bool, str]:
    """Enrol the site that a client asked for; gives the row, whether it is new, and its webhook secret if it is.

    :raises InputError: a field is missing or not allowed. :raises Refused: the URL may not be fetched.
    """
    secret = webhook.new_secret()
    site, new = await enroll(world, wanted.fields, secret=secret)
    return site, new, secret if site.webhook_secret == secret else ""


async def run_live(
    world: World, site: Site, new: bool, secret: str, say: Say, *, deadline: float | None = None
) -> dict[str, Any] | None:
    """The first run of a site that was just enrolled. "Enabled" is said when its row is committed, not before.

    A site that cannot be read is not enrolled: the row of a new one goes again. One that had a row before keeps it.
    Where another run is at work already, it is that run's file that will be published.
    """
    settings = world.settings
    claim = await world.sites.claim_site(
        site.id,
        lease_seconds=settings.lease_seconds,
        owner=OWNER,
        force=True,
        crawls_a_day=settings.crawls_a_day,
    )
    if claim is None:
        say(live.log("Another run is crawling the site"))
        return _told(site, secret, say)
    try:
        finished = await recrawl(world, claim, deadline=deadline, progress=lambda *seen: say(live.progress(*seen)))
    except asyncio.CancelledError:
        await world.sites.release(claim)
        raise
    if finished.outcome is Outcome.FAILED and new:
        await world.sites.delete(site.id)
        await world.states.delete(site.id)
        say(live.problem(f"{site.base_url} was not enrolled: {finished.reason}", "not_read"))
        return None
    if finished.again:  # a large site's next turn, or a change that was announced meanwhile: a worker's, unwatched
        await world.queue.send([Message(site_id=finished.site.id, force=True)])
    await _show(world, finished, say)
    return _told(finished.site, secret, say)


async def _enrolled(world: World, wanted: Wanted, say: Say, deadline: float | None) -> dict[str, Any] | None:
    site, new, secret = await start_live(world, wanted)
    return await run_live(world, site, new, secret, say, deadline=deadline)


def _told(site: Site, secret: str, say: Say) -> dict[str, Any]:
    """The row as the client gets it; that it is kept in step is said of one that is."""
    if site.status is SiteStatus.ACTIVE:
        say(live.log(live.ENABLED))
    return {**site_view(site), **({"webhook_secret": secret} if secret else {})}


async def _show(world: World, finished: Finished, say: Say) -> None:
    """What readers get, and where."""
    say(live.log(f"{finished.outcome}: {finished.reason}"))
    published = await read_published(world.publisher, finished.site.base_url)
    if published is not None:
        say(Frame("result", published.text))
        if finished.site.latest_llms_url:
            say(Frame("url", finished.site.latest_llms_url))


async def _once(world: World, wanted: Wanted, say: Say, deadline: float | None) -> None:
    """Crawl without enrolling: nothing is stored."""
    site = one_off(world, wanted)
    limit = asyncio.get_running_loop().time() + world.settings.limits.site_deadline_seconds
    deadline = limit if deadline is None else min(deadline, limit)
    result = await survey(
        world,
        site,
        SiteState(),
        None,
        forced=True,
        now=world.clock(),
        deadline=deadline,
        progress=lambda *seen: say(live.progress(*seen)),
    )
    if result.rendered is None or result.outcome is not Outcome.UPDATED:
        say(live.problem(f"{site.base_url}: {result.reason}", "not_read"))
        return
    result = await enhance(world, site, result, None)
    say(live.log(f"Crawl complete: {result.counts['pages']} pages"))
    outgoing = result.outgoing or result.rendered
    if outgoing is not None:
        say(Frame("result", outgoing.text))


def one_off(world: World, wanted: Wanted) -> Site:
    """A site without a row.

    :raises InputError: a field is missing or not allowed. :raises Refused: the URL may not be fetched.
    """
    check_fields(wanted.fields, FIELDS)
    url = wanted.fields.get("url")
    if not isinstance(url, str):
        raise InputError("url", "is missing: send the address of the site, such as https://docs.example.com")
    base_url = urls.canonical_base_url(url)
    check_url(urls.entry_url(base_url), world.settings.policy)
    return Site(id=ONE_OFF, base_url=base_url, options=parse_options(wanted.fields, policy=world.settings.policy))


@dataclass(frozen=True, slots=True)
class _Told:
    """The events of a run, its steps also as lines for the client."""

    events: Events
    say: Say

    def event(self, name: str, **fields: Any) -> None:
        self.events.event(name, **fields)
        step = live.STEPS.get(str(fields.get("step"))) if name == "step" else None
        if step is not None:
            self.say(live.log(step))
