"""I1 to I11, the promises that hold after every fault, in one function."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from runtime import keys, urls
from runtime.document.parse import entries, parse
from runtime.document.validate import validate
from runtime.errors import ServiceError
from runtime.models import Outcome, Run, Site, SiteStatus, Summary
from runtime.ports import Publisher, States
from runtime.published import section_slugs
from runtime.registry import Sites
from runtime.settings import CrawlLimits, Settings
from tests.faults.service import Service, sha

ATTEMPTS = 3
FLEET = 8
"""So many sites that no worker finishes are no poison sites: the workers do not work."""


@dataclass
class Evidence:
    """What is looked at: the stores without any fault in them, what was said and asked, and what ticks came to.

    `now` is by the database's clock; `behind` is how far that was set back.
    """

    sites: Sites
    publisher: Publisher
    states: States
    now: datetime
    behind: timedelta = timedelta()
    limits: CrawlLimits = field(default_factory=CrawlLimits)
    settings: Settings = field(default_factory=Settings)
    events: Sequence[tuple[str, Mapping[str, Any]]] = ()
    asked: Iterable[str] = ()
    deleted: Iterable[str] = ()
    shown: Mapping[str, Sequence[bytes]] = field(default_factory=dict)
    summaries: Sequence[Summary] = ()
    errors: Sequence[ServiceError] = ()


async def check_invariants(
    given: Service | Evidence,
    *,
    settled: bool = False,
    truth: Mapping[str, bytes] | None = None,
    confirmed: AbstractSet[str] = frozenset(),
) -> None:
    """Raises AssertionError, which begins with the number of the broken promise.

    :param settled: the faults are over and every site has been looked at since: nothing may be on its way any more.
    :param truth: base URL -> what its file should be by now.
    :param confirmed: base URLs whose file may have collapsed, because that was held first, or an operator asked for it.
    """
    seen = _evidence(given) if isinstance(given, Service) else given
    rows = await seen.sites.list_sites(limit=10_000)
    for row in rows:
        runs = await seen.sites.runs(row.id, limit=1_000)
        await _file_is_whole(seen, row, settled=settled)
        await _row_tells_the_truth(seen, row, settled=settled)
        _is_not_lost(seen, row, rows, settled=settled)
        _wish_is_kept(seen, row, settled=settled)
        _commits_once(row, runs)
        _is_bounded(seen, row, runs)
        await _keeps_secrets(seen, row)
        _failures_are_told(row, runs)
    for base_url, body in (truth or {}).items():
        stored = await seen.publisher.read(keys.public(base_url))
        assert stored is not None, f"I4 {base_url}: a change is lost, there is no file"
        assert stored.body == body, (
            f"I4 {base_url}: a change is lost\n{stored.body.decode()}\n--- should be\n{body.decode()}"
        )
    _good_is_never_replaced_by_bad(seen, {keys.public(base_url) for base_url in confirmed})
    _nobody_inside_was_asked(seen, rows)
    _counters_add_up(seen)


def _evidence(service: Service) -> Evidence:
    return Evidence(
        sites=service.sites,
        publisher=service.public,
        states=service.states,
        now=service.store_now(),
        behind=-service.skew,
        limits=service.limits,
        settings=service.settings,
        events=service.events,
        asked=service.site.log,
        deleted=service.known,
        shown=service.public.shown,
        summaries=service.summaries,
        errors=service.errors,
    )


async def _file_is_whole(seen: Evidence, row: Site, *, settled: bool) -> None:
    """I1: what readers get is one document, whole, and one that was stored as a version; its section files, too, once
    all is quiet: they are written one after another.
    """
    stored = await seen.publisher.read(keys.public(row.base_url))
    if stored is None:
        return
    assert stored.sha256, f"I1 {row.base_url}: the public file is not ours"
    assert not validate(stored.body.decode()), f"I1 {row.base_url}: the public file is not valid"
    if not _is_divided(stored.body):
        assert sha(stored.body) == stored.sha256, f"I1 {row.base_url}: the public file is not what it claims"
    version = await seen.publisher.read(keys.version(row.base_url, stored.sha256))
    assert version is not None, f"I1 {row.base_url}: the public file is no version"
    assert version.body == stored.body, f"I1 {row.base_url}: the public file is not its version"
    for slug in section_slugs(seen.publisher, row.base_url, stored.body) if settled else ():
        part = await seen.publisher.read(keys.section(row.base_url, slug))
        kept = await seen.publisher.read(keys.version_section(row.base_url, stored.sha256, slug))
        assert part is not None, f"I1 {row.base_url}: section {slug} is not there"
        assert kept is not None, f"I1 {row.base_url}: section {slug} is no version"
        assert part.body == kept.body, f"I1 {row.base_url}: section {slug} is another version's"


def _is_divided(body: bytes) -> bool:
    """Whether the hash also covers section files."""
    return b"/sections/" in body


async def _row_tells_the_truth(seen: Evidence, row: Site, *, settled: bool) -> None:
    """I2: the hash of the row is that of a stored version and, once all is quiet, that of the public file."""
    if row.latest_llms_hash is None:
        return
    version = await seen.publisher.read(keys.version(row.base_url, row.latest_llms_hash))
    assert version is not None, f"I2 {row.base_url}: the row claims bytes that the bucket lacks"
    stored = await seen.publisher.read(keys.public(row.base_url))
    assert stored is not None, f"I2 {row.base_url}: the row claims a file that is not there"
    if settled:
        assert stored.sha256 == row.latest_llms_hash, f"I2 {row.base_url}: the public file is not the row's"


def _is_not_lost(seen: Evidence, row: Site, rows: Sequence[Site], *, settled: bool) -> None:
    """I3: an active site has its next time, a lease ends, and a site that was given up says why."""
    waiting = sum(other.attempts > 1 for other in rows)
    assert row.attempts <= ATTEMPTS or waiting >= FLEET, f"I3 {row.base_url}: tried without end"
    if row.status is SiteStatus.ACTIVE:
        assert row.next_crawl_at is not None, f"I3 {row.base_url}: active and never due"
        latest = seen.now + timedelta(days=8)
        assert row.next_crawl_at <= latest, f"I3 {row.base_url}: due in the far future"
    if row.status is SiteStatus.DISABLED:
        assert row.last_error, f"I3 {row.base_url}: disabled without a reason"
    if row.lease_until is not None:
        longest = timedelta(seconds=seen.settings.lease_seconds) + seen.behind
        assert row.lease_until <= seen.now + longest, f"I3 {row.base_url}: a lease without end"
    if settled:
        over = row.status is not SiteStatus.ACTIVE and row.lease_until is not None and row.lease_until <= seen.now
        assert row.lease_owner is None or over, f"I3 {row.base_url}: stuck with {row.lease_owner}"
        assert row.status is not SiteStatus.ACTIVE or row.attempts == 0, (
            f"I3 {row.base_url}: claimed and never committed"
        )


def _wish_is_kept(seen: Evidence, row: Site, *, settled: bool) -> None:
    """I4: a site whose change was announced is due for it, or its last run failed and backs off."""
    if row.requested_at is None or row.status is not SiteStatus.ACTIVE:
        return
    assert row.next_crawl_at is not None, f"I4 {row.base_url}: an announced change is not planned"
    unserved = row.last_outcome in (Outcome.FAILED, Outcome.DEFERRED)
    assert not settled or unserved or row.next_crawl_at > seen.now, (
        f"I4 {row.base_url}: an announced change still waits"
    )


def _commits_once(row: Site, runs: Sequence[Run]) -> None:
    """I5: one commit a generation, and none of a generation that was never given out."""
    generations = [run.generation for run in runs]
    assert len(generations) == len(set(generations)), f"I5 {row.base_url}: committed twice: {generations}"
    assert max(generations, default=0) <= row.generation, f"I5 {row.base_url}: a commit from nowhere"


def _is_bounded(seen: Evidence, row: Site, runs: Sequence[Run]) -> None:
    """I6: no run asks for more, or reads more, than a site may cost."""
    most = seen.limits.requests_per_site(row.options.max_pages) + seen.limits.sitemap_documents
    for run in runs:
        assert run.counts.get("requests", 0) <= most, f"I6 {row.base_url}: {run.counts} in one run"
        assert run.counts.get("bytes", 0) <= seen.limits.bytes_per_site, f"I6 {row.base_url}: {run.counts} in one run"


def _good_is_never_replaced_by_bad(seen: Evidence, confirmed: AbstractSet[str]) -> None:
    """I7: of the bodies that readers ever got, none is empty and none collapsed."""
    for key, bodies in seen.shown.items():
        if not key.endswith("/llms.txt"):
            continue
        counts = [entries(parse(body.decode())) for body in bodies if body]
        assert all(counts), f"I7 {key}: a file without entries was shown"
        for before, after in itertools.pairwise(counts):
            assert key in confirmed or before < 10 or 2 * after >= before, f"I7 {key}: {before} entries became {after}"


async def _keeps_secrets(seen: Evidence, row: Site) -> None:
    """I8: the secret of a site is in its row and nowhere else, and nobody else's exception is quoted."""
    secret = row.webhook_secret
    said = repr(list(seen.events)) + repr([str(error) for error in seen.errors]) + repr(row)
    assert "canary" not in said, "I8: the text of somebody else's exception"
    if not secret:
        return
    assert secret not in said, f"I8 {row.base_url}: its secret was told"
    stored = await seen.publisher.read(keys.public(row.base_url))
    state = await seen.states.load(row.id)
    assert stored is None or secret.encode() not in stored.body, f"I8 {row.base_url}: its secret was published"
    assert state is None or secret.encode() not in gzip.decompress(state), f"I8 {row.base_url}: its secret was stored"


def _failures_are_told(row: Site, runs: Sequence[Run]) -> None:
    """I9: what failed says why, in the run and, until an operator starts the site afresh, in the row."""
    for run in runs:
        assert run.reason, f"I9 {row.base_url}: a run without a reason"
        assert run.outcome is not Outcome.FAILED or run.error, f"I9 {row.base_url}: a failure without an error"
    if row.last_outcome is Outcome.FAILED and row.failure_count:
        assert row.last_error, f"I9 {row.base_url}: failed, and the row does not say why"


def _nobody_inside_was_asked(seen: Evidence, rows: Sequence[Site]) -> None:
    """I10: every host that was asked is one of an enrolled site, or wants to be told of one."""
    given = [*(row.base_url for row in rows), *(row.options.notify_url for row in rows), *seen.deleted]
    known = {urls.host_of(url) for url in given if url}
    asked = {urlsplit(url).hostname or "" for url in seen.asked}
    strangers = {host for host in asked if host.removeprefix("www.") not in known and host not in known}
    assert not strangers or not rows, f"I10: {sorted(strangers)} were asked"


def _counters_add_up(seen: Evidence) -> None:
    """I11: total is the sum of the outcomes, in every summary and in every tick that was reported."""
    told = [fields for name, fields in seen.events if name == "tick_completed" and "total" in fields]
    for counts in [*(summary.as_dict() for summary in seen.summaries), *told]:
        parts = sum(counts[name] for name in ("updated", "unchanged", "held", "errors", "deferred"))
        assert counts["total"] == parts, f"I11: {counts}"
