"""Each claimed site ends with exactly one outcome, and the published file is what the outcome says."""

from __future__ import annotations

from datetime import timedelta

from runtime import keys
from runtime.models import Outcome, SiteStatus
from runtime.recrawl import recrawl
from runtime.versions import confirm
from tests.runtime.pipeline.conftest import BASE, DAY, Service
from tests.stand_ins.site import HTML, page, sitemap, text


async def test_a_first_run_publishes_the_file(service: Service) -> None:
    """A new site is crawled and published; the row names the hash and the public URL."""
    row = await service.enroll()

    finished = await service.run(row)

    assert finished.outcome is Outcome.UPDATED
    assert service.published.startswith("# Acme Docs\n")
    assert finished.site.latest_llms_url == "https://files.example.org/docs.example.com/llms.txt"
    assert finished.site.latest_llms_hash is not None
    assert finished.site.sentinel_url == f"{BASE}/sitemap.xml"


async def test_what_is_published_is_kept_as_a_version(service: Service) -> None:
    """The bytes that readers get are there under their hash as well, for a rollback."""
    finished = await service.run(await service.enroll())

    kept = await service.world.publisher.read(keys.version(BASE, finished.site.latest_llms_hash or ""))
    assert kept is not None
    assert kept.body.decode() == service.published


async def test_a_quiet_sitemap_spares_the_crawl(service: Service) -> None:
    """When every lastmod is what it was, a due site costs robots.txt and the sitemap, and ends `unchanged_sitemap`."""
    await service.run(await service.enroll())

    summary = await service.tick(after=8 * DAY)

    assert (summary.total, summary.unchanged, summary.processed) == (1, 1, 0)
    assert service.site.log == [f"{BASE}/robots.txt", f"{BASE}/sitemap.xml"]


async def test_a_moved_lastmod_with_equal_pages_is_unchanged_content(service: Service) -> None:
    """A bumped date without a change crawls once, publishes nothing, and the next look is spared again (C8, D-9)."""
    await service.run(await service.enroll())
    before = service.published
    entries = {f"{BASE}/guide-{n:02}": "2026-06-05" for n in range(12)}
    service.site.replies[f"{BASE}/sitemap.xml"] = sitemap({f"{BASE}/": "2026-05-01", **entries})

    first = await service.tick(after=8 * DAY)
    second = await service.tick(after=8 * DAY)

    assert (first.unchanged, first.processed, first.updated) == (1, 1, 0)
    assert (second.unchanged, second.processed) == (1, 0)
    assert service.published == before


async def test_one_edited_page_changes_one_entry(service: Service) -> None:
    """A retitled page with a new lastmod is found, and the diff is its line alone."""
    await service.run(await service.enroll())
    before = service.published.splitlines()
    service.site.replies[f"{BASE}/guide-03"] = page("Guide three, rewritten")
    entries = {f"{BASE}/guide-{n:02}": "2026-05-01" for n in range(12)} | {f"{BASE}/guide-03": "2026-06-05"}
    service.site.replies[f"{BASE}/sitemap.xml"] = sitemap({f"{BASE}/": "2026-05-01", **entries})

    summary = await service.tick(after=8 * DAY)

    assert summary.updated == 1
    after = service.published.splitlines()
    assert [line for line in after if line not in before] == [line for line in after if "rewritten" in line]
    assert len(set(before) - set(after)) == 1


async def test_a_site_that_is_down_keeps_its_file(service: Service) -> None:
    """A crawl without a home page fails, keeps the file and the hash, and backs off (D-1, D-20)."""
    finished = await service.run(await service.enroll())
    before, sha = service.published, finished.site.latest_llms_hash
    for url in list(service.site.replies):
        service.site.replies[url] = (503, HTML, b"down")
    service.site.replies[f"{BASE}/robots.txt"] = text("User-agent: *\nAllow: /")

    run = await service.run(finished.site)

    assert run.outcome is Outcome.FAILED
    assert service.published == before
    assert (run.site.latest_llms_hash, run.site.failure_count) == (sha, 1)
    assert run.site.next_crawl_at is not None
    assert run.site.next_crawl_at > service.now


async def test_a_collapsed_crawl_is_held_and_confirmed(service: Service) -> None:
    """Two of thirteen pages do not replace the file; the operator may confirm them (D-1, N2)."""
    finished = await service.run(await service.enroll())
    before = service.published
    service.site.replies = {
        f"{BASE}/": page("Acme Docs", "/guide-00"),
        f"{BASE}/guide-00": page("Guide 00"),
        f"{BASE}/sitemap.xml": sitemap({f"{BASE}/": "2026-06-02", f"{BASE}/guide-00": "2026-06-02"}),
        **{f"{BASE}/guide-{n:02}": (410, HTML, b"gone") for n in range(1, 12)},
    }

    held = await service.run(finished.site)

    assert (held.outcome, service.published) == (Outcome.HELD, before)
    assert held.site.last_error

    await confirm(service.world, held.site.id)
    confirmed = await service.run(held.site)

    assert confirmed.outcome is Outcome.UPDATED
    assert "guide-01" not in service.published


async def test_a_webhook_forces_a_crawl_that_the_sitemap_would_spare(service: Service) -> None:
    """A forced run is not stopped by a sitemap that has not moved (D9)."""
    row = (await service.run(await service.enroll())).site
    service.site.replies[f"{BASE}/guide-03"] = page("Guide three, rewritten")
    service.now += timedelta(hours=1)
    await service.sites.request_recrawl(row.id)

    summary = await service.tick()

    assert summary.updated == 1
    assert "rewritten" in service.published


async def test_a_webhook_during_a_crawl_is_not_lost(service: Service) -> None:
    """A request that comes while the site is crawled leaves the site due when the run commits (D-18)."""
    row = await service.enroll()
    claim = await service.sites.claim_site(row.id, lease_seconds=300, owner="test", force=True)
    assert claim is not None
    service.now += timedelta(seconds=1)
    await service.sites.request_recrawl(row.id)

    finished = await recrawl(service.world, claim)

    assert finished.again
    assert finished.site.next_crawl_at is not None
    assert finished.site.next_crawl_at <= service.now


async def test_a_missing_object_is_put_back(service: Service) -> None:
    """Equal content with a lost public file is healed, not skipped for ever (D-2)."""
    await service.run(await service.enroll())
    before = service.published
    (service.home / "published" / "docs.example.com" / "llms.txt").unlink()

    summary = await service.tick(after=8 * DAY)

    assert service.published == before
    assert (summary.unchanged, summary.errors) == (1, 0)


async def test_robots_that_shuts_us_out_empties_nothing(service: Service) -> None:
    """`Disallow: /` holds the file as it is and fetches no page (F-28)."""
    finished = await service.run(await service.enroll())
    before = service.published
    service.site.replies[f"{BASE}/robots.txt"] = text("User-agent: *\nDisallow: /")

    run = await service.run(finished.site)

    assert (run.outcome, service.published) == (Outcome.HELD, before)
    assert service.site.log == [f"{BASE}/robots.txt"]


async def test_the_maximum_staleness_forces_a_full_check(service: Service) -> None:
    """A sitemap that never moves is not believed for longer than the maximum staleness (D-10, C5)."""
    await service.run(await service.enroll())
    service.site.replies[f"{BASE}/guide-03"] = page("Guide three, rewritten")

    quiet = await service.tick(after=8 * DAY)
    forced = await service.tick(after=40 * DAY)

    assert (quiet.processed, forced.updated) == (0, 1)


async def test_a_site_that_fails_for_long_is_disabled(service: Service) -> None:
    """Ten failures in a row over more than a week disable the site; resuming it makes it due at once (F-72)."""
    row = await service.enroll()
    for url in list(service.site.replies):
        service.site.replies[url] = (503, HTML, b"down")

    for _ in range(12):
        await service.tick(after=8 * DAY)
        row = await service.sites.get(row.id)
        if row.status is not SiteStatus.ACTIVE:
            break

    assert row.status is SiteStatus.DISABLED
    assert row.last_error
    assert (await service.tick(after=8 * DAY)).total == 0


async def test_an_unreadable_state_starts_from_a_full_crawl(service: Service) -> None:
    """The state object is a cache: a damaged one is reported and replaced, and the file stays right."""
    row = (await service.run(await service.enroll())).site
    before = service.published
    await service.world.states.save(row.id, b"not a state")

    run = await service.run(row, force=False)

    assert run.outcome is Outcome.UNCHANGED_CONTENT
    assert service.published == before
    assert any(name == "state_unreadable" for name, _ in service.events)
