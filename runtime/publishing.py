"""Puts a document where readers get it: immutable version first, then the public object, each a conditional write.

A crash anywhere leaves the old file whole; the row learns of the new one only after this has returned.
"""

from __future__ import annotations

from runtime import keys
from runtime.document.render import Rendered
from runtime.errors import PreconditionFailed
from runtime.models import Claim
from runtime.ports import Publisher, Stored, World


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
    """Write a section file over whatever version of it is there."""
    current = await publisher.read(key)
    if current is None or current.body != body:
        await put_public(publisher, key, body, sha256=sha256, generation=generation, published=current)
