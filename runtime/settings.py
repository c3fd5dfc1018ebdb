"""Deployment settings, read once from a mapping (the environment at a door; a dict in a test).

Secrets are not read here: a door reads them from Secrets Manager by their ARNs and passes values on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from runtime import environment as env
from runtime.errors import Misconfigured

POLICIES = ("fixed", "ewma", "learned")
"""The schedules that a deployment or a site can follow: the owner's interval, the specification's average, what is
learnt of the site."""

DAYS_A_MONTH = 30.4375
CRAWL_MICRO_USD = 20
"""What AWS bills for one crawl of 50 pages that finds a change, in millionths of a dollar (`benchmarks.money`)."""

BAD = "bad_configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlLimits:
    """The caps that bound one site, whatever it sends (seconds, bytes, counts)."""

    connections_per_host: int = 8
    requests_per_second: float = 20.0
    request_deadline_seconds: float = 15.0
    connect_seconds: float = 5.0
    dns_seconds: float = 5.0
    first_byte_seconds: float = 10.0
    site_deadline_seconds: float = 240.0
    bytes_per_site: int = 100_000_000
    html_bytes: int = 2_000_000
    robots_bytes: int = 524_288
    sitemap_bytes: int = 52_428_800
    sitemap_wire_bytes_per_site: int = 100_000_000
    sitemap_bytes_per_site: int = 419_430_400
    sitemap_urls: int = 50_000
    sitemap_index_children: int = 500
    sitemap_documents: int = 50
    sitemap_depth: int = 3
    links_per_page: int = 1_000
    url_length: int = 2_048
    path_segments: int = 20
    repeat_segment: int = 2
    query_variants_per_path: int = 20
    redirects: int = 5
    max_crawl_delay_seconds: float = 30.0

    def requests_per_site(self, max_pages: int) -> int:
        return 3 * max_pages + 60


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPolicy:
    """What the fetch gate lets out beyond the fixed rules; `allow_networks` opens private ranges (CIDR)."""

    allow_networks: tuple[str, ...] = ()
    allow_any_port: bool = False
    self_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is the same for every site of a deployment.

    `notify_url` is told of every site's changes, signed with `notify_secrets` (several while one is being rotated); a
    site that fails is reported after `notify_after_failures` in a row. What paid services may do for a site is bounded:
    calls to the model, and pages through the unlocker, whose price (millionths of a dollar a page) is only told; those
    of all sites together are counted in the store, and no month has more than `unlocks_per_month_of_all`.
    `schedule` is the policy of sites that choose none; `crawls_a_day` a budget that no 24 hours exceed, None without
    one. A tick claims at most `claims_per_tick` sites, so that an outage is made good at a rate that workers keep.
    """

    stage: str = "local"
    limits: CrawlLimits = field(default_factory=CrawlLimits)
    policy: FetchPolicy = field(default_factory=FetchPolicy)
    claim_batch: int = 500
    lease_seconds: int = 330
    per_host: int = 1
    tick_slack_seconds: int = 300
    debounce_seconds: int = 300
    max_stale_days: int = 30
    notify_url: str = ""
    notify_secrets: tuple[str, ...] = field(default=(), repr=False)
    notify_after_failures: int = 3
    model_calls_per_run: int = 20
    unlocks_per_run: int = 50
    unlocks_per_month: int = 500
    unlocks_per_month_of_all: int = 5_000
    unlock_micro_usd: int = 1_500
    schedule: str = POLICIES[0]
    crawls_a_day: int | None = None
    claims_per_tick: int = 10_000


class Scheduling(TypedDict):
    """The part of `Settings` that says how often sites are looked at."""

    schedule: str
    crawls_a_day: int | None
    claims_per_tick: int


def require(environment: Mapping[str, str], *names: str) -> dict[str, str]:
    """The named variables, or one sentence that names every missing one.

    :raises Misconfigured: one or more are unset or empty.
    """
    missing = [name for name in names if not environment.get(name)]
    if missing:
        raise Misconfigured(
            f"missing environment variable{'s' if len(missing) > 1 else ''} {', '.join(missing)}: "
            "set them in the stack's configuration and deploy again",
            code="missing_configuration",
        )
    return {name: environment[name] for name in names}


def number(environment: Mapping[str, str], name: str, default: int) -> int:
    """A positive whole number from the environment.

    :raises Misconfigured: it is something else; the sentence names the variable.
    """
    text = environment.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise Misconfigured(f"{name} must be a positive whole number, not {text!r}", code=BAD)
    return int(text)


def scheduling(environment: Mapping[str, str]) -> Scheduling:
    """How often sites are looked at, as the deployment chose; a budget is given in crawls a day or in USD a month.

    :raises Misconfigured: a policy that does not exist, or a number that is none; the sentence names the variable.
    """
    policy = environment.get(env.SCHEDULE, "") or POLICIES[0]
    if policy not in POLICIES:
        raise Misconfigured(f"{env.SCHEDULE} must be one of {', '.join(POLICIES)}, not {policy!r}", code=BAD)
    budgets = []
    if environment.get(env.CRAWLS_PER_DAY):
        budgets.append(number(environment, env.CRAWLS_PER_DAY, 1))
    if text := environment.get(env.CRAWL_USD_PER_MONTH, ""):
        budgets.append(crawls_for(_dollars(text), number(environment, env.CRAWL_MICRO_USD, CRAWL_MICRO_USD)))
    return Scheduling(
        schedule=policy,
        crawls_a_day=min(budgets, default=None),
        claims_per_tick=number(environment, env.CLAIMS_PER_TICK, Settings().claims_per_tick),
    )


def unlocks_of_all(environment: Mapping[str, str]) -> int:
    """Pages through the unlocker in a month, as the deployment chose.

    :raises Misconfigured: it is no positive number.
    """
    return number(environment, env.UNLOCKS_PER_MONTH, Settings().unlocks_per_month_of_all)


def crawls_for(usd_a_month: float, micro_usd: int) -> int:
    """The crawls a day that so many dollars a month pay for; one at least, since none would be a pause."""
    return max(1, int(usd_a_month * 1e6 / micro_usd / DAYS_A_MONTH))


def _dollars(text: str) -> float:
    if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text, re.ASCII) or float(text) <= 0:
        raise Misconfigured(
            f"{env.CRAWL_USD_PER_MONTH} must be a positive number of dollars such as 2.50, not {text!r}", code=BAD
        )
    return float(text)
