"""What a site's lastmods are worth: learnt from what they did while the pages did, or did not, change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from runtime.reading import Inventory
from runtime.sitemap.dates import Granularity, Lastmod, format_lastmod, parse_lastmod

__all__ = [
    "Granularity",
    "Lastmod",
    "LastmodTrust",
    "differs",
    "format_lastmod",
    "newest",
    "newest_of",
    "observe",
    "parse_lastmod",
    "usable",
]

Kind = Literal["unproven", "honest", "always_now", "every_build", "frozen"]

CLOCK_SKEW: Final = timedelta(days=1)
"""A lastmod further ahead is no modification; less may be another clock, or a time without its zone."""

NOW: Final = timedelta(minutes=15)
"""A lastmod this close to the request was made for it."""

NEARLY_ALL: Final = 0.9
ALWAYS_NOW_CHECKS: Final = 3
EVERY_BUILD_RUNS: Final = 2
HONEST_RUNS: Final = 3


@dataclass(frozen=True, slots=True)
class LastmodTrust:
    """What has been seen of a site's lastmods; every field is plain JSON.

    `unproven` and `honest` ones are believed. `always_now`: stamped with the time of the request. `every_build`: all
    move together, whether or not a page changed. `frozen`: pages changed and none moved.
    The other fields count runs in a row: all stamped now, all moved without a change, changed without a move, moved as
    the pages did; `quiet` counts runs in which nothing moved and a crawl found nothing changed.
    """

    kind: Kind = "unproven"
    now_streak: int = 0
    build_streak: int = 0
    frozen_streak: int = 0
    honest_streak: int = 0
    quiet: int = 0

    @property
    def believed(self) -> bool:
        return self.moves_believed and self.stillness_believed

    @property
    def moves_believed(self) -> bool:
        """A lastmod that moved says that its page did."""
        return self.kind not in ("always_now", "every_build")

    @property
    def stillness_believed(self) -> bool:
        """Lastmods that stand still say that the pages do. Stamps that move too often lie in the other direction."""
        return self.kind != "frozen"


def observe(
    trust: LastmodTrust, previous: Inventory, current: Inventory, now: datetime, *, content_changed: bool | None
) -> LastmodTrust:
    """The trust after one more run.

    :param previous: what the last run read; an incomplete one is compared with nothing.
    :param now: when `current` was read.
    :param content_changed: whether a crawl found the site changed; None when there was no crawl.
    """
    dated = {url: lastmod for url, lastmod in current.entries.items() if lastmod}
    if not current.complete or not dated:
        return trust
    common = [url for url in dated if url in previous.entries] if previous.complete else []
    moved = sum(differs(previous.entries[url], dated[url]) for url in common)
    still = previous.complete and moved == 0 and previous.entries.keys() == current.entries.keys()
    streak = trust.now_streak + 1 if not still and _all_now(dated.values(), now) else 0
    trust = replace(LastmodTrust() if trust.kind == "always_now" and not streak else trust, now_streak=streak)
    if streak >= ALWAYS_NOW_CHECKS:
        return replace(trust, kind="always_now", honest_streak=0, quiet=0)
    if not previous.complete or content_changed is None:
        return trust
    if still:
        return _after_stillness(trust, content_changed, all_dated=len(dated) == len(current.entries))
    if moved > 1 and moved >= NEARLY_ALL * len(common):
        return trust if content_changed else _after_empty_build(trust)
    return _after_honest_move(trust) if content_changed and moved else trust


def newest(inventory: Inventory, now: datetime | None = None) -> datetime | None:
    """The newest lastmod of an inventory; one in the future, and what is no date, are left out.

    :param now: by default the time of the reading itself.
    """
    if now is None:
        read = max((document.checked_at for document in inventory.documents), default="")
        now = datetime.fromisoformat(read) if read else None
    date = newest_of(inventory.entries.values(), now)
    return None if date is None else date.start


def newest_of(lastmods: Iterable[str | None], now: datetime | None = None) -> Lastmod | None:
    """The lastmod that begins last among those that are dates and not in the future of `now`."""
    dates = [date for date in map(parse_lastmod, set(lastmods)) if date is not None]
    past = [date for date in dates if now is None or date.start <= now + CLOCK_SKEW]
    return max(past, key=lambda date: (date.start, date.end, date.raw), default=None)


def differs(before: str | None, after: str | None) -> bool:
    """Whether two lastmods of one page mean different times, however they are spelled."""
    if before == after:
        return False
    old, new = parse_lastmod(before), parse_lastmod(after)
    if old is None or new is None:
        return old is not new
    return (old.start, old.end) != (new.start, new.end)


def _all_now(lastmods: Iterable[str], now: datetime) -> bool:
    for lastmod in set(lastmods):
        date = parse_lastmod(lastmod)
        if date is None or not date.start - (date.over - date.end) - NOW <= now <= date.over + NOW:
            return False
    return True


def _after_stillness(trust: LastmodTrust, content_changed: bool, *, all_dated: bool) -> LastmodTrust:
    if not content_changed:
        return replace(trust, quiet=trust.quiet + 1, build_streak=0)
    if not all_dated:  # the change may be on a page that promised nothing
        return replace(trust, quiet=0)
    frozen = trust.frozen_streak + 1
    doubted = trust.kind == "honest" and frozen < 2
    return replace(
        trust, kind=trust.kind if doubted else "frozen", frozen_streak=frozen, honest_streak=0, quiet=0, build_streak=0
    )


def _after_empty_build(trust: LastmodTrust) -> LastmodTrust:
    build = trust.build_streak + 1
    condemned = build >= EVERY_BUILD_RUNS and trust.kind != "frozen"
    return replace(trust, kind="every_build" if condemned else trust.kind, build_streak=build, honest_streak=0)


def _after_honest_move(trust: LastmodTrust) -> LastmodTrust:
    honest = trust.honest_streak + 1
    proven = honest >= HONEST_RUNS
    return replace(
        trust,
        kind="honest" if proven else trust.kind,
        honest_streak=honest,
        build_streak=0,
        frozen_streak=0 if proven else trust.frozen_streak,
    )


def usable(entries: Mapping[str, str | None], now: datetime) -> dict[str, Lastmod]:
    """The entries whose lastmod can vouch for a page: a date, and not one in the future."""
    dates = {text: parse_lastmod(text) for text in set(entries.values()) if text}
    found: dict[str, Lastmod] = {}
    for url, text in entries.items():
        date = dates.get(text) if text else None
        if date is not None and date.start <= now + CLOCK_SKEW:
            found[url] = date
    return found
