"""Enrolment: what a caller sends is checked, made canonical and stored as one row a site.

The names, defaults and bounds are those of the crawl request: `url`, `maxPages`, `descLength`, `enableAutoUpdate`,
`recrawlIntervalMinutes`, the owner's `include` and `exclude` globs, `notifyUrl`, which is told of changes,
`llmEnhance` and `useBrightdata`, which allow a model and the unlocker, and `schedule` and `weight`: how the interval is
chosen, and how much the site's freshness counts beside others' under a budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runtime import urls, webhook
from runtime.errors import InputError, Refused
from runtime.models import (
    MAX_DESC,
    MAX_INTERVAL,
    MAX_PAGES,
    MAX_WEIGHT,
    MIN_DESC,
    MIN_INTERVAL,
    MIN_PAGES,
    MIN_WEIGHT,
    Site,
    SiteOptions,
    SiteStatus,
)
from runtime.ports import World
from runtime.registry import Enrollment
from runtime.settings import POLICIES, FetchPolicy
from runtime.web.gate import check_url

_NUMBERS = {
    "maxPages": ("max_pages", MIN_PAGES, MAX_PAGES),
    "descLength": ("desc_length", MIN_DESC, MAX_DESC),
    "recrawlIntervalMinutes": ("recrawl_interval_minutes", MIN_INTERVAL, MAX_INTERVAL),
}
_FLAGS = {
    "adaptive": "adaptive",
    "requireSignature": "require_signature",
    "llmEnhance": "llm_enhance",
    "useBrightdata": "use_brightdata",
}
_GLOBS = ("include", "exclude")
NOTIFY = "notifyUrl"
SCHEDULE, WEIGHT = "schedule", "weight"
AS_DEPLOYED = "default"
"""The schedule of a site that follows the deployment's."""

CROWD = 100
"""While so many sites wait for their first look, further ones are spread over a day."""

MAX_GLOBS, MAX_GLOB_CHARS = 100, 500
FIELDS = frozenset({"url", "enableAutoUpdate", NOTIFY, SCHEDULE, WEIGHT, *_NUMBERS, *_FLAGS, *_GLOBS})


def parse_options(
    given: Mapping[str, Any], current: SiteOptions | None = None, *, policy: FetchPolicy | None = None
) -> SiteOptions:
    """The options in a request, over those the site has.

    :param policy: what the fetch gate lets out; `notifyUrl` must be let out.
    :raises InputError: a field is unknown, of the wrong type or out of bounds; the message says what is allowed.
    """
    check_fields(given, FIELDS)
    changes: dict[str, Any] = {}
    for name, (attribute, low, high) in _NUMBERS.items():
        if name in given:
            changes[attribute] = check_number(name, given[name], low, high)
    for name, attribute in _FLAGS.items():
        if name in given:
            changes[attribute] = check_flag(name, given[name])
    for name in _GLOBS:
        if name in given:
            changes[name] = check_globs(name, given[name])
    if SCHEDULE in given:
        changes["policy"] = check_schedule(given[SCHEDULE])
    if WEIGHT in given:
        changes["weight"] = check_weight(given[WEIGHT])
    if NOTIFY in given:
        changes["notify_url"] = check_notify_url(given[NOTIFY], policy or FetchPolicy())
    return replace(current or SiteOptions(), **changes)


async def enroll(world: World, given: Mapping[str, Any], *, secret: str | None = None) -> tuple[Site, bool]:
    """Keep a site from now on; gives the row and whether it is new. A new row is due at once, but in a crowd.

    :param secret: the webhook secret of a row that has none; a new one by default.
    :raises InputError: the URL or an option is not allowed.
    :raises Refused: the URL is not one that may be fetched.
    """
    if "url" not in given:
        raise InputError("url", "is missing: send the address of the site, such as https://docs.example.com")
    if not isinstance(given["url"], str):
        raise InputError("url", "must be text")
    check_fields(given, FIELDS)
    enabled = check_flag("enableAutoUpdate", given.get("enableAutoUpdate", True))
    base_url, policy = urls.canonical_base_url(given["url"]), world.settings.policy
    check_url(urls.entry_url(base_url), policy)
    known = await world.sites.find(base_url)
    options = parse_options(given, known.options if known else None, policy=policy)
    return await world.sites.enroll(
        Enrollment(
            base_url=base_url,
            options=options,
            webhook_secret=secret or webhook.new_secret(),
            enabled=enabled,
            crowd=CROWD,
        )
    )


def check_fields(given: Mapping[str, Any], allowed: frozenset[str]) -> None:
    """A field that nobody knows is a typing error: it is refused, not ignored."""
    unknown = sorted(set(given) - allowed)
    if unknown:
        names = f"allowed are {', '.join(sorted(allowed))}" if allowed else "none is expected here"
        raise InputError(unknown[0][:100], f"unknown field; {names}")


def check_number(name: str, value: Any, low: int, high: int) -> int:
    """A whole number within bounds. `true` and `"5"` are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(name, f"must be a whole number from {low} to {high}")
    return value


def check_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(name, "must be true or false")
    return value


def check_schedule(value: Any) -> str:
    """A policy by its name; the empty text for the deployment's."""
    if not isinstance(value, str) or value not in (AS_DEPLOYED, *POLICIES):
        raise InputError(SCHEDULE, f"must be one of {', '.join((AS_DEPLOYED, *POLICIES))}")
    return "" if value == AS_DEPLOYED else value


def check_weight(value: Any) -> float:
    """A number within bounds; what is not a number is within none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not MIN_WEIGHT <= value <= MAX_WEIGHT:
        raise InputError(WEIGHT, f"must be a number from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}")
    return float(value)


def check_globs(name: str, value: Any) -> tuple[str, ...]:
    """A list of path globs such as `docs/**`, in the order given, each once."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise InputError(name, "must be a list of path globs such as docs/**")
    globs = tuple(dict.fromkeys(item.strip() for item in value if item.strip()))
    if len(globs) > MAX_GLOBS or any(len(glob) > MAX_GLOB_CHARS for glob in globs):
        raise InputError(name, f"may have {MAX_GLOBS} globs of {MAX_GLOB_CHARS} characters")
    if not all(glob.isprintable() for glob in globs):
        raise InputError(name, "must not contain line breaks or control characters")
    return globs


def check_notify_url(value: Any, policy: FetchPolicy) -> str:
    """Where notifications go, in canonical spelling; the empty text turns them off. The gate judges it like a site."""
    if not isinstance(value, str):
        raise InputError(NOTIFY, "must be text: an https:// address, or empty for none")
    if not value:
        return ""
    try:
        return check_url(value, policy).url
    except Refused as refused:
        raise InputError(NOTIFY, str(refused), code=refused.code) from None


def status_of(enabled: bool) -> SiteStatus:
    return SiteStatus.ACTIVE if enabled else SiteStatus.PAUSED
