"""What every command shares: the home folder, the options of the group, and one world opened for one call."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from runtime import environment as env
from runtime import urls
from runtime.cli.log import ConsoleEvents
from runtime.errors import NotFound, ServiceError
from runtime.models import Site
from runtime.ports import World
from runtime.settings import CrawlLimits, FetchPolicy, Settings, scheduling, unlocks_of_all
from runtime.wiring import embedded_world, notify_url

LOOPBACK = ("127.0.0.0/8", "::1/128")
PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
DEFAULT_BASE_URL = "http://127.0.0.1:8321"


@dataclass(slots=True)
class Session:
    """The options given before the command. `as_json` puts one JSON document on stdout instead of text."""

    home: Path
    allow_private: bool = False
    as_json: bool = False
    verbose: bool = False
    rate: float | None = None
    base_url: str = DEFAULT_BASE_URL
    err: Console = field(default_factory=lambda: Console(stderr=True))
    out: Console = field(default_factory=lambda: Console(soft_wrap=True, highlight=False))

    def settings(self) -> Settings:
        limits = CrawlLimits() if self.rate is None else replace(CrawlLimits(), requests_per_second=self.rate)
        networks = (*LOOPBACK, *PRIVATE) if self.allow_private else ()
        policy = FetchPolicy(allow_networks=networks, allow_any_port=self.allow_private)
        return Settings(
            limits=limits,
            policy=policy,
            notify_url=notify_url(os.environ.get(env.NOTIFY_URL, ""), policy),
            notify_secrets=tuple(filter(None, os.environ.get(env.NOTIFY_SECRET, "").split(","))),
            unlocks_per_month_of_all=unlocks_of_all(os.environ),
            **scheduling(os.environ),
        )


def open_and_run(session: Session, work: Callable[[World], Awaitable[Any]]) -> Any:
    """Open the world in the home folder, do the work, close it."""
    results: list[Any] = []

    async def opened() -> None:
        events = ConsoleEvents(session.err, verbose=session.verbose)
        async with embedded_world(
            session.home,
            settings=session.settings(),
            events=events,
            base_url=session.base_url,
            environment=os.environ,
        ) as world:
            # Not returned: asyncio.run asks `signal` for its handler, which writes out the task with all of its result.
            results.append(await work(world))

    asyncio.run(opened())
    return results[0]


async def find_site(world: World, name: str) -> Site:
    """The site a person names by URL or by id.

    :raises NotFound: it is not enrolled; the sentence says how to enrol it.
    """
    if "://" in name or "." in name or ":" in name:
        for url in [name] if "://" in name else [f"https://{name}", f"http://{name}"]:
            if site := await world.sites.find(urls.canonical_base_url(url)):
                return site
        raise NotFound(f"{name} is not enrolled; enrol it with: python -m runtime enroll {url}")
    try:
        return await world.sites.get(name)
    except NotFound:
        raise NotFound(f"there is no site {name}; see: python -m runtime sites") from None


def emit(session: Session, value: Any, text: str | None = None) -> None:
    """The result of a command: JSON, or the text for a person.

    :raises ServiceError: standard output cannot be written.
    """
    if session.as_json:
        text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    try:
        if text is not None:
            click.echo(text)
    except BrokenPipeError:
        raise  # whoever reads has seen enough, and needs no sentence
    except OSError as error:
        raise ServiceError(f"the result cannot be written ({error.strerror}); what the command did is done") from None
