"""Commands that only look: crawl once, preview, why, diff."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from runtime import keys, urls
from runtime.cli.options import options_from, site_options
from runtime.cli.output import destination, write_whole
from runtime.cli.progress import crawl_progress
from runtime.cli.session import Session, emit, find_site, open_and_run
from runtime.document.changes import unified_diff
from runtime.errors import NotFound, ServiceError
from runtime.judgement import Survey
from runtime.models import Outcome, Site
from runtime.ports import World
from runtime.published import read_published
from runtime.state import SiteState, decode
from runtime.survey import survey
from runtime.versions import published_versions
from runtime.web.gate import check_url


@click.command()
@click.argument("url")
@site_options
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the file here (default: print it)."
)
@click.pass_obj
def crawl(session: Session, /, url: str, output: Path | None, **values: Any) -> None:
    """Crawl URL once and print its llms.txt. Nothing is enrolled or stored."""
    options, place = options_from(**values), destination(output)
    base_url = urls.canonical_base_url(url)
    check_url(urls.entry_url(base_url), session.settings().policy)
    site = Site(id="one-off", base_url=base_url, options=options)

    async def work(world: World) -> Survey:
        with crawl_progress(session.err, f"Crawling {urls.host_of(base_url)}") as progress:
            return await survey(world, site, SiteState(), None, forced=True, now=world.clock(), progress=progress)

    result = open_and_run(session, work)
    if result.rendered is None or result.outcome in (Outcome.FAILED, Outcome.HELD):
        raise ServiceError(f"{base_url}: {result.reason}")
    text = result.rendered.text
    if place is not None:
        write_whole(place, text)
        for slug, part in result.rendered.sections.items():
            write_whole(place.parent / "sections" / slug / "llms.txt", part)
    value = {**survey_view(result), "output": None if place is None else str(output), "llms_txt": text}
    emit(session, value, None if place is not None else text.rstrip("\n"))


@click.command()
@click.argument("site")
@click.pass_obj
def preview(session: Session, site: str) -> None:
    """Show what a run of SITE would publish, the diff, and every decision. Publishes nothing."""

    async def work(world: World) -> tuple[Survey, str]:
        row = await find_site(world, site)
        published = await read_published(world.publisher, row.base_url)
        state = decode(await world.states.load(row.id))
        with crawl_progress(session.err, f"Looking at {row.base_url}") as progress:
            result = await survey(world, row, state, published, forced=True, now=world.clock(), progress=progress)
        return result, "" if published is None else published.text

    result, before = open_and_run(session, work)
    after = before if result.rendered is None else result.rendered.text
    diff = unified_diff(before, after)
    lines = [
        f"{result.outcome}: {result.reason}",
        _counted(result),
        diff or "no difference to the published file",
    ]
    emit(session, {**survey_view(result), "diff": diff, "llms_txt": after}, "\n".join(lines))


@click.command()
@click.argument("site")
@click.argument("url", required=False)
@click.pass_obj
def why(session: Session, site: str, url: str | None) -> None:
    """Why a URL of SITE is not listed: the reason for each, or for URL alone."""

    async def work(world: World) -> tuple[Site, SiteState]:
        row = await find_site(world, site)
        return row, decode(await world.states.load(row.id))

    row, state = open_and_run(session, work)
    wanted = None if url is None else urls.normalize(url)
    if wanted is not None and any(page.url == wanted for page in state.pages):
        emit(session, {"url": wanted, "listed": True}, f"{wanted} is listed")
        return
    reasons = [item for item in state.left_out if wanted is None or item.url == wanted]
    if wanted is not None and not reasons:
        raise NotFound(f"{wanted} was not met in the last crawl of {row.base_url}: no page and no sitemap names it")
    value = [{"url": item.url, "reason": item.reason, "detail": item.detail} for item in reasons]
    text = "\n".join(f"{item.url}  {item.words}" for item in reasons)
    emit(session, value, text or "every URL that was met is listed")


@click.command()
@click.argument("site")
@click.argument("version", required=False)
@click.pass_obj
def diff(session: Session, site: str, version: str | None) -> None:
    """What changed in SITE's file between its last two versions, or between VERSION and now."""

    async def work(world: World) -> tuple[str, str, str, str]:
        row = await find_site(world, site)
        history = await published_versions(world, row.id)
        current = row.latest_llms_hash
        older = version or next((sha for sha in history if sha != current), None)
        if current is None or older is None:
            raise NotFound(f"{row.base_url} has no two versions to compare")
        texts = []
        for sha in (older, current):
            stored = await world.publisher.read(keys.version(row.base_url, sha))
            if stored is None:
                raise NotFound(f"version {sha} of {row.base_url} does not exist")
            texts.append(stored.body.decode())
        return older, current, texts[0], texts[1]

    older, current, before, after = open_and_run(session, work)
    text = unified_diff(before, after)
    emit(session, {"from": older, "to": current, "diff": text}, text.rstrip("\n") or "no difference")


def _counted(result: Survey) -> str:
    listed, left = (result.counts.get(name, 0) for name in ("pages", "left_out"))
    return f"{listed} pages listed, {left} URLs left out, {result.requests} requests"


def survey_view(result: Survey) -> dict[str, Any]:
    """A survey as JSON: the outcome, the decisions, the change record."""
    return {
        "outcome": result.outcome,
        "reason": result.reason,
        "verdict": type(result.verdict).__name__.lower(),
        "sentinel_url": result.sentinel_url,
        "counts": result.counts,
        "sha256": None if result.rendered is None else result.rendered.sha256,
        "sections": [] if result.rendered is None else sorted(result.rendered.sections),
        "changes": None if result.changes is None else result.changes.as_dict(),
        "left_out": [
            {"url": item.url, "reason": item.reason, "detail": item.detail}
            for item in (() if result.crawl is None else result.crawl.left_out)
        ],
    }


COMMANDS = (crawl, preview, why, diff)
