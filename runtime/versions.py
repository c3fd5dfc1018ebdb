"""Published versions of a site's file: list them, put an older one back, confirm a held one."""

from __future__ import annotations

import re

from runtime import keys
from runtime.errors import CorruptState, InputError, NotFound, StaleClaim
from runtime.models import Claim, Commit, Outcome, Site
from runtime.ports import Message, World
from runtime.published import read_published
from runtime.publishing import put_files, version_files
from runtime.start import start_run
from runtime.state import decode

OPERATOR = "operator"
LEASE_SECONDS = 120

_SHA256 = re.compile(r"[0-9a-f]{64}")


async def published_versions(world: World, site_id: str, *, limit: int = 100) -> list[str]:
    """The hashes of published versions, newest first, each once."""
    runs = await world.sites.runs(site_id, limit=limit)
    return list(dict.fromkeys(run.llms_hash for run in runs if run.llms_hash and run.outcome is Outcome.UPDATED))


async def rollback(world: World, site_id: str, version: str | None = None) -> Site:
    """Put a version back, the one before the current by default. The next run does not undo it until the site changes.

    What it puts aside is noted with the commit, in one statement. Whoever dies before that has rolled nothing back: the
    claim has made the site due, and its next run makes the row's file public again.

    :raises InputError: `version` is no SHA-256. :raises NotFound: there is no such version.
    :raises StaleClaim: a run is working on the site.
    """
    if version is not None and not _SHA256.fullmatch(version):
        raise InputError("version", "must be the SHA-256 of a published version (64 hex digits)")
    site = await world.sites.get(site_id)
    target = version or await _version_before(world, site)
    files = await version_files(world.publisher, site.base_url, target)
    if files is None:
        raise NotFound(f"version {target} of {site.base_url} does not exist, or a part of it")
    claim = await _claim(world, site)
    world.events.event("step", step="claimed", site_id=site_id, owner=OPERATOR)
    try:
        public = await read_published(world.publisher, site.base_url)
        await world.sites.renew_lease(claim, lease_seconds=LEASE_SECONDS)  # nobody wrote that meanwhile
        await put_files(world.publisher, claim, target, files, public)
    except BaseException:
        await world.sites.release(claim)
        raise
    world.events.event("step", step="published", site_id=site_id, sha256=target)
    aside = claim.site.pinned_over or claim.site.latest_llms_hash
    commit = Commit(
        run_id=f"rollback-{claim.generation}-{site_id}",
        tick_id=None,
        outcome=Outcome.UPDATED,
        reason=f"rolled back to {target[:12]}",
        next_crawl_at=site.next_crawl_at,
        changed=True,
        latest_llms_hash=target,
        latest_llms_url=world.publisher.url(keys.public(site.base_url)),
        pinned_over=None if aside == target else aside,
    )
    row = await world.sites.commit_run(claim, commit)
    world.events.event("step", step="committed", site_id=site_id, run_id=commit.run_id)
    if claim.site.requested_at is not None and claim.site.requested_at < claim.claimed_at:
        await world.sites.request_recrawl(site_id)  # a change was announced before, and nobody has looked at it
        return await world.sites.get(site_id)
    return row


async def confirm(world: World, site_id: str) -> None:
    """Let a held result be published: the next run, asked for here, publishes it if the site still gives it.

    :raises NotFound: nothing is held.
    """
    try:
        held = decode(await world.states.load(site_id)).held
    except CorruptState:
        held = None  # the next run does without it as well
    if held is None:
        raise NotFound("no result of this site is held")
    await world.sites.update(site_id, confirmed=held)
    await world.sites.request_recrawl(site_id, debounce_seconds=0)
    await start_run(world, Message(site_id=site_id, force=True))


async def _claim(world: World, site: Site) -> Claim:
    """The site, forced, so that whoever has to do it over finds it due.

    :raises StaleClaim: somebody else has it, or has just changed its file.
    """
    claim = await world.sites.claim_site(site.id, lease_seconds=LEASE_SECONDS, owner=OPERATOR, force=True)
    if claim is None:
        raise StaleClaim("the site is being crawled; try again in a few minutes")
    if claim.site.latest_llms_hash != site.latest_llms_hash:
        await world.sites.release(claim)
        raise StaleClaim("the site's file has just changed; look at it, and try again")
    return claim


async def _version_before(world: World, site: Site) -> str:
    others = [sha for sha in await published_versions(world, site.id) if sha != site.latest_llms_hash]
    if not others:
        raise NotFound(f"{site.base_url} has no earlier version")
    return others[0]
