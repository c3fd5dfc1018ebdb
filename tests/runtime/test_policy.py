"""Which schedule a site follows, and what the environment may say about it."""

from __future__ import annotations

import pytest

from runtime import environment as env
from runtime.errors import Misconfigured
from runtime.models import Site, SiteOptions
from runtime.policy import is_priced, memory_for, policy_of, reads_pages
from runtime.settings import CRAWL_MICRO_USD, Settings, crawls_for, scheduling


@pytest.mark.parametrize(
    ("site", "adaptive", "deployment", "policy"),
    [
        ("", False, "fixed", "fixed"),
        ("", True, "fixed", "ewma"),
        ("", False, "learned", "learned"),
        ("", True, "learned", "learned"),
        ("", False, "ewma", "ewma"),
        ("fixed", True, "learned", "fixed"),
        ("learned", False, "fixed", "learned"),
        ("ewma", False, "learned", "ewma"),
    ],
)
def test_a_site_follows_its_own_choice_else_the_deployments(
    site: str, adaptive: bool, deployment: str, policy: str
) -> None:
    """`adaptive` alone is the specification's switch: it means ewma where the deployment adapts nothing."""
    assert policy_of(SiteOptions(policy=site, adaptive=adaptive), Settings(schedule=deployment)) == policy


def test_what_the_learned_policy_planned_is_void_under_another() -> None:
    """The next look is not a full one, and the plan leaves the memory; what was learnt stays for a change of mind."""
    memory = {"full": 1.0, "crawls_a_day": 0.5, "seen_quiet": 9.0}
    site = Site(id="1", base_url="https://x.example", options=SiteOptions(policy="learned"), schedule=memory)

    assert reads_pages(site, Settings())
    assert not reads_pages(
        Site(id="1", base_url="https://x.example", options=SiteOptions(), schedule=memory), Settings()
    )
    assert memory_for("learned", memory) == memory
    assert memory_for("ewma", memory) == {"seen_quiet": 9.0}
    assert is_priced(site, Settings(crawls_a_day=5))
    assert not is_priced(site, Settings())


def test_the_environment_chooses_policy_budget_and_rate() -> None:
    """Nothing set is a fixed schedule without a budget; of two budgets the lower one holds."""
    assert scheduling({}) == {"schedule": "fixed", "crawls_a_day": None, "claims_per_tick": 10_000}
    chosen = scheduling({env.SCHEDULE: "learned", env.CRAWLS_PER_DAY: "500", env.CLAIMS_PER_TICK: "70"})
    assert chosen == {"schedule": "learned", "crawls_a_day": 500, "claims_per_tick": 70}
    both = {env.CRAWLS_PER_DAY: "500", env.CRAWL_USD_PER_MONTH: "0.10"}
    assert scheduling(both)["crawls_a_day"] == crawls_for(0.10, CRAWL_MICRO_USD) == 164
    assert scheduling({**both, env.CRAWL_MICRO_USD: "2000"})["crawls_a_day"] == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (env.SCHEDULE, "weekly"), (env.CRAWLS_PER_DAY, "0"), (env.CRAWLS_PER_DAY, "many"), (env.CRAWLS_PER_DAY, "1.5"),
        (env.CRAWL_USD_PER_MONTH, "0"), (env.CRAWL_USD_PER_MONTH, "-1"), (env.CRAWL_USD_PER_MONTH, "1e9"),
        (env.CRAWL_USD_PER_MONTH, "nan"), (env.CRAWL_USD_PER_MONTH, "５"), (env.CLAIMS_PER_TICK, "-5"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_meant_is_refused_by_name(name: str, value: str) -> None:
    """The sentence names the variable."""
    with pytest.raises(Misconfigured, match=name):
        scheduling({name: value})
