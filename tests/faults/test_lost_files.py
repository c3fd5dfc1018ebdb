"""Ways to lose a good file that are nobody's fault in particular: each is tried, and readers have the file again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from runtime import keys
from runtime.errors import NotFound, PreconditionFailed, StaleClaim
from runtime.models import Outcome
from runtime.versions import rollback
from tests.faults.invariants import check_invariants
from tests.faults.loop import run
from tests.faults.ports import Fault, Killed
from tests.faults.service import DAY, Service, base, sha, site_of, titles, write
from tests.stand_ins.site import HTML, Reply, text

PAGES = 12
Trouble = Callable[[Service], Awaitable[None]]


async def edited(service: Service, version: int = 2, pages: int = PAGES) -> None:
    write(service.site, 0, titles(0, version=version, count=pages), dated=f"2026-06-{version:02}")
    for page in range(pages, PAGES):
        service.site.replies[f"{base(0)}/page-{page}"] = (410, HTML, b"gone")


async def quiet(service: Service) -> None:
    """Nothing has changed: the sitemap spares the crawl."""


async def down(service: Service) -> None:
    everything(service, (500, HTML, b"Internal Server Error"))


async def empty(service: Service) -> None:
    everything(service, (200, HTML, b"<html></html>"))


async def shut(service: Service) -> None:
    service.site.replies[f"{base(0)}/robots.txt"] = text("User-agent: *\nDisallow: /")


async def collapsed(service: Service) -> None:
    await edited(service, pages=1)


async def rolled_back(service: Service) -> None:
    """Two versions, the older one put back: the site still gives the newer one, and its crawl is not spared."""
    await edited(service)
    await service.tick(after=2 * DAY)
    row = await rollback(service.world, (await service.row(0)).id)
    await service.sites.request_recrawl(row.id)


def everything(service: Service, reply: Reply) -> None:
    for url in [url for url in service.site.replies if url.startswith(base(0))]:
        service.site.replies[url] = reply


def path_of(service: Service) -> Path:
    return service.home / "published" / keys.public(base(0))


def name_of(trouble: Trouble) -> str:
    return str(getattr(trouble, "__name__", ""))


TROUBLES: dict[Trouble, Outcome] = {
    quiet: Outcome.UNCHANGED_SITEMAP,
    down: Outcome.FAILED,
    empty: Outcome.FAILED,
    shut: Outcome.HELD,
    collapsed: Outcome.HELD,
    rolled_back: Outcome.UNCHANGED_CONTENT,
}


@pytest.mark.parametrize("body", [None, b"", b"# Somebody else's\n\n- [One](https://s00.example.com/page-0)\n"])
@pytest.mark.parametrize("trouble", TROUBLES, ids=name_of)
def test_a_file_that_is_gone_comes_back_whatever_the_run_sees(home: Path, trouble: Trouble, body: bytes | None) -> None:
    """The public object is deleted, emptied or overwritten by somebody: the run puts the row's version back, and says so.

    It does so for a site that it could publish nothing of, and never publishes a collapse as a "first" file.
    """

    async def scenario(service: Service) -> None:
        await service.enroll(0)
        await service.tick()
        await trouble(service)
        good = service.file(0)
        assert sha(good) == (await service.row(0)).latest_llms_hash
        path_of(service).unlink() if body is None else path_of(service).write_bytes(body)

        await service.tick(after=2 * DAY)
        assert service.file(0) == good
        row = await service.row(0)
        assert row.last_outcome is TROUBLES[trouble]
        [line] = await service.sites.runs(row.id, limit=1)
        assert "put back" in line.reason
        assert len(service.said("file_put_back")) == 1
        await check_invariants(service, settled=True)

    service = Service(home, site_of(1, pages=PAGES))
    run(scenario(service))
    service.close()


@pytest.mark.parametrize("trouble", [down, shut, collapsed], ids=name_of)
def test_what_a_dead_worker_left_is_taken_back_when_the_site_gives_nothing(home: Path, trouble: Trouble) -> None:
    """It died between upload and commit, and then the site went away: readers get what the row says."""

    async def scenario(service: Service) -> None:
        await service.enroll(0)
        await service.tick()
        before = service.file(0)
        await edited(service)
        service.script.arm("sites", Fault.KILL_BEFORE, method="commit_run")
        with pytest.raises(Killed):
            await service.tick(after=2 * DAY)
        service.script.disarm()
        assert service.file(0) != before
        while await service.queue.receive(10):
            pass
        await trouble(service)
        await service.tick(after=timedelta(hours=1))
        assert service.file(0) == before
        await check_invariants(service, settled=True)

    service = Service(home, site_of(1, pages=PAGES))
    run(scenario(service))
    service.close()


@pytest.mark.parametrize("options", [{"exclude": ["/page-3"]}, {"descLength": 60}, {"maxPages": 11}])
def test_an_owner_s_new_options_are_no_leave_to_lose_the_rest(home: Path, options: dict[str, object]) -> None:
    """A page less was asked for, and just then the site loses the others: that is held, as it would be without."""

    async def scenario(service: Service) -> None:
        await service.enroll(0)
        await service.tick()
        good = service.file(0)
        await service.enroll(0, **options)
        await collapsed(service)
        await service.tick(after=2 * DAY)
        assert service.file(0) == good
        assert (await service.row(0)).last_outcome is Outcome.HELD
        await edited(service)
        await service.tick(after=2 * DAY)
        row = await service.row(0)
        assert row.last_outcome is Outcome.UPDATED
        assert service.file(0) != good
        await check_invariants(service, settled=True)

    service = Service(home, site_of(1, pages=PAGES))
    run(scenario(service))
    service.close()


def test_a_section_file_that_is_gone_comes_back(home: Path) -> None:
    """A file in several parts is whole with all of them, though its sitemap says that nothing has changed."""

    async def scenario(service: Service) -> None:
        await service.enroll(0, maxPages=10_000)
        await service.tick()
        parts = sorted((service.home / "published").rglob("sections/*/llms.txt"))
        assert parts
        whole = [part.read_bytes() for part in parts]
        parts[0].unlink()
        await service.tick(after=2 * DAY)
        assert [part.read_bytes() for part in parts] == whole
        assert (await service.row(0)).last_outcome is Outcome.UNCHANGED_SITEMAP
        await check_invariants(service, settled=True)

    service = Service(home, site_of(1, pages=1_200))
    run(scenario(service))
    service.close()


def test_a_version_that_is_gone_too_leaves_the_site_to_its_next_crawl(home: Path) -> None:
    """Neither file nor version: nothing can be put back, and the site as it is now is published anew."""

    async def scenario(service: Service) -> None:
        await service.enroll(0)
        await service.tick()
        good = service.file(0)
        for path in (service.home / "published").rglob("*.txt"):
            path.unlink()
        with pytest.raises(NotFound):
            await rollback(service.world, (await service.row(0)).id, sha(good))
        await service.tick(after=2 * DAY)
        assert service.file(0) == good
        await check_invariants(service, settled=True)

    service = Service(home, site_of(1))
    run(scenario(service))
    service.close()


def test_a_file_that_is_replaced_during_the_run_is_not_overwritten(home: Path) -> None:
    """Somebody writes the public object while the pages are read: this run gives up, the next one compares with it."""

    async def scenario(service: Service) -> None:
        await service.enroll(0)
        await service.tick()
        await edited(service)
        foreign = b"# Ours\n"

        def interfere(name: str, fields: dict[str, object]) -> None:
            if fields.get("step") == "version_stored":
                path_of(service).write_bytes(foreign)

        service.hearing.append(interfere)
        await service.tick(after=2 * DAY)
        row = await service.row(0)
        assert (service.file(0), row.last_outcome, row.failure_count) == (foreign, Outcome.DEFERRED, 0)
        service.hearing.clear()
        await service.tick(after=DAY)
        assert service.file(0) == await service.truth(0)
        await check_invariants(service, settled=True, truth={base(0): await service.truth(0)})

    service = Service(home, site_of(1, pages=PAGES))
    run(scenario(service))
    service.close()


def test_a_rollback_meets_somebody_who_writes(home: Path) -> None:
    """The object changes under the operator's hands: nothing is rolled back, and the site is due."""

    async def scenario(service: Service) -> None:
        await service.enroll(0)
        await service.tick()
        first = (await service.row(0)).latest_llms_hash
        await edited(service)
        await service.tick(after=2 * DAY)
        second = service.file(0)
        read = service.public.read

        async def raced(key: str) -> object:
            found = await read(key)
            if key == keys.public(base(0)):
                path_of(service).write_bytes(b"# Ours\n")
            return found

        service.public.read = raced  # type: ignore[assignment,method-assign]  # somebody else is at the bucket
        with pytest.raises(PreconditionFailed):
            await rollback(service.world, (await service.row(0)).id, first)
        service.public.read = read  # type: ignore[method-assign]
        row = await service.row(0)
        assert (row.lease_owner, row.latest_llms_hash, row.pinned_over) == (None, sha(second), None)
        await service.tick(after=timedelta(minutes=1))
        assert service.file(0) == second
        await check_invariants(service, settled=True)

    service = Service(home, site_of(1))
    run(scenario(service))
    service.close()


def test_a_rollback_meets_a_run_that_has_just_finished(home: Path) -> None:
    """Between the operator's look at the row and the claim a newer file was published: that one is not rolled back."""

    async def scenario(service: Service) -> None:
        await service.enroll(0)
        await service.tick()
        await edited(service)
        await service.tick(after=2 * DAY)
        await edited(service, 3)
        claim_site = service.sites.claim_site

        async def late(*arguments: object, **options: object) -> object:
            service.sites.claim_site = claim_site  # type: ignore[method-assign]
            await service.tick(after=2 * DAY)
            return await claim_site(*arguments, **options)  # type: ignore[arg-type]

        service.sites.claim_site = late  # type: ignore[assignment,method-assign]  # a run is faster
        with pytest.raises(StaleClaim, match="just changed"):
            await rollback(service.world, (await service.row(0)).id)
        assert b"edition 3" in service.file(0)
        assert (await service.row(0)).lease_owner is None
        await service.tick(after=2 * DAY)
        await check_invariants(service, settled=True, truth={base(0): await service.truth(0)})

    service = Service(home, site_of(1))
    run(scenario(service))
    service.close()


@pytest.mark.parametrize("held", [{"concern": "collapsed"}, "text", 5])
def test_a_memory_of_another_shape_is_a_memory_lost(home: Path, held: object) -> None:
    """The state object can be read, and what it holds makes no sense: the site is crawled fully, and goes on."""

    async def scenario(service: Service) -> None:
        await service.enroll(0)
        await service.tick()
        row = await service.row(0)
        stored = await service.states.load(row.id)
        assert stored is not None
        value = json.loads(gzip.decompress(stored)) | {"held": held}
        await service.states.save(row.id, gzip.compress(json.dumps(value).encode()))
        await edited(service)
        await service.tick(after=2 * DAY)
        assert (await service.row(0)).last_outcome is Outcome.UPDATED
        await check_invariants(service, settled=True, truth={base(0): await service.truth(0)})

    service = Service(home, site_of(1, pages=PAGES))
    run(scenario(service))
    service.close()
