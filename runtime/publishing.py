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


async def publish(world: World, claim: Claim, rendered: Rendered, public: Published | None) -> str:
    """Publish, and give the public URL. Publishing what is there already writes nothing.

    The lease is renewed first. Whoever took the site over before that is found by it; whoever does later has written
    other objects than `public`, and is found by the condition of each write.

    :param public: what readers had when the run began; whatever else they have now is not overwritten.
    :raises StaleClaim: the lease was lost. :raises PreconditionFailed: somebody else wrote an object meanwhile.
    """
    await world.sites.renew_lease(claim, lease_seconds=world.settings.lease_seconds)
    publisher, base_url = world.publisher, claim.site.base_url
    body, sha256 = rendered.text.encode(), rendered.sha256
    await publisher.put_version(keys.version(base_url, sha256), body, sha256=sha256)
    for slug, text in rendered.sections.items():
        await publisher.put_version(keys.version_section(base_url, sha256, slug), text.encode(), sha256=sha256)
    world.events.event("step", step="version_stored", site_id=claim.site.id, sha256=sha256)
    sections = {keys.section(base_url, slug): text.encode() for slug, text in rendered.sections.items()}
    await put_files(publisher, claim, sha256, {**sections, keys.public(base_url): body}, public)
    world.events.event("step", step="published", site_id=claim.site.id, sha256=sha256)
    return publisher.url(keys.public(base_url))


async def put_files(
    publisher: Publisher, claim: Claim, sha256: str, files: Mapping[str, bytes], public: Published | None
) -> None:
    """Give readers the files of one document, its root last. Each is written only over what `public` has.

    :raises PreconditionFailed: somebody else wrote one of them meanwhile.
    """
    root = keys.public(claim.site.base_url)
    for key, body in files.items():
        if key == root:
            known = None if public is None else public.stored
            if known is not None and (known.body, known.sha256) == (body, sha256):
                continue
        else:
            known = None if public is None else public.sections.get(publisher.url(key))
            known = known or await _left_over(publisher, key, root, public)
            if known is not None and known.body == body:
                continue
        await put_public(publisher, key, body, sha256=sha256, generation=claim.generation, published=known)


async def _left_over(publisher: Publisher, key: str, root: str, public: Published | None) -> Stored | None:
    """A section file that no longer, or not yet, belongs to what is public.

    :raises PreconditionFailed: something else is public by now, to which it may belong.
    """
    found, now_there = await publisher.read(key), await publisher.read(root)
    if (now_there and now_there.etag) != (public and public.stored.etag):
        raise PreconditionFailed(f"{root} was changed by somebody else: read it again before writing")
    return found


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
    await _put_back(world, claim, sha256, files, found)
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
    await _put_back(world, claim, sha256, files, public)
    return True


async def _put_back(
    world: World, claim: Claim, sha256: str, files: Mapping[str, bytes], public: Published | None
) -> None:
    await world.sites.renew_lease(claim, lease_seconds=world.settings.lease_seconds)
    await put_files(world.publisher, claim, sha256, files, public)
    site = claim.site
    world.events.event("file_put_back", site_id=site.id, base_url=site.base_url, sha256=sha256)
