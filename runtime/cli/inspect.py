"""Commands for whoever looks after the service: status, report, doctor, migrate."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from runtime.cli.output import destination, write_whole
from runtime.cli.session import Session, emit, open_and_run
from runtime.doctor import Finding, examine, probes_of
from runtime.models import Outcome, Site
from runtime.ports import World
from runtime.report import History, page
from runtime.sites.migrate import migrate as bring_up_to_date

RUNS_PER_SITE = 200


async def every_site(world: World) -> list[Site]:
    rows: list[Site] = []
    while batch := await world.sites.list_sites(after=rows[-1].base_url if rows else None):
        rows += batch
    return rows


@click.command()
@click.option("--watch", is_flag=True, help="Show it again every few seconds, until Ctrl-C.")
@click.option(
    "--seconds", type=click.FloatRange(min=0.2), default=5.0, show_default=True, help="How often, with --watch."
)
@click.pass_obj
def status(session: Session, watch: bool, seconds: float) -> None:
    """Is it fine? Sites by state, what is due, what fails, what is held."""
    while True:
        view = open_and_run(session, _status)
        if watch and not session.as_json:
            click.clear()
        emit(session, view, _status_text(view))
        if not watch:
            return
        time.sleep(seconds)


async def _status(world: World) -> dict[str, Any]:
    rows = await every_site(world)
    spent, limit = await world.sites.budget(), world.settings.crawls_a_day
    due = await world.sites.due_summary(slack_seconds=world.settings.tick_slack_seconds, crawls_a_day=limit)
    pages = world.settings.unlocks_per_month_of_all
    ill = [row for row in rows if row.failure_count or row.last_outcome is Outcome.HELD]
    return {
        "sites": len(rows),
        "by_status": {
            name: sum(row.status == name for row in rows) for name in sorted({str(row.status) for row in rows})
        },
        "due": due.due,
        "overdue": due.overdue,
        "oldest_due_at": None if due.oldest_due_at is None else due.oldest_due_at.isoformat(),
        "budget": None
        if limit is None
        else {"crawls": spent.crawls, "of": limit, "waiting": due.over_budget, "price_minutes": spent.price},
        "unlocker": None if world.unlocker is None else {"pages": await world.sites.unlocks_taken(), "of": pages},
        "attention": [
            {"url": row.base_url, "outcome": row.last_outcome, "failures": row.failure_count, "error": row.last_error}
            for row in ill
        ],
    }


def _status_text(view: dict[str, Any]) -> str:
    states = ", ".join(f"{count} {name}" for name, count in view["by_status"].items()) or "none"
    oldest = f", the oldest since {view['oldest_due_at'][:16]}" if view["oldest_due_at"] else ""
    lines = [f"sites      {states}", f"schedule   {view['due']} due, {view['overdue']} overdue{oldest}"]
    if view["budget"]:
        lines.append(
            "budget     {crawls} of {of} crawls in the last 24 hours; {waiting} due wait for it".format(
                **view["budget"]
            )
        )
    if view["unlocker"]:
        lines.append("unlocker   {pages} of {of} pages in this month".format(**view["unlocker"]))
    lines += [f"{item['outcome'] or '':10} {item['url']}  {item['error'] or ''}" for item in view["attention"]]
    return "\n".join(lines if view["attention"] else [*lines, "attention  nothing"])


@click.command()
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), default=Path("report.html"), show_default=True
)
@click.pass_obj
def report(session: Session, output: Path) -> None:
    """Write a page about every site: freshness, outcomes over time, changes."""
    place = destination(output)

    async def work(world: World) -> str:
        histories = [
            History(row, await world.sites.runs(row.id, limit=RUNS_PER_SITE)) for row in await every_site(world)
        ]
        return page(histories, world.clock())

    html = open_and_run(session, work)
    if place is None:
        emit(session, {"html": html}, html.rstrip("\n"))
        return
    write_whole(place, html)
    emit(session, {"output": str(output)}, f"written to {output}")


@click.command()
@click.pass_obj
def doctor(session: Session) -> None:
    """Check the store, the folders or buckets, and the clock: one line each, with what to do."""

    async def work(world: World) -> list[Finding]:
        return await examine(probes_of(world))

    findings = open_and_run(session, work)
    value = [{"part": item.part, "ok": item.well, "code": item.code, "text": item.text} for item in findings]
    emit(session, value, "\n".join(item.line() for item in findings))
    if not all(item.well for item in findings):
        raise click.exceptions.Exit(1)


@click.command()
@click.option(
    "--database-url", envvar="SUPABASE_DB_URL", required=True, help="The project's connection string (user postgres)."
)
@click.option("--apply", is_flag=True, help="Apply them; without it they are only listed.")
@click.pass_obj
def migrate(session: Session, database_url: str, apply: bool) -> None:
    r"""List the migrations that a Supabase project lacks, or apply them.

    \b
    Example:
      SUPABASE_DB_URL=postgresql://postgres:…@db.….supabase.co:5432/postgres python -m runtime migrate --apply
    """
    done = bring_up_to_date(database_url, apply=apply, report=lambda line: click.echo(line, err=True))
    value = {"applied" if apply else "missing": [migration.title for migration in done]}
    emit(session, value, "the schema is up to date" if not done else f"{len(done)} {'applied' if apply else 'missing'}")


COMMANDS = (status, report, doctor, migrate)
