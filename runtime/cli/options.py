"""The options that say how a site is crawled, shared by the commands that take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from runtime.enroll import parse_options
from runtime.models import SiteOptions

_DECORATORS = (
    click.option("--max-pages", type=int, help="Pages to list, 1 to 10,000 (default 50)."),
    click.option("--desc-length", type=int, help="Characters of a description, 50 to 2,000 (default 500)."),
    click.option("--interval", type=int, help="Minutes between recrawls, 60 to 525,600 (default 10,080)."),
    click.option("--adaptive/--fixed", default=None, help="Let the interval follow the site's changes."),
    click.option("--schedule", metavar="POLICY", help="fixed, ewma, learned, or default for the deployment's."),
    click.option("--weight", type=float, help="How much its freshness counts under a budget (default 1)."),
    click.option("--include", multiple=True, metavar="GLOB", help="List only paths like docs/**; repeatable."),
    click.option(
        "--llm-enhance/--no-llm-enhance", default=None, help="Let a model write the descriptions (default: no)."
    ),
    click.option("--use-brightdata/--no-brightdata", default=None, help="Allow the unlocker (default: yes)."),
    click.option("--notify-url", metavar="URL", help="Tell this address of changes and trouble; '' for nobody."),
    click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out paths like blog/**; repeatable."),
)


def site_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in reversed(_DECORATORS):
        command = decorate(command)
    return command


def given(**values: Any) -> dict[str, Any]:
    """The options that were given, under the names of the crawl request."""
    names = {
        "max_pages": "maxPages",
        "desc_length": "descLength",
        "interval": "recrawlIntervalMinutes",
        "adaptive": "adaptive",
        "schedule": "schedule",
        "weight": "weight",
        "include": "include",
        "exclude": "exclude",
        "llm_enhance": "llmEnhance",
        "use_brightdata": "useBrightdata",
        "notify_url": "notifyUrl",
    }
    return {
        names[key]: list(value) if isinstance(value, tuple) else value
        for key, value in values.items()
        if value is not None and value != ()
    }


def options_from(**values: Any) -> SiteOptions:
    """:raises InputError: one is out of bounds."""
    return parse_options(given(**values))
