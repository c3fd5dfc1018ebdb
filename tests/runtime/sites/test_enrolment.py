"""The contract of both stores: enrolling, reading, changing and deleting a site."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta

import pytest

from runtime.errors import InputError, NotFound
from runtime.models import Outcome, SiteOptions, SiteStatus
from runtime.sites.rows import place_of
from tests.runtime.sites.store import START, Store, enrollment


async def test_a_new_site_is_active_and_due_at_once(store: Store) -> None:
    """A new row has the defaults of a row without history, and its crawl time is now."""
    site, created = await store.sites.enroll(enrollment(sentinel_url="https://docs.example.com/sitemap.xml"))

    assert created
    assert (site.status, site.next_crawl_at, site.generation, site.failure_count) == (SiteStatus.ACTIVE, START, 0, 0)
    assert (site.webhook_secret, site.sentinel_url) == ("whsec_first", "https://docs.example.com/sitemap.xml")
    assert (site.created_at, site.updated_at, site.last_crawled_at, site.last_outcome) == (START, START, None, None)


async def test_in_a_crowd_a_new_site_has_a_place_of_its_own(store: Store) -> None:
    """While three wait for their first look, the fourth is due at its place of the day, or of a shorter interval."""
    for number in range(3):
        assert (await store.enroll(f"https://{number}.example", crowd=3)).next_crawl_at == START
    daily = await store.enroll("https://late.example", crowd=3)
    hourly = await store.enroll("https://hourly.example", crowd=3, options=SiteOptions(recrawl_interval_minutes=60))
    assert (await store.enroll("https://paused.example", crowd=3, enabled=False)).next_crawl_at is None

    for site, span in ((daily, timedelta(days=1)), (hourly, timedelta(hours=1))):
        assert site.next_crawl_at is not None
        wanted = START + span * place_of(site.id)
        assert abs(site.next_crawl_at - wanted) <= timedelta(microseconds=1)
    assert (await store.enroll("https://0.example", crowd=3)).next_crawl_at == START, "an old site keeps its time"


async def test_there_is_no_crowd_of_sites_that_had_their_first_look(store: Store) -> None:
    """Nor of paused ones, nor for a caller that names no number."""
    for number in range(3):
        await store.run(await store.enroll(f"https://{number}.example", crowd=3))
        await store.enroll(f"https://paused-{number}.example", enabled=False)

    assert (await store.enroll("https://next.example", crowd=3)).next_crawl_at == START
    assert [(await store.enroll(f"https://n-{n}.example")).next_crawl_at for n in range(5)] == [START] * 5


async def test_options_are_stored_as_given(store: Store) -> None:
    """Every option survives the way into the row and out again, order and odd characters included."""
    options = SiteOptions(
        max_pages=10_000,
        desc_length=2_000,
        recrawl_interval_minutes=60,
        adaptive=True,
        policy="learned",
        weight=2.5,
        require_signature=True,
        notify_url="https://hooks.example/é?a=b",
        llm_enhance=True,
        use_brightdata=False,
        include=("/docs/*", '/"quoted"/é', "/a,b", "/{c}"),
        exclude=("/old\\", "/%2F"),
    )
    site = await store.enroll(options=options)

    assert options == site.options
    assert options == (await store.sites.get(site.id)).options


async def test_enrolling_again_keeps_secret_history_and_identity(store: Store) -> None:
    """The second enrolment replaces the options; it neither resets what was learned nor leaks in a new secret."""
    first = await store.enroll()
    ran = await store.run(first, crawled=True, changed=True, latest_llms_hash="a" * 64, latest_llms_url="https://f/")
    again, created = await store.sites.enroll(
        enrollment(webhook_secret="whsec_second", options=SiteOptions(max_pages=7))
    )

    assert not created
    assert (first.id, "whsec_first", 7) == (again.id, again.webhook_secret, again.options.max_pages)
    assert (ran.latest_llms_hash, ran.last_changed_at) == (again.latest_llms_hash, again.last_changed_at)
    assert ran.next_crawl_at == again.next_crawl_at


@pytest.mark.parametrize("secret", ["", "whsec_second"])
async def test_a_secret_is_never_overwritten_by_an_enrolment(store: Store, secret: str) -> None:
    """Neither an empty nor another secret replaces the one that the owner's CI holds."""
    await store.enroll()

    assert (await store.enroll(webhook_secret=secret)).webhook_secret == "whsec_first"


async def test_a_shorter_interval_brings_the_next_crawl_forward_and_a_longer_one_does_not_delay_it(
    store: Store,
) -> None:
    """The sooner of the two intervals holds, counted from the last check."""
    site = await store.run(await store.enroll(), next_crawl_at=START + timedelta(days=7))
    sooner = await store.enroll(options=SiteOptions(recrawl_interval_minutes=60))
    later = await store.enroll(options=SiteOptions(recrawl_interval_minutes=525_600))

    assert START + timedelta(days=7) == site.next_crawl_at
    assert START + timedelta(hours=1) == sooner.next_crawl_at == later.next_crawl_at


async def test_enrolling_without_auto_update_pauses(store: Store) -> None:
    """`enabled=False` keeps the row and its settings, and takes it out of the schedule, until it is enabled again."""
    site = await store.enroll(enabled=False)

    assert site.status is SiteStatus.PAUSED
    assert await store.claim_due() == []
    assert (await store.enroll()).status is SiteStatus.ACTIVE
    assert [site.id] == [claim.site.id for claim in await store.claim_due()]


async def test_parallel_enrolments_make_one_row(store: Store) -> None:
    """Of twenty at once, one inserts and nineteen update; one secret wins and stays."""
    answers = await asyncio.gather(
        *(store.sites.enroll(enrollment(webhook_secret=f"whsec_{number}")) for number in range(20))
    )

    assert len({site.id for site, _ in answers}) == 1
    assert sum(created for _, created in answers) == 1
    assert len({site.webhook_secret for site, _ in answers}) == 1
    assert len(await store.sites.list_sites()) == 1


@pytest.mark.parametrize(
    "options",
    [
        SiteOptions(max_pages=0),
        SiteOptions(max_pages=10_001),
        SiteOptions(desc_length=49),
        SiteOptions(recrawl_interval_minutes=0),
        SiteOptions(recrawl_interval_minutes=-5),
        SiteOptions(recrawl_interval_minutes=10**12),
    ],
)
async def test_the_store_refuses_nonsense_that_came_past_the_door(store: Store, options: SiteOptions) -> None:
    """Constraints are the last line: an option out of bounds is an input error and leaves no row."""
    with pytest.raises(InputError) as refused:
        await store.enroll(options=options)

    assert "crawl_sites" not in str(refused.value)
    assert await store.sites.list_sites() == []


async def test_find_is_by_the_exact_base_url(store: Store) -> None:
    """A base URL that is not enrolled is None, not an error."""
    site = await store.enroll("https://a.example/docs")

    assert site == await store.sites.find("https://a.example/docs")
    assert await store.sites.find("https://a.example/") is None


@pytest.mark.parametrize("site_id", [str(uuid.UUID(int=7)), "nonsense", "", "' OR 1=1 --", "é" * 40])
async def test_an_unknown_site_is_not_found_whatever_it_is_asked_for(store: Store, site_id: str) -> None:
    """Every call that names a row says NotFound, also for what could never be an id."""
    sites = store.sites
    calls = (
        lambda: sites.get(site_id),
        lambda: sites.update(site_id, status=SiteStatus.PAUSED),
        lambda: sites.rotate_secret(site_id, "whsec_new", overlap_seconds=60),
        lambda: sites.delete(site_id),
        lambda: sites.claim_site(site_id, lease_seconds=60, owner="worker-1"),
        lambda: sites.request_recrawl(site_id),
        lambda: sites.remember_webhook(site_id, "msg_1"),
    )
    for call in calls:
        with pytest.raises(NotFound):
            await call()
    assert await sites.runs(site_id) == []


async def test_listing_pages_by_base_url(store: Store) -> None:
    """Pages follow each other without gap or repetition, in an order that no locale changes."""
    urls = [
        f"https://{name}/" for name in ("b.example", "a.example", "A.example", "a-b.example", "z.example", "é.example")
    ]
    for url in urls:
        await store.enroll(url)
    seen: list[str] = []
    while page := await store.sites.list_sites(after=seen[-1] if seen else None, limit=4):
        seen += [site.base_url for site in page]

    assert sorted(urls) == seen


async def test_pausing_takes_a_site_out_and_activating_makes_it_due(store: Store) -> None:
    """Activating forgets the failures; a site that is already active is left as it is."""
    site = await store.run(await store.enroll(), Outcome.FAILED, failure_count=4, error="it was down")
    paused = await store.sites.update(site.id, status=SiteStatus.PAUSED)
    assert (paused.status, paused.failure_count, paused.last_error) == (SiteStatus.PAUSED, 4, "it was down")

    now = store.advance(hours=1)
    active = await store.sites.update(site.id, status=SiteStatus.ACTIVE)
    assert (SiteStatus.ACTIVE, 0, None, now) == (
        active.status,
        active.failure_count,
        active.last_error,
        active.next_crawl_at,
    )

    later = await store.run(active, next_crawl_at=now + timedelta(days=3))
    assert later.next_crawl_at == (await store.sites.update(site.id, status=SiteStatus.ACTIVE)).next_crawl_at


async def test_options_change_alone(store: Store) -> None:
    """An update of the options leaves the status, and the other way round."""
    site = await store.enroll(options=SiteOptions(include=("/a",)))
    wanted = SiteOptions(
        exclude=("/b",),
        recrawl_interval_minutes=120,
        policy="ewma",
        weight=0.01,
        notify_url="https://hooks.example/",
        llm_enhance=True,
        use_brightdata=False,
    )
    changed = await store.sites.update(site.id, options=wanted)
    paused = await store.sites.update(site.id, status=SiteStatus.PAUSED)

    assert changed.options == wanted
    assert changed.options == paused.options
    assert (await store.enroll()).options == SiteOptions()


async def test_a_rotated_secret_leaves_the_old_one_valid_for_the_overlap(store: Store) -> None:
    """The old secret and its end are in the row; rotating to the secret that is set changes nothing."""
    site = await store.enroll()
    rotated = await store.sites.rotate_secret(site.id, "whsec_second", overlap_seconds=3600)
    again = await store.sites.rotate_secret(site.id, "whsec_second", overlap_seconds=60)

    expected = ("whsec_second", "whsec_first", START + timedelta(hours=1))
    assert expected == (rotated.webhook_secret, rotated.previous_webhook_secret, rotated.previous_secret_until)
    assert expected == (again.webhook_secret, again.previous_webhook_secret, again.previous_secret_until)


async def test_a_secret_that_leaked_can_be_rotated_without_overlap(store: Store) -> None:
    """No overlap: the old secret is gone."""
    site = await store.enroll()
    rotated = await store.sites.rotate_secret(site.id, "whsec_second", overlap_seconds=0)

    assert (rotated.previous_webhook_secret, rotated.previous_secret_until) == ("", None)
    with pytest.raises(InputError):
        await store.sites.rotate_secret(site.id, "", overlap_seconds=0)


async def test_deleting_takes_the_history_along(store: Store) -> None:
    """A deleted site is gone from every list, and its URL can be enrolled afresh with a new secret."""
    site = await store.run(await store.enroll())
    await store.sites.remember_webhook(site.id, "msg_1")
    await store.sites.delete(site.id)

    assert (await store.sites.runs(site.id), await store.sites.tick_outcomes("tick-1")) == ([], [])
    fresh, created = await store.sites.enroll(enrollment(webhook_secret="whsec_fresh"))
    assert (created, fresh.webhook_secret) == (True, "whsec_fresh")
    assert fresh.id != site.id


async def test_secrets_stay_out_of_the_repr(store: Store) -> None:
    """A site that ends up in a log line shows no secret."""
    site = await store.enroll()
    rotated = await store.sites.rotate_secret(site.id, "whsec_second", overlap_seconds=60)

    assert "whsec" not in repr(rotated)


async def test_a_healthy_store_passes_its_check(store: Store) -> None:
    """The start-up check is silent when there is nothing to say."""
    await store.sites.check()
