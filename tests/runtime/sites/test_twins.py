"""The two stores are one contract: whatever is done to both, in whatever order, their rows and answers are the same."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from runtime.errors import ServiceError
from runtime.models import Claim, Outcome, Run, Site, SiteOptions, SiteStatus
from runtime.registry import Enrollment, Requested, Sites
from runtime.sites.sqlite import SqliteSites
from runtime.sites.supabase import SupabaseSites
from tests.runtime.sites.store import START, commit
from tests.stand_ins.postgres import Postgres
from tests.stand_ins.postgrest import PostgrestServer, token

URLS = tuple(f"https://{host}.example/{path}" for host in "abc" for path in "xy")
NO_ID = "-"
OPTIONS = st.builds(
    SiteOptions,
    max_pages=st.sampled_from([0, 1, 50, 10_000]),
    recrawl_interval_minutes=st.sampled_from([60, 1_440, 10_080]),
    adaptive=st.booleans(),
    policy=st.sampled_from(["", "learned", "daily"]),
    weight=st.sampled_from([1.0, 1.0, 1_000.0]),
    include=st.lists(st.sampled_from(["/docs/*", "/é", '/"q"', "/a,b"]), max_size=2).map(tuple),
)


def same_for_both(value: Any) -> Any:
    """A value with the ids that each store makes for itself taken out; sites are told apart by their URL."""
    if isinstance(value, Claim):
        return replace(value, site=replace(value.site, id=NO_ID))
    if isinstance(value, Site):
        return replace(value, id=NO_ID)
    if isinstance(value, (Run, Requested)):
        return replace(value, site_id=NO_ID)
    if isinstance(value, (list, tuple)):
        return [same_for_both(item) for item in value]
    return value


class Twins(RuleBasedStateMachine):
    """Each step is done to both stores and answered alike, errors included; after each, all rows are alike."""

    remote: SupabaseSites
    postgres: Postgres
    database: str

    def move(self) -> None:
        self.postgres.execute("UPDATE public.test_clock SET at = %s", (self.now,), database=self.database)

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.now = START
        self.sqlite = SqliteSites(Path(self.folder.name) / "sites.db", clock=lambda: self.now)
        self.claims: list[tuple[Claim, Claim]] = []
        self.runs = 0
        self.postgres.empty(self.database)
        self.move()

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.sqlite.close()
            self.folder.cleanup()
            self.loop.close()

    @property
    def both(self) -> tuple[Sites, Sites]:
        return self.sqlite, self.remote

    def do(self, *calls: Awaitable[Any]) -> list[Any]:
        """Await one call of each store; their answers, or the kinds of their errors, must be the same."""
        answers, shown = [], []
        for call in calls:
            try:
                answer = self.loop.run_until_complete(_awaited(call))
                answers.append(answer)
                shown.append(same_for_both(answer))
            except ServiceError as error:
                answers.append(None)
                shown.append((type(error), error.code))
        assert shown[0] == shown[1]
        return answers

    async def outcomes(self, store: Sites) -> list[tuple[Outcome, bool]]:
        """In an order that does not depend on the ids, which break ties of time."""
        return sorted(await store.tick_outcomes("tick-1"))

    def ids(self, url: str) -> list[str]:
        sites = [self.loop.run_until_complete(store.find(url)) for store in self.both]
        return [site.id if site else "00000000-0000-0000-0000-000000000000" for site in sites]

    @rule(seconds=st.sampled_from([0, 1, 59, 60, 299, 300, 900, 3_600, 86_400]))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        self.move()

    @rule(url=st.sampled_from(URLS), options=OPTIONS, secret=st.sampled_from(["", "s1", "s2"]), enabled=st.booleans())
    def enroll(self, url: str, options: SiteOptions, secret: str, enabled: bool) -> None:
        wanted = Enrollment(base_url=url, options=options, webhook_secret=secret, enabled=enabled)
        self.do(*(store.enroll(wanted) for store in self.both))

    @rule(
        url=st.sampled_from(URLS),
        options=st.none() | OPTIONS,
        status=st.none() | st.sampled_from(SiteStatus),
        confirmed=st.sampled_from([None, {"entries": 3}]),
    )
    def update(
        self, url: str, options: SiteOptions | None, status: SiteStatus | None, confirmed: dict[str, int] | None
    ) -> None:
        given: dict[str, Any] = {"options": options, "status": status, "confirmed": confirmed}
        pairs = zip(self.both, self.ids(url), strict=True)
        self.do(*(store.update(site_id, **given) for store, site_id in pairs))

    @rule(url=st.sampled_from(URLS), secret=st.sampled_from(["", "s1", "s3"]), overlap=st.sampled_from([0, 600]))
    def rotate(self, url: str, secret: str, overlap: int) -> None:
        pairs = zip(self.both, self.ids(url), strict=True)
        self.do(*(store.rotate_secret(site_id, secret, overlap_seconds=overlap) for store, site_id in pairs))

    @rule(
        url=st.sampled_from(URLS), debounce=st.sampled_from([0, 300]), message=st.none() | st.sampled_from(["m", "n"])
    )
    def request(self, url: str, debounce: int, message: str | None) -> None:
        pairs = zip(self.both, self.ids(url), strict=True)
        self.do(
            *(store.request_recrawl(site_id, debounce_seconds=debounce, message_id=message) for store, site_id in pairs)
        )

    @rule(url=st.sampled_from(URLS))
    def delete(self, url: str) -> None:
        self.do(*(store.delete(site_id) for store, site_id in zip(self.both, self.ids(url), strict=True)))

    @rule(
        limit=st.integers(0, 4), per_host=st.integers(1, 2), slack=st.sampled_from([0, 300]),
        budget=st.none() | st.sampled_from([0, 3, 12]),
    )  # fmt: skip
    def claim_due(self, limit: int, per_host: int, slack: int, budget: int | None) -> None:
        """Equally old sites may come in any order, so all that are due are claimed, or one of those of one age."""
        ages = [site.next_crawl_at for site in self.loop.run_until_complete(self.sqlite.list_sites())]
        if len(set(ages)) < len(ages):
            limit, per_host, budget = 100, 100, None
        wanted: dict[str, Any] = {"limit": limit, "per_host": per_host, "slack_seconds": slack, "crawls_a_day": budget}
        answers = [
            self.loop.run_until_complete(store.claim_due(lease_seconds=60, owner="w", **wanted)) for store in self.both
        ]
        pairs = [sorted(claims, key=lambda claim: claim.site.base_url) for claims in answers]
        assert same_for_both(pairs[0]) == same_for_both(pairs[1])
        self.claims += zip(*pairs, strict=True)

    @rule(
        url=st.sampled_from(URLS), owner=st.sampled_from(["v", "w"]), force=st.booleans(),
        budget=st.none() | st.sampled_from([1, 3]),
    )  # fmt: skip
    def claim_site(self, url: str, owner: str, force: bool, budget: int | None) -> None:
        wanted: dict[str, Any] = {"lease_seconds": 60, "owner": owner, "force": force, "crawls_a_day": budget}
        pairs = zip(self.both, self.ids(url), strict=True)
        first, second = self.do(*(store.claim_site(site_id, **wanted) for store, site_id in pairs))
        if first and second:
            self.claims.append((first, second))

    @rule(price=st.sampled_from([0.5, 2.0]), known=st.booleans())
    def set_price(self, price: float, known: bool) -> None:
        after = self.loop.run_until_complete(self.sqlite.budget()).priced_at if known else None
        self.do(*(store.set_price(price, after=after) for store in self.both))

    @rule(which=st.integers(0, 50), end=st.sampled_from(["renew", "release"]))
    def lease(self, which: int, end: str) -> None:
        if self.claims:
            pairs = list(zip(self.both, self.claims[which % len(self.claims)], strict=True))
            if end == "renew":
                self.do(*(store.renew_lease(claim, lease_seconds=60) for store, claim in pairs))
            else:
                self.do(*(store.release(claim) for store, claim in pairs))

    @rule(
        which=st.integers(0, 50),
        outcome=st.sampled_from(Outcome),
        after=st.none() | st.sampled_from([60, 900, 86_400]),
        status=st.none() | st.just(SiteStatus.DISABLED),
        failures=st.integers(0, 3),
        again=st.booleans(),
    )
    def commit(
        self, which: int, outcome: Outcome, after: int | None, status: SiteStatus | None, failures: int, again: bool
    ) -> None:
        if not self.claims:
            return
        self.runs += not again
        done = commit(
            outcome,
            run_id=f"run-{self.runs}",
            next_crawl_at=None if after is None else self.now + timedelta(seconds=after),
            status=status,
            failure_count=failures,
            error="why" if outcome is Outcome.FAILED else None,
            crawled=outcome is not Outcome.UNCHANGED_SITEMAP,
            changed=outcome is Outcome.UPDATED,
            latest_llms_hash=f"{self.runs:064}" if outcome is Outcome.UPDATED else None,
            pinned_over="d" * 64 if failures == 1 else None,
            counts={"pages": failures},
            schedule={"crawls_a_day": failures / 2} if again else None,
            next_crawl_reason="because" if failures else None,
        )
        pairs = zip(self.both, self.claims[which % len(self.claims)], strict=True)
        self.do(*(store.commit_run(claim, done) for store, claim in pairs))

    @invariant()
    def rows_are_alike(self) -> None:
        if hasattr(self, "loop"):
            first, _ = self.do(*(store.list_sites() for store in self.both))
            for budget in (None, 2, 12):
                self.do(*(store.due_summary(slack_seconds=300, crawls_a_day=budget) for store in self.both))
            self.do(*(self.outcomes(store) for store in self.both))
            self.do(*(store.budget() for store in self.both))
            self.do(*(store.planned_crawls() for store in self.both))
            for site in first[:2]:
                pairs = zip(self.both, self.ids(site.base_url), strict=True)
                self.do(*(store.runs(site_id, limit=3) for store, site_id in pairs))


async def _awaited(call: Awaitable[Any]) -> Any:
    return await call


def test_both_stores_do_the_same(postgres: Postgres, frozen: tuple[str, PostgrestServer]) -> None:
    """Sequences of everything the contract has, found by Hypothesis."""
    database, api = frozen
    remote = SupabaseSites(api.url, token("service_role"))

    machine = type("Machine", (Twins,), {"remote": remote, "postgres": postgres, "database": database})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12, stateful_step_count=30, deadline=None, derandomize=True, database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip
    remote.close()
