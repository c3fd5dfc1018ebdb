"""Sites with a history of changes: when each changed, and what its signals said about it."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from benchmarks.freshness.histories import load

DAY = 1_440.0
PAGES = 40
BEFORE, YEARS = -365 * DAY, 2
"""The time before enrolment that leaves dates, and how long ago a sitemap may have frozen."""


class Sitemap(StrEnum):
    """What a site's sitemap is worth. `honest` names every change; `always` says "now" at each request; `frozen` never
    moves; `part` leaves out a third of the changes; `none` gives nothing to compare."""

    NONE = "none"
    HONEST = "honest"
    PART = "part"
    ALWAYS = "always"
    FROZEN = "frozen"


@dataclass(frozen=True, slots=True)
class SimSite:
    """Times are minutes since the site was enrolled. `listed` are the changes that the sitemap names, `announced` those
    that the site's CI calls the webhook for; `rate` is the true mean, changes a minute; `sizes` are the pages that each
    change touches; `posts` says that each change adds a page. `dates` are those that the pages have in the sitemap at
    enrolment, in minutes before it."""

    kind: str
    rate: float
    changes: tuple[float, ...]
    sitemap: Sitemap = Sitemap.NONE
    listed: tuple[float, ...] = ()
    announced: tuple[float, ...] = ()
    webhook: float = 0.0
    sizes: tuple[int, ...] = ()
    posts: bool = False
    dates: tuple[float, ...] = ()

    def first_change_after(self, time: float) -> float:
        at = bisect_right(self.changes, time)
        return self.changes[at] if at < len(self.changes) else float("inf")

    def sitemap_says(self, since: float, now: float) -> bool | None:
        """Whether the sitemap has moved between two times; None where there is nothing to compare."""
        if self.sitemap is Sitemap.NONE:
            return None
        if self.sitemap is Sitemap.ALWAYS:
            return True
        return bisect_right(self.listed, now) > bisect_right(self.listed, since)

    def pages_between(self, since: float, now: float) -> int:
        """How many pages differ between two readings: of all that were touched, each once."""
        first, last = bisect_right(self.changes, since), bisect_right(self.changes, now)
        return len({page for at in range(first, last) for page in touched(self.changes[at], self.sizes[at])})

    def dated_between(self, since: float, now: float) -> int | None:
        """How many changes the sitemap's dates tell apart: each, where changes add pages; an edit hides others."""
        if not self.posts or self.sitemap not in (Sitemap.HONEST, Sitemap.PART):
            return None
        return bisect_right(self.listed, now) - bisect_right(self.listed, since)

    def newest_between(self, since: float, now: float) -> float | None:
        """How many minutes ago the last change was that the sitemap dates, if it was after `since`."""
        at = bisect_right(self.listed, now)
        if self.sitemap not in (Sitemap.HONEST, Sitemap.PART) or not at or self.listed[at - 1] <= since:
            return None
        return now - self.listed[at - 1]

    def unlisted_between(self, since: float, now: float) -> bool:
        """Whether a change happened that the sitemap does not name; one that names everything hides nothing."""
        if self.sitemap is Sitemap.ALWAYS:
            return False
        changes = bisect_right(self.changes, now) - bisect_right(self.changes, since)
        return changes > bisect_right(self.listed, now) - bisect_right(self.listed, since)


def dated(rng: random.Random, site: SimSite, before: Sequence[float], sizes: Sequence[int]) -> SimSite:
    """The site with the dates that its sitemap has at enrolment, as truthful as that sitemap is.

    :param before: when the site changed before, in minutes of enrolment, so negative; each change touched as many pages
        as `sizes` says, or added one. Pages that nothing touched since are older than all of it, by up to three years.
    """
    if site.sitemap is Sitemap.NONE:
        return site
    if site.sitemap is Sitemap.ALWAYS:
        return replace(site, dates=(0.0,) * PAGES)
    until = -rng.random() * YEARS * 365 * DAY if site.sitemap is Sitemap.FROZEN else 0.0
    share = 2 / 3 if site.sitemap is Sitemap.PART else 1.0
    last = [BEFORE - rng.random() * YEARS * 365 * DAY for _ in range(PAGES)]
    for time, size in zip(before, sizes, strict=True):
        if time >= until or rng.random() >= share:
            continue
        if site.posts:
            last.append(time)
        else:
            for page in touched(time, size):
                last[page] = time
    return replace(site, dates=tuple(-time for time in last))


def touched(time: float, size: int) -> list[int]:
    """The pages that a change at a time touches."""
    return [(int(time * 1e3) + 7 * page) % PAGES for page in range(size)]


def poisson(rng: random.Random, rate: float, minutes: float) -> list[float]:
    times, time = [], 0.0
    while rate > 0:
        time += rng.expovariate(rate)
        if time >= minutes:
            break
        times.append(time)
    return times


def mixed_rate(rng: random.Random) -> float:
    """From twice a day to once a year, evenly on a logarithmic scale."""
    return float(1 / (720.0 * 730.0 ** rng.random()))


def bursts(rng: random.Random, rate: float, minutes: float) -> list[float]:
    """Busy two days, then silence: on average five changes a burst."""
    times = []
    for start in poisson(rng, rate / 5, minutes):
        times += [start] + [start + rng.random() * 2 * DAY for _ in range(rng.randrange(9))]
    return sorted(time for time in times if time < minutes)


def weekly(rng: random.Random, minutes: float) -> list[float]:
    """A release every week, at about the same hour; one in ten is skipped."""
    time, times = rng.random() * 7 * DAY, []
    while time < minutes:
        if rng.random() < 0.9:
            times.append(max(0.0, time + rng.gauss(0, 180)))
        time += 7 * DAY
    return sorted(time for time in times if time < minutes)


def _site(rng: random.Random, minutes: float, kind: str) -> SimSite:
    """A site of a kind; on average a change touches one page at half of the sites, and two to five at the others."""
    site, mean = _changing(rng, minutes, kind), rng.choice((1, 1, 1, 2, 3, 5))
    site = replace(site, sizes=tuple(_size(rng, mean) for _ in site.changes), posts=rng.random() < 0.5)
    earlier = random.Random(f"{site.rate} before")  # so that what comes after stays what it was
    before = [time + BEFORE for time in poisson(earlier, site.rate, -BEFORE)]
    return dated(earlier, site, before, [_size(earlier, mean) for _ in before])


def _size(rng: random.Random, mean: int) -> int:
    """How many pages a change touches."""
    return min(PAGES, 1 + int(rng.expovariate(1.0) * (mean - 0.5))) if mean > 1 else 1


def _changing(rng: random.Random, minutes: float, kind: str) -> SimSite:
    rate = mixed_rate(rng)
    if kind == "dead":
        return SimSite(kind, 1e-9, ())
    if kind == "weekly":
        return SimSite(kind, 0.9 / (7 * DAY), tuple(weekly(rng, minutes)))
    if kind == "bursts":
        return SimSite(kind, rate, tuple(bursts(rng, rate, minutes)))
    changes = tuple(poisson(rng, rate, minutes))
    if kind == "webhook":
        announced = tuple(time for time in changes if rng.random() < 0.95)
        return SimSite(kind, rate, changes, announced=announced, webhook=0.95)
    if kind in Sitemap.__members__.values():
        share = {Sitemap.HONEST: 1.0, Sitemap.PART: 2 / 3}.get(Sitemap(kind), 0.0)
        listed = tuple(time for time in changes if rng.random() < share)
        return SimSite(kind, rate, changes, Sitemap(kind), listed)
    return SimSite(kind, rate, changes)


MIXED = (
    *("poisson",) * 7, *("bursts",) * 2, *("weekly",) * 2, *("dead",) * 3, *("webhook",) * 2,
    "always", "frozen", "part", "honest",
)  # fmt: skip


def mixed(count: int, days: float, seed: int) -> list[SimSite]:
    """All kinds of sites: steady, bursting, weekly, dead, with sitemaps that lie, help or half help, with webhooks."""
    rng = random.Random(seed)
    return [_site(rng, days * DAY, MIXED[number % len(MIXED)]) for number in range(count)]


def honest(count: int, days: float, seed: int) -> list[SimSite]:
    """Sites at mixed rates whose sitemaps name every change."""
    rng = random.Random(seed)
    return [_site(rng, days * DAY, "honest") for _ in range(count)]


def replayed(count: int, days: float, seed: int) -> list[SimSite]:
    """Real histories: of a changelog drawn at random, a stretch drawn at random; the hour of the day is drawn too. Half
    of the sites have no sitemap, a quarter an honest one, a quarter call the webhook for 95 % of their changes."""
    rng = random.Random(seed)
    sites = []
    for number in range(count):
        history = rng.choice(load())
        start = history[0] + rng.random() * max(0.0, history[-1] - history[0] - days)
        changes = tuple(sorted((day + rng.random() - start) * DAY for day in history if start <= day < start + days))
        changes = tuple(time for time in changes if time < days * DAY)
        site = SimSite(
            "replayed, no sitemap", max(len(changes), 0.5) / (days * DAY), changes, sizes=(1,) * len(changes)
        )
        if number % 4 == 2:
            site = replace(site, kind="replayed, honest sitemap", sitemap=Sitemap.HONEST, listed=changes)
            earlier = random.Random(f"{start} before")
            before = [(day + earlier.random() - start) * DAY for day in history if day < start - 1]
            site = dated(earlier, site, before, [1] * len(before))
        if number % 4 == 3:
            announced = tuple(time for time in changes if rng.random() < 0.95)
            site = replace(site, kind="replayed, webhook", announced=announced, webhook=0.95)
        sites.append(site)
    return sites


WORKLOADS: dict[str, Callable[[int, float, int], list[SimSite]]] = {
    "mixed": mixed, "honest sitemaps": honest, "replayed": replayed,
}  # fmt: skip
