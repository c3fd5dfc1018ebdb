"""Commands that run the schedule: tick, recrawl."""

from __future__ import annotations

from typing import Any

import click

from runtime.cli.progress import crawl_progress
from runtime.cli.read import survey_view
from runtime.cli.session import Session, emit, find_site, open_and_run
from runtime.local import run_site, run_tick
from runtime.management import site_view
from runtime.models import Outcome, Summary
from runtime.ports import World
from runtime.recrawl import Finished


@click.command()
@click.pass_obj
def tick(session: Session) -> None:
    """Look at every site that is due, once, and print the summary."""

    async def work(world: World) -> Summary:
        return await run_tick(world)

    summary = open_and_run(session, work).as_dict()
    emit(session, summary, "  ".join(f"{name} {number}" for name, number in summary.items()))


@click.command()
@click.argument("site")
@click.option("--if-changed", is_flag=True, help="Skip the crawl when the sitemap says that nothing changed.")
@click.pass_obj
def recrawl(session: Session, site: str, if_changed: bool) -> None:
    """Look at SITE now, whether due or not."""

    async def work(world: World) -> Finished:
        row = await find_site(world, site)
        with crawl_progress(session.err, f"Crawling {row.base_url}") as progress:
            return await run_site(world, row, force=not if_changed, progress=progress)

    finished = open_and_run(session, work)
    value: dict[str, Any] = {**survey_view(finished.survey), "site": site_view(finished.site)}
    lines = [f"{finished.site.base_url}: {finished.outcome} ({finished.reason})"]
    if finished.outcome is Outcome.UPDATED and finished.survey.changes is not None:
        lines.append(finished.survey.changes.summary)
    emit(session, value, "\n".join(lines))
    if finished.outcome is Outcome.FAILED:
        raise click.exceptions.Exit(1)


COMMANDS = (tick, recrawl)
