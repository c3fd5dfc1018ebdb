"""Rolling back and confirming through the API, on real folders."""

from __future__ import annotations

import hashlib
from dataclasses import asdict

from runtime import keys
from runtime.document.guard import HeldMemory
from runtime.models import Outcome
from runtime.ports import Message
from runtime.state import SiteState, encode
from tests.runtime.api.conftest import BASE, Service


async def published(service: Service, site_id: str, text: str) -> str:
    """A version as a run publishes it; gives its hash."""
    body, publisher = text.encode(), service.world.publisher
    sha256 = hashlib.sha256(body).hexdigest()
    await publisher.put_version(keys.version(BASE, sha256), body, sha256=sha256)
    key = keys.public(BASE)
    before = await publisher.read(key)
    etag = None if before is None else before.etag
    await publisher.put(key, body, sha256=sha256, generation=1, expected_etag=etag)
    await service.crawl(site_id, Outcome.UPDATED, latest_llms_hash=sha256, changed=True)
    return sha256


async def test_a_rollback_serves_the_version_before(service: Service) -> None:
    """Without a version it is the one before; the public file and the row say so, and so do the runs."""
    site = await service.enroll()
    first = await published(service, site["id"], "# Acme\n\n- [One](https://docs.example.com/one)\n")
    await published(service, site["id"], "# Acme\n\n- [Two](https://docs.example.com/two)\n")
    answer = await service.call("POST", f"/sites/{site['id']}/rollback")
    stored = await service.world.publisher.read(keys.public(BASE))

    assert (answer.status, answer.body["llms_hash"]) == (200, first)
    assert stored is not None
    assert b"/one" in stored.body
    runs = (await service.call("GET", f"/sites/{site['id']}/runs?limit=1")).body["runs"]
    assert runs[0]["reason"] == f"rolled back to {first[:12]}"


async def test_a_rollback_serves_the_version_that_is_named(service: Service) -> None:
    site = await service.enroll()
    shas = [await published(service, site["id"], f"# Acme {n}\n") for n in range(3)]
    answer = await service.call("POST", f"/sites/{site['id']}/rollback", {"version": shas[0]})

    assert (answer.status, answer.body["llms_hash"]) == (200, shas[0])


async def test_nothing_is_held_in_a_memory_that_cannot_be_read(service: Service) -> None:
    """404, as without one: the next run starts afresh."""
    site = await service.enroll()
    await service.world.states.save(site["id"], b"damaged")

    assert (await service.call("POST", f"/sites/{site['id']}/confirm")).status == 404
    assert (await service.sites.get(site["id"])).confirmed is None


async def test_a_held_result_is_confirmed(service: Service) -> None:
    """The row says what a person agreed to, and a run is asked for that publishes it."""
    site = await service.enroll()
    await service.crawl(site["id"], Outcome.HELD)
    held = asdict(HeldMemory("collapsed", "f" * 64, "a" * 64, 3, "2026-12-02T12:00:00Z", "2026-12-02T12:00:00Z"))
    await service.world.states.save(site["id"], encode(SiteState(held=held)))
    answer = await service.call("POST", f"/sites/{site['id']}/confirm")

    assert (answer.status, answer.body) == (200, {"status": "confirmed", "id": site["id"]})
    assert (await service.sites.get(site["id"])).confirmed == held
    assert await service.queued() == [Message(site_id=site["id"], force=True)]
