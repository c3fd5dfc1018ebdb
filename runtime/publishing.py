"""Puts a document where readers get it: immutable version first, then the public object, each a conditional write.
And puts a version back there.

A crash anywhere leaves the old file whole; the row learns of the new one only after this has returned.
"""

from __future__ import annotations

from collections.abc import Mapping

from runtime import keys
from runtime.document.render import Rendered
from runtime.errors import PreconditionFailed
from runtime.models import Claim
from runtime.ports import Publisher, Stored, World
from runtime.published import Published, read_published, section_slugs

PUT_BACK = "its missing or altered file was put back"


async def publish(world: World, claim: Claim, rendered: Rendered, published: Stored | None) -> str:
    """Publish, and give the public URL. Publishing what is there already writes nothing.

    The lease is renewed first. Whoever took the site over before that is found by it; whoever does later has written
    another object than `published`, and is found by the condition of the write.

    :param published: the public object as it was when the run began; another one there now is not overwritten.
    :raises StaleClaim: the lease was lost. :raises PreconditionFailed: somebody else wrote the object meanwhile.
    """
    await world.sites.renew_lease(claim, lease_seconds=world.settings.lease_seconds)
    publisher, base_url = world.publisher, claim.site.base_url
    body, sha256 = rendered.text.encode(), rendered.sha256
    await publisher.put_version(keys.version(base_url, sha256), body, sha256=sha256)
    for slug, text in rendered.sections.items():
        await publisher.put_version(keys.version_section(base_url, sha256, slug), text.encode(), sha256=sha256)
    world.events.event("step", step="version_stored", site_id=claim.site.id, sha256=sha256)
    for slug, text in rendered.sections.items():
        await replace_object(publisher, keys.section(base_url, slug), text.encode(), sha256, claim.generation)
    key = keys.public(base_url)
    if published is None or published.sha256 != sha256 or published.body != body:
        await put_public(publisher, key, body, sha256=sha256, generation=claim.generation, published=published)
    world.events.event("step", step="published", site_id=claim.site.id, sha256=sha256)
    return publisher.url(key)


async def put_public(
    publisher: Publisher, key: str, body: bytes, *, sha256: str, generation: int, published: Stored | None
) -> None:
    """Replace the public object if it is still `published`. An object with our own bytes counts as written: the answer
    to an earlier try was lost.
    """
    expected = None if published is None else published.etag
    try:
        await publisher.put(key, body, sha256=sha256, generation=generation, expected_etag=expected)
    except PreconditionFailed:
        now_there = await publisher.read(key)
        if now_there is None or now_there.body != body:
            raise


async def replace_object(publisher: Publisher, key: str, body: bytes, sha256: str, generation: int) -> None:
    """Write a file over whatever version of it is there."""
    current = await publisher.read(key)
    if current is None or (current.body, current.sha256) != (body, sha256):
        await put_public(publisher, key, body, sha256=sha256, generation=generation, published=current)


async def version_files(publisher: Publisher, base_url: str, sha256: str) -> dict[str, bytes] | None:
    """What readers get of a version: public key -> body, section files first. None: a part of it is not there."""
    root = await publisher.read(keys.version(base_url, sha256))
    if root is None:
        return None
    files = {}
    for slug in section_slugs(publisher, base_url, root.body):
        part = await publisher.read(keys.version_section(base_url, sha256, slug))
        if part is None:
            return None
        files[keys.section(base_url, slug)] = part.body
    return {**files, keys.public(base_url): root.body}


async def put_version_back(publisher: Publisher, claim: Claim, sha256: str, files: Mapping[str, bytes]) -> None:
    """Make the files of a version public again, as `version_files` gave them.

    :raises PreconditionFailed: somebody else wrote one of them meanwhile.
    """
    for key, body in files.items():
        await replace_object(publisher, key, body, sha256, claim.generation)


async def file_of(world: World, claim: Claim) -> tuple[Published | None, bool]:
    """What readers get as a run begins, and whether it was put back just now.

    Where the public object is gone or somebody else's, or lacks a section file, they get the version again that was
    there, whatever becomes of the run: it would write nothing for a site that fails, is held or was rolled back. The
    guard compares with it, too.

    :raises StaleClaim: the lease was lost. :raises StoreDown: the store does not answer.
    """
    site, publisher = claim.site, world.publisher
    found = await read_published(publisher, site.base_url)
    if found is not None and found.stored.sha256 and not found.missing:
        return found, False
    sha256 = site.latest_llms_hash if found is None or not found.stored.sha256 else found.stored.sha256
    files = None if sha256 is None else await version_files(publisher, site.base_url, sha256)
    if sha256 is None or files is None:
        return found, False
    await _put_back(world, claim, sha256, files)
    return await read_published(publisher, site.base_url), True


async def as_row_says(world: World, claim: Claim, public: Published | None) -> bool:
    """Put the row's version back at the end of a run that published nothing: whoever wrote what is public now died
    before its commit. Gives whether that was needed.

    :param public: as `file_of` gave it. :raises StaleClaim: the lease was lost.
    """
    sha256 = claim.site.latest_llms_hash
    if public is None or sha256 is None or public.stored.sha256 == sha256:
        return False
    files = await version_files(world.publisher, claim.site.base_url, sha256)
    if files is None:
        return False
    await _put_back(world, claim, sha256, files)
    return True


async def _put_back(world: World, claim: Claim, sha256: str, files: Mapping[str, bytes]) -> None:
    await world.sites.renew_lease(claim, lease_seconds=world.settings.lease_seconds)
    await put_version_back(world.publisher, claim, sha256, files)
    site = claim.site
    world.events.event("file_put_back", site_id=site.id, base_url=site.base_url, sha256=sha256)
