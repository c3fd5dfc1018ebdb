"""Commands that keep the list of sites: enroll, show, pause, resume, forget, roll back, confirm, rotate the secret."""

from __future__ import annotations

from typing import Any

import click

from runtime import keys, webhook
from runtime.cli.options import given, site_options
from runtime.cli.progress import crawl_progress
from runtime.cli.session import Session, emit, find_site, open_and_run
from runtime.enroll import enroll as enroll_site
from runtime.enroll import parse_options
from runtime.errors import BudgetSpent, InputError, ServiceError
from runtime.local import run_site
from runtime.management import run_view, site_view
from runtime.models import Outcome, Site, SiteStatus
from runtime.outlook import outlook, outlook_lines
from runtime.paid import unlocks_in_words
from runtime.ports import World
from runtime.versions import confirm as confirm_held
from runtime.versions import rollback as roll_back

ROTATION_OVERLAP_SECONDS = 3_600


@click.command()
@click.argument("url")
@site_options
@click.pass_obj
def enroll(session: Session, /, url: str, **values: Any) -> None:
    """Keep the llms.txt of URL from now on: crawl it, publish the file, print the webhook secret once."""

    async def work(world: World) -> dict[str, Any]:
        site, new = await enroll_site(world, {"url": url, **given(**values)})
        try:
            with crawl_progress(session.err, f"Crawling {site.base_url}") as progress:
                finished = await run_site(world, site, progress=progress)
        except BudgetSpent as spent:
            return _enrolled(site, site, Outcome.DEFERRED, str(spent), new=new)
        if finished.outcome is Outcome.FAILED and new:
            # Nothing was published: a site that cannot be read is not enrolled.
            await world.sites.delete(site.id)
            await world.states.delete(site.id)
            raise ServiceError(f"{site.base_url} was not enrolled: {finished.reason}")
        return _enrolled(site, finished.site, finished.outcome, finished.reason, new=new)

    view = open_and_run(session, work)
    lines = [f"{view['url']} is enrolled ({view['outcome']}: {view['reason']})"]
    if view["llms_url"]:
        lines.append(f"published   {view['llms_url']}")
    lines.append(f"next look   {view['next_crawl_at']}")
    if "webhook_secret" in view:
        lines.append(f"webhook     {view['webhook_secret']}  (shown once)")
    emit(session, view, "\n".join(lines))


def _enrolled(enrolled: Site, now: Site, outcome: Outcome, reason: str, *, new: bool) -> dict[str, Any]:
    """What is told of an enrolment; the secret of a new site is shown this once."""
    secret = {"webhook_secret": enrolled.webhook_secret} if new else {}
    return {**site_view(now), "outcome": outcome, "reason": reason, **secret}


@click.command()
@click.pass_obj
def sites(session: Session) -> None:
    """List the enrolled sites."""

    async def work(world: World) -> list[Site]:
        rows: list[Site] = []
        while True:
            page = await world.sites.list_sites(after=rows[-1].base_url if rows else None)
            rows += page
            if not page:
                return rows

    rows = open_and_run(session, work)
    text = "\n".join(
        f"{row.status:8} {row.base_url}  next {row.next_crawl_at:%Y-%m-%d %H:%M}"
        if row.next_crawl_at
        else f"{row.status:8} {row.base_url}"
        for row in rows
    )
    emit(
        session,
        [site_view(row) for row in rows],
        text or "no site is enrolled; start with: python -m runtime enroll URL",
    )


@click.command()
@click.argument("site")
@click.option("--file", "as_file", is_flag=True, help="Print the published file instead.")
@click.pass_obj
def show(session: Session, site: str, as_file: bool) -> None:
    """Show SITE: what is published, when it was last looked at, when it will be again, and why then."""

    async def work(world: World) -> tuple[dict[str, Any], str]:
        row = await find_site(world, site)
        stored = await world.publisher.read(keys.public(row.base_url))
        expected = outlook(row, world.settings, await world.sites.budget(), world.clock())
        view = {**site_view(row), "outlook": expected, "unlocker": await unlocks_in_words(world, row)}
        return view, "" if stored is None else stored.body.decode()

    view, text = open_and_run(session, work)
    if as_file:
        emit(session, {"llms_txt": text}, text.rstrip("\n"))
        return
    shown = [(name, value) for name, value in view.items() if name not in ("outlook", "next_crawl_reason")]
    shown += outlook_lines(view["outlook"])
    emit(session, view, "\n".join(f"{name:24} {value}" for name, value in shown if value not in (None, [], "")))


@click.command()
@click.argument("site")
@site_options
@click.pass_obj
def edit(session: Session, /, site: str, **values: Any) -> None:
    """Change how SITE is crawled; what is not given stays. The next run goes by it."""
    changes = given(**values)
    if not changes:
        raise InputError("edit", "nothing to change: give an option such as --max-pages 100 (edit --help lists them)")

    async def work(world: World) -> Site:
        row = await find_site(world, site)
        return await world.sites.update(row.id, options=parse_options(changes, row.options))

    row = open_and_run(session, work)
    emit(session, site_view(row), f"{row.base_url} is changed; the next look is at {row.next_crawl_at}")


@click.command()
@click.argument("site")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.pass_obj
def runs(session: Session, site: str, limit: int) -> None:
    """The last runs of SITE, newest first."""

    async def work(world: World) -> list[dict[str, Any]]:
        row = await find_site(world, site)
        return [run_view(run) for run in await world.sites.runs(row.id, limit=limit)]

    history = open_and_run(session, work)
    text = "\n".join(f"{run['finished_at'][:19]}  {run['outcome']:18} {run['reason']}" for run in history)
    emit(session, history, text or "there has been no run yet")


def _change_status(name: str, status: SiteStatus, help_text: str) -> click.Command:
    @click.command(name, help=help_text)
    @click.argument("site")
    @click.pass_obj
    def command(session: Session, site: str) -> None:
        async def work(world: World) -> Site:
            return await world.sites.update((await find_site(world, site)).id, status=status)

        row = open_and_run(session, work)
        emit(session, site_view(row), f"{row.base_url} is {row.status}")

    return command


@click.command()
@click.argument("site")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def unenroll(session: Session, site: str, yes: bool) -> None:
    """Forget SITE. The published file stays where it is."""

    async def find(world: World) -> Site:
        return await find_site(world, site)

    async def work(world: World) -> Site:
        row = await find_site(world, site)
        await world.sites.delete(row.id)
        await world.states.delete(row.id)
        return row

    row = open_and_run(session, find)
    if not yes:
        click.confirm(f"Forget {row.base_url}?", abort=True, err=True)
    open_and_run(session, work)
    emit(session, {"deleted": row.base_url, "id": row.id}, f"{row.base_url} is no longer enrolled")


@click.command()
@click.argument("site")
@click.argument("version", required=False)
@click.pass_obj
def rollback(session: Session, site: str, version: str | None) -> None:
    """Publish the version before the current one, or VERSION, again. Holds until the site changes."""

    async def work(world: World) -> Site:
        return await roll_back(world, (await find_site(world, site)).id, version)

    row = open_and_run(session, work)
    emit(session, site_view(row), f"{row.base_url} serves version {row.latest_llms_hash}")


@click.command()
@click.argument("site")
@click.pass_obj
def confirm(session: Session, site: str) -> None:
    """Publish what is held for SITE, if the site still says the same."""

    async def work(world: World) -> dict[str, Any]:
        row = await find_site(world, site)
        await confirm_held(world, row.id)
        finished = await run_site(world, row)
        return {"outcome": finished.outcome, "reason": finished.reason, **site_view(finished.site)}

    view = open_and_run(session, work)
    emit(session, view, f"{view['url']}: {view['outcome']} ({view['reason']})")


@click.command()
@click.argument("site")
@click.option(
    "--overlap",
    type=click.IntRange(0),
    default=ROTATION_OVERLAP_SECONDS,
    show_default=True,
    help="Seconds for which the old secret stays valid.",
)
@click.pass_obj
def secret(session: Session, site: str, overlap: int) -> None:
    """Make a new webhook secret for SITE and print it once."""
    new = webhook.new_secret()

    async def work(world: World) -> Site:
        row = await find_site(world, site)
        return await world.sites.rotate_secret(row.id, new, overlap_seconds=overlap)

    row = open_and_run(session, work)
    emit(session, {"url": row.base_url, "webhook_secret": new}, new)


COMMANDS = (
    enroll,
    sites,
    show,
    edit,
    runs,
    _change_status("pause", SiteStatus.PAUSED, "Stop looking at SITE until it is resumed."),
    _change_status("resume", SiteStatus.ACTIVE, "Look at SITE again, now."),
    unenroll,
    rollback,
    confirm,
    secret,
)
