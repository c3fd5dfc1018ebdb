"""Enrolment: what a caller sends is checked, made canonical and stored as one row a site.

The names, defaults and bounds are those of the crawl request: `url`, `maxPages`, `descLength`, `enableAutoUpdate`,
`recrawlIntervalMinutes`, and the owner's `include` and `exclude` globs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runtime import urls, webhook
from runtime.errors import InputError
from runtime.models import (
    MAX_DESC,
    MAX_INTERVAL,
    MAX_PAGES,
    MIN_DESC,
    MIN_INTERVAL,
    MIN_PAGES,
    Site,
    SiteOptions,
    SiteStatus,
)
from runtime.ports import Enrollment, World
from runtime.web.gate import check_url

_NUMBERS = {
    "maxPages": ("max_pages", MIN_PAGES, MAX_PAGES),
    "descLength": ("desc_length", MIN_DESC, MAX_DESC),
    "recrawlIntervalMinutes": ("recrawl_interval_minutes", MIN_INTERVAL, MAX_INTERVAL),
}
_FLAGS = {"adaptive": "adaptive", "requireSignature": "require_signature"}
_GLOBS = ("include", "exclude")
MAX_GLOBS, MAX_GLOB_CHARS = 100, 500
FIELDS = frozenset({"url", "enableAutoUpdate", *_NUMBERS, *_FLAGS, *_GLOBS})


def parse_options(given: Mapping[str, Any], current: SiteOptions | None = None) -> SiteOptions:
    """The options in a request, over those the site has.

    :raises InputError: a field is unknown, of the wrong type or out of bounds; the message says what is allowed.
    """
    unknown = sorted(set(given) - FIELDS)
    if unknown:
        raise InputError(unknown[0], f"unknown field; allowed are {', '.join(sorted(FIELDS))}")
    changes: dict[str, Any] = {}
    for name, (attribute, low, high) in _NUMBERS.items():
        if name in given:
            changes[attribute] = check_number(name, given[name], low, high)
    for name, attribute in _FLAGS.items():
        if name in given:
            changes[attribute] = _flag(name, given[name])
    for name in _GLOBS:
        if name in given:
            changes[name] = check_globs(name, given[name])
    return replace(current or SiteOptions(), **changes)


async def enroll(world: World, given: Mapping[str, Any]) -> tuple[Site, bool]:
    """Keep a site from now on; gives the row and whether it is new. A new row is due at once.

    :raises InputError: the URL or an option is not allowed.
    :raises Refused: the URL is not one that may be fetched.
    """
    if "url" not in given:
        raise InputError("url", "is missing: send the address of the site, such as https://docs.example.com")
    if not isinstance(given["url"], str):
        raise InputError("url", "must be text")
    base_url = urls.canonical_base_url(given["url"])
    check_url(urls.entry_url(base_url), world.settings.policy)
    known = await world.sites.find(base_url)
    options = parse_options(given, known.options if known else None)
    enabled = _flag("enableAutoUpdate", given.get("enableAutoUpdate", True))
    return await world.sites.enroll(
        Enrollment(base_url=base_url, options=options, webhook_secret=webhook.new_secret(), enabled=enabled)
    )


def check_number(name: str, value: Any, low: int, high: int) -> int:
    """A whole number within bounds. `true` and `"5"` are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(name, f"must be a whole number from {low} to {high}")
    return value


def check_globs(name: str, value: Any) -> tuple[str, ...]:
    """A list of path globs such as `docs/**`."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise InputError(name, "must be a list of path globs such as docs/**")
    globs = tuple(item.strip() for item in value if item.strip())
    if len(globs) > MAX_GLOBS or any(len(glob) > MAX_GLOB_CHARS for glob in globs):
        raise InputError(name, f"may have {MAX_GLOBS} globs of {MAX_GLOB_CHARS} characters")
    return globs


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(name, "must be true or false")
    return value


def status_of(enabled: bool) -> SiteStatus:
    return SiteStatus.ACTIVE if enabled else SiteStatus.PAUSED
