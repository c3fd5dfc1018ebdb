"""Published versions of a site's file: list them, put an older one back, confirm a held one."""

from __future__ import annotations

import re

from runtime import keys
from runtime.errors import InputError, NotFound, StaleClaim
from runtime.models import Claim, Commit, Outcome, Site
from runtime.ports import Message, World
from runtime.published import section_slugs
from runtime.publishing import put_public, replace_object
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

    What it puts aside is noted with the commit, in one statement: whoever dies before that has rolled nothing back, and
    the next run makes the row's file public again.

    :raises InputError: `version` is no SHA-256. :raises NotFound: there is no such version.
    :raises StaleClaim: a run is working on the site.
    """
    if version is not None and not _SHA256.fullmatch(version):
        raise InputError("version", "must be the SHA-256 of a published version (64 hex digits)")
    claim = await _claim(world, site_id)
    site = claim.site
    world.events.event("step", step="claimed", site_id=site_id, owner=OPERATOR)
    try:
        target = await _restore(world, claim, version)
    except BaseException:
        await world.sites.release(claim)
        raise
    world.events.event("step", step="published", site_id=site_id, sha256=target)
    aside = site.pinned_over or site.latest_llms_hash
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
    return row


async def confirm(world: World, site_id: str) -> None:
    """Let a held result be published: the next run, asked for here, publishes it if the site still gives it.

    :raises NotFound: nothing is held.
    """
    state = decode(await world.states.load(site_id))
    if state.held is None:
        raise NotFound("no result of this site is held")
    await world.sites.update(site_id, confirmed=state.held)
    await world.sites.request_recrawl(site_id, debounce_seconds=0)
    await world.queue.send([Message(site_id=site_id, force=True)])


async def _claim(world: World, site_id: str) -> Claim:
    claim = await world.sites.claim_site(site_id, lease_seconds=LEASE_SECONDS, owner=OPERATOR)
    if claim is None:
        raise StaleClaim("the site is being crawled; try again in a few minutes")
    return claim


async def _restore(world: World, claim: Claim, version: str | None) -> str:
    """Make a version's bytes the public object again; gives its hash."""
    base_url = claim.site.base_url
    sha256 = version or await _version_before(world, claim.site)
    stored = await world.publisher.read(keys.version(base_url, sha256))
    if stored is None:
        raise NotFound(f"version {sha256} of {base_url} does not exist")
    await _restore_sections(world, claim, sha256, stored.body)
    key = keys.public(base_url)
    await put_public(
        world.publisher,
        key,
        stored.body,
        sha256=sha256,
        generation=claim.generation,
        published=await world.publisher.read(key),
    )
    return sha256


async def _version_before(world: World, site: Site) -> str:
    others = [sha for sha in await published_versions(world, site.id) if sha != site.latest_llms_hash]
    if not others:
        raise NotFound(f"{site.base_url} has no earlier version")
    return others[0]


async def _restore_sections(world: World, claim: Claim, sha256: str, body: bytes) -> None:
    """A version that links section files brings their texts of that time back with it."""
    base_url = claim.site.base_url
    for slug in section_slugs(world.publisher, base_url, body):
        part = await world.publisher.read(keys.version_section(base_url, sha256, slug))
        if part is None:
            raise NotFound(f"part {slug} of version {sha256} does not exist")
        await replace_object(world.publisher, keys.section(base_url, slug), part.body, sha256, claim.generation)
