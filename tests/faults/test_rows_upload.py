"""The rows of the fault matrix about uploads and commits."""

from __future__ import annotations

import asyncio
import threading
import urllib.request
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from email.message import Message
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import pytest
from botocore.stub import Stubber

from runtime import keys
from runtime.document.render import Rendered
from runtime.errors import PreconditionFailed, StaleClaim
from runtime.models import Outcome
from runtime.publish.s3 import S3Publisher, make_client
from runtime.published import read_published
from runtime.publishing import publish
from runtime.recrawl import look, settle
from tests.faults.invariants import check_invariants
from tests.faults.loop import run
from tests.faults.ports import Fault
from tests.faults.service import DAY, LEASE, PUBLIC, Service, base, sha, site_of, titles, write
from tests.stand_ins.s3 import S3Server

T = TypeVar("T")


@contextmanager
def service_of(home: Path, count: int = 1) -> Iterator[Service]:
    made = Service(home, site_of(count))
    try:
        yield made
    finally:
        made.close()


def at_once(call: Coroutine[Any, Any, T]) -> T:
    """The answer of a call of a SQLite store, which waits for nothing: for use where nothing can be awaited."""
    try:
        call.send(None)
    except StopIteration as done:
        answer: T = done.value
        return answer
    raise AssertionError("the call waits")


def edit(service: Service, version: int = 2) -> None:
    write(service.site, 0, titles(0, version=version), dated=f"2026-06-{version:02}")


@pytest.mark.parametrize("body", [b"# Edited by hand\n", b"", b"\xff\xfe not even text"])
def test_f_51_a_file_that_was_edited_by_hand_is_put_right(home: Path, body: bytes) -> None:
    """Other bytes at the public key are seen by the next run, whatever the sitemap says, and replaced by the site's."""

    async def scenario(service: Service) -> None:
        await service.enroll(0)
        await service.tick()
        good = service.file(0)
        (service.home / "published" / keys.public(base(0))).write_bytes(body)

        summary = await service.tick(after=2 * DAY)
        assert summary is not None
        assert service.file(0) == good
        [line] = await service.sites.runs((await service.row(0)).id, limit=1)
        assert "put back" in line.reason
        await check_invariants(service, settled=True, truth={base(0): good})

    with service_of(home) as service:
        run(scenario(service))


@pytest.mark.parametrize("method", ["put_version", "put"])
def test_f_53_an_upload_whose_answer_is_lost_is_done(home: Path, method: str) -> None:
    """The object is there, the answer is not: the next run meets its own bytes, writes nothing, and commits."""

    async def scenario(service: Service) -> None:
        await service.enroll(0)
        service.script.arm("publisher", Fault.LOST, method=method)
        await service.tick()
        await check_invariants(service)
        first = await service.row(0)
        assert (first.last_outcome, first.failure_count, first.latest_llms_hash) == (Outcome.DEFERRED, 0, None)
        service.script.arm("publisher", Fault.FAIL, nth=10_000)
        await service.tick(after=timedelta(hours=1))

        assert (await service.row(0)).latest_llms_hash == sha(service.file(0))
        assert service.public.shown[keys.public(base(0))] == [b"", service.file(0)]
        await check_invariants(service, settled=True, truth={base(0): await service.truth(0)})

    with service_of(home) as service:
        run(scenario(service))


def test_f_56_of_two_workers_the_stale_one_gives_up(home: Path) -> None:
    """A worker outlives its lease with an older crawl in hand: its upload meets If-Match, its commit the fence."""

    async def scenario(service: Service) -> None:
        [row] = await service.enroll(0)
        await service.tick()
        edit(service, 2)
        service.advance(2 * DAY)
        stale = await service.sites.claim_site(row.id, lease_seconds=60, owner="stale", force=True)
        assert stale is not None
        reached, go_on = asyncio.Event(), asyncio.Event()
        service.world = replace(service.world, publisher=_Gate(service.public, reached, go_on))
        late = asyncio.ensure_future(look(service.world, stale))
        await reached.wait()

        # Its lease ends; another worker takes the site, sees a newer edition and publishes it.
        edit(service, 3)
        service.advance(LEASE + timedelta(seconds=1))
        service.world = service.sound
        assert (await service.tick()) is not None
        newer = service.file(0)
        go_on.set()
        seen = await late
        with pytest.raises(StaleClaim):
            await settle(service.sound, seen)

        assert isinstance(seen.fault, PreconditionFailed)
        assert b"edition 3" in newer
        assert service.file(0) == newer
        assert [line.generation for line in await service.sites.runs(row.id)] == [3, 1]
        await check_invariants(service, settled=True, truth={base(0): newer})

    with service_of(home) as service:
        run(scenario(service))


class _Gate:
    """A publisher before whose first write its worker is stopped."""

    def __init__(self, inner: Any, reached: asyncio.Event, go_on: asyncio.Event) -> None:
        self._inner, self._reached, self._go_on = inner, reached, go_on

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def put_version(self, key: str, body: bytes, *, sha256: str) -> None:
        self._reached.set()
        await self._go_on.wait()
        await self._inner.put_version(key, body, sha256=sha256)


@pytest.mark.parametrize(("conflicts", "published"), [(1, True), (3, True), (4, False)])
def test_f_58_a_conflict_of_two_writes_is_waited_out(home: Path, conflicts: int, published: bool) -> None:
    """409 up to three times is repeated after a random wait; a bucket that never decides is put off, and nobody blamed."""
    waits: list[float] = []
    client = make_client(endpoint_url="http://127.0.0.1:9", access_key_id="k", secret_access_key="s")

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    async def scenario(service: Service) -> None:
        await service.enroll(0)
        publisher = S3Publisher(client, "bucket", PUBLIC, sleep=pause, uniform=lambda: 0.5)
        service.world = replace(service.world, publisher=publisher)
        with Stubber(client) as stub:
            stub.add_client_error("get_object", "NoSuchKey", http_status_code=404)
            for _ in range(conflicts):
                stub.add_client_error("put_object", "ConditionalRequestConflict", http_status_code=409)
            if published:
                stub.add_response("put_object", {"ETag": '"1"'})
                stub.add_response("put_object", {"ETag": '"2"'})
            await service.tick()
            stub.assert_no_pending_responses()
        row = await service.row(0)
        assert (row.last_outcome, row.failure_count) == (Outcome.UPDATED if published else Outcome.DEFERRED, 0)
        assert len(waits) == min(conflicts, 3)
        assert waits == sorted(waits)

    with service_of(home) as service:
        run(scenario(service))


def test_f_59_r2_gets_no_checksum_trailer(s3_server: S3Server) -> None:
    """Our client sends a body as it is, where boto3's own defaults would send a trailer that R2 refuses."""
    bucket, sent = s3_server.make_bucket("checksums"), []
    client = s3_server.client()
    client.meta.events.register("before-send.s3.PutObject", lambda request, **_: sent.append(dict(request.headers)))
    asyncio.run(_publish(S3Publisher(client, bucket, PUBLIC), 1))

    assert client.meta.config.request_checksum_calculation == "when_required"  # type: ignore[attr-defined]
    assert sent
    for headers in sent:
        names = {name.lower() for name in headers}
        assert not any(name.startswith("x-amz-checksum") or name == "x-amz-trailer" for name in names)
        assert headers.get("Content-Encoding", b"") != b"aws-chunked"


def rendered(number: int) -> Rendered:
    text = f"# Site\n\n> Edition {number}.\n\n## Docs\n\n- [Page](https://s00.example.com/{'x' * (number % 50)})\n" * 1
    return Rendered(text=text, sections={}, sha256=sha(text.encode()))


async def _publish(publisher: Any, number: int) -> bytes:
    """One publish as a run does it: the version first, then the public object under its ETag."""
    made, key = rendered(number), keys.public(base(0))
    stored = await publisher.read(key)
    body = made.text.encode()
    await publisher.put_version(keys.version(base(0), made.sha256), body, sha256=made.sha256)
    expected = None if stored is None else stored.etag
    await publisher.put(key, body, sha256=made.sha256, generation=number, expected_etag=expected)
    return body


@pytest.mark.parametrize("method", ["put", "put_version", "read"])
def test_f_60_refused_credentials_are_no_sites_failure(home: Path, method: str) -> None:
    """The bucket says no: it is said once, the rest of the batch is put off, no failure is counted, and later all is well."""

    async def scenario(service: Service) -> None:
        await service.enroll(*range(30))
        service.script.arm("publisher", Fault.REFUSED, times=1_000, method=method)
        summary = await service.tick()

        assert summary is not None
        assert (summary.total, summary.deferred, summary.errors) == (30, 30, 0)
        assert len(service.said("configuration_failed")) == 1
        assert service.script.struck <= 16
        for row in await service.rows():
            assert (row.failure_count, row.attempts, row.last_error, row.latest_llms_hash) == (0, 0, None, None)
        await check_invariants(service)
        await service.recover(ticks=1)
        await check_invariants(service, settled=True, truth={base(n): await service.truth(n) for n in (0, 29)})

    with service_of(home, 30) as service:
        run(scenario(service))


def test_f_60_three_ticks_without_a_bucket_quarantine_nobody(home: Path) -> None:
    """Every tick of a week finds the bucket down: the sites are still active when it is back."""

    async def scenario(service: Service) -> None:
        await service.enroll(0, 1)
        service.script.arm("publisher", Fault.FAIL, times=10_000)
        for _ in range(10):
            await service.tick(after=DAY)
        assert [(row.status, row.failure_count, row.attempts) for row in await service.rows()] == [("active", 0, 0)] * 2
        await service.recover(ticks=1)
        await check_invariants(service, settled=True, truth={base(0): await service.truth(0)})

    with service_of(home, 2) as service:
        run(scenario(service))


def test_f_61_readers_get_one_edition_whole(home: Path) -> None:
    """While a hundred editions are published, every body that is read is one of them, whole."""
    service = Service(home, site_of(1))
    known = {rendered(number).text.encode() for number in range(101)}
    asyncio.run(_publish(service.public, 0))
    path, done = home / "published" / keys.public(base(0)), threading.Event()
    read: list[bytes] = []

    def reader() -> None:
        while not done.is_set():
            read.append(path.read_bytes())

    threads = [threading.Thread(target=reader) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 101):
        asyncio.run(_publish(service.public, number))
    done.set()
    for thread in threads:
        thread.join()
    service.close()

    assert len(read) > 100
    assert set(read) <= known
    print(f"{len(read)} reads, {len(set(read))} editions seen, none torn")


def test_f_61_readers_of_a_bucket_get_one_edition_whole(s3_server: S3Server) -> None:
    """The same over HTTP from a real S3-compatible server."""
    bucket = s3_server.make_bucket("readers")
    publisher = S3Publisher(s3_server.client(), bucket, PUBLIC)
    known = {rendered(number).text.encode() for number in range(21)}
    asyncio.run(_publish(publisher, 0))
    url = _signed(s3_server, bucket)
    read: list[bytes] = []
    done = threading.Event()

    def reader() -> None:
        while not done.is_set():
            with urllib.request.urlopen(url) as answer:
                read.append(answer.read())

    threads = [threading.Thread(target=reader) for _ in range(4)]
    for thread in threads:
        thread.start()

    async def editions() -> None:
        for number in range(1, 21):
            await _publish(publisher, number)

    asyncio.run(editions())
    done.set()
    for thread in threads:
        thread.join()

    assert len(read) > 20
    assert set(read) <= known


def _signed(server: S3Server, bucket: str) -> str:
    return server.client().generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": keys.public(base(0))})


def _headers(url: str) -> Message:
    with urllib.request.urlopen(url) as answer:
        headers: Message = answer.headers
        return headers


def test_f_62_a_cache_shows_an_old_file_for_five_minutes_at_most(s3_server: S3Server) -> None:
    """`Cache-Control: public, max-age=300`, and an ETag that is another one for each edition."""
    bucket = s3_server.make_bucket("caches")
    publisher = S3Publisher(s3_server.client(), bucket, PUBLIC)
    etags = []

    async def scenario() -> None:
        for number in (1, 2):
            await _publish(publisher, number)
            headers = await asyncio.to_thread(_headers, _signed(s3_server, bucket))
            assert headers["Cache-Control"] == "public, max-age=300"
            etags.append(headers["ETag"])

    asyncio.run(scenario())
    assert len(set(etags)) == 2


def test_f_64_a_commit_that_fails_after_the_upload_is_made_up_for(home: Path) -> None:
    """The row cannot be written: the lease runs out, the next run finds its bytes published and only commits."""

    async def scenario(service: Service) -> None:
        [row] = await service.enroll(0)
        await service.tick()
        edit(service)
        service.advance(2 * DAY)
        service.script.arm("sites", Fault.FAIL, times=2, method="commit_run")
        assert await service.tick() is None
        held = await service.row(0)
        published = service.file(0)
        assert (b"edition 2" in published, held.latest_llms_hash != sha(published)) == (True, True)
        assert held.lease_owner is not None
        await check_invariants(service)

        await service.queue.receive(100)  # the process is gone, and what it would have retried with it
        # Not before the lease is over; then one commit, and no byte is written anew.
        service.script.disarm()
        assert (await service.tick()).total == 0  # type: ignore[union-attr]
        service.script.arm("publisher", Fault.FAIL, nth=1, method="put")
        await service.tick(after=LEASE)
        assert service.script.struck == 0
        assert (await service.row(0)).latest_llms_hash == sha(published)
        assert [line.generation for line in await service.sites.runs(row.id)] == [3, 1]
        await check_invariants(service, settled=True, truth={base(0): published})

    with service_of(home) as service:
        run(scenario(service))


def test_f_65_a_row_deleted_during_the_crawl_is_no_error(home: Path) -> None:
    """Nothing is committed and nothing is retried; the published file stays where readers have it."""

    async def scenario(service: Service) -> None:
        [row, _] = await service.enroll(0, 1)
        await service.tick()
        edit(service)

        def hear(name: str, fields: dict[str, Any]) -> None:
            if name == "step" and fields["step"] == "crawled" and fields["site_id"] == row.id:
                at_once(service.sites.delete(row.id))

        service.hearing.append(hear)
        summary = await service.tick(after=2 * DAY)
        assert summary is not None
        assert (summary.total, summary.errors, service.errors) == (1, 0, [])
        assert await service.sites.find(base(0)) is None
        assert await service.states.load(row.id) is not None  # left by the run before; nobody reads it any more
        assert service.file(0)
        [dropped] = service.said("message_dropped")
        assert dropped["code"] == "stale_claim"
        await check_invariants(service, settled=True)

    with service_of(home, 2) as service:
        run(scenario(service))


@pytest.mark.parametrize("step", ["claimed", "robots_read", "sitemaps_read", "crawled", "surveyed", "published"])
def test_f_66_a_webhook_during_the_crawl_brings_a_second_one(home: Path, step: str) -> None:
    """Whenever in a run the change is announced, a second run sees it; the commit of the first does not put it off."""

    async def scenario(service: Service) -> None:
        [row] = await service.enroll(0)
        await service.tick()
        edit(service, 2)
        announced: list[str] = []

        def hear(name: str, fields: dict[str, Any]) -> None:
            if name == "step" and fields["step"] == step and not announced:
                announced.append(step)
                write(service.site, 0, titles(0, version=3), dated="2026-06-02")
                service.advance(timedelta(seconds=1))
                at_once(service.sites.request_recrawl(row.id))

        service.hearing.append(hear)
        await service.tick(after=2 * DAY)

        assert announced
        assert b"edition 3" in service.file(0)
        assert len(await service.sites.runs(row.id)) == 3
        await check_invariants(service, settled=True, truth={base(0): await service.truth(0)})

    with service_of(home) as service:
        run(scenario(service))


def test_publishing_what_is_there_writes_nothing(home: Path) -> None:
    """Equal bytes need no upload: the version is left alone and the public object is not touched."""

    async def scenario(service: Service) -> None:
        [row] = await service.enroll(0)
        await service.tick()
        claim = await service.sites.claim_site(row.id, lease_seconds=60, owner="again", force=True)
        assert claim is not None
        public = await read_published(service.public, base(0))
        assert public is not None
        path = service.home / "published" / keys.public(base(0))
        before = path.stat().st_mtime_ns
        again = Rendered(text=public.text, sections={}, sha256=sha256(public.stored.body).hexdigest())
        await publish(service.sound, claim, again, public)
        assert path.stat().st_mtime_ns == before

    with service_of(home) as service:
        run(scenario(service))
