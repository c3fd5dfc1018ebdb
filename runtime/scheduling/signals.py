"""What a site has taught us so far: how often it changes, and which of its signals can be believed.

A change can become known in three ways, and each has its own record: a webhook announced it; a plain look found it
(the sitemap said so, or there was nothing to ask and the pages were read); or only a full reading found it, although
the sitemap said that nothing had changed. All of it is a handful of numbers, and a look changes them in O(1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from runtime.models import Outcome
from runtime.scheduling.backoff import seconds
from runtime.scheduling.history import LOOKED, History
from runtime.scheduling.past import HALF_LIFE_MINUTES
from runtime.scheduling.rate import Belief, Watched

GUESS = 2.0
"""Before anything is known, a site is guessed to change once in two of its owner's intervals."""

COVERED, MISSED = 0.3, 0.1
"""Before anything is known of a webhook, what it is believed to have announced and missed, in changes."""

HIDDEN_GUESS = 20.0
"""Before anything is known, changes that a sitemap hides are guessed to be twenty times rarer than changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """The memory of the learned policy.

    `seen` are changes that a plain look found and no webhook announced, `hidden` those that the sitemap did not name.
    Of `asked` looks that had nothing to find and that the sitemap could answer, `wrong` ones cost a crawl; `silent` is
    1 while it has no answer at all. It named `named` changes, and with them all that had changed. Of the changes,
    `announced` came by webhook and `found` did not. `dated` is what the sitemap's dates told of the time before the
    first look. `looked_at` and `read_at` are the last look and the last full
    reading, in seconds since 1970; 0 is never.
    """

    seen: Watched = field(default_factory=Watched)
    hidden: Watched = field(default_factory=Watched)
    dated: Watched = field(default_factory=Watched)
    asked: float = 0.0
    wrong: float = 0.0
    named: float = 0.0
    silent: float = 0.0
    announced: float = 0.0
    found: float = 0.0
    looked_at: float = 0.0
    read_at: float = 0.0

    @classmethod
    def of(cls, memory: Mapping[str, float]) -> Knowledge:
        plain = {name: memory.get(name, 0.0) for name in _PLAIN}
        return cls(
            seen=Watched.from_numbers("seen", memory),
            hidden=Watched.from_numbers("hidden", memory),
            dated=Watched.from_numbers("dated", memory),
            **{name: value if 0 <= value < 1e12 else 0.0 for name, value in plain.items()},
        )

    def as_numbers(self) -> dict[str, float]:
        plain = {name: round(getattr(self, name), 4) for name in _PLAIN}
        told = {} if self.dated == Watched() else self.dated.as_numbers("dated")
        return self.seen.as_numbers("seen") | self.hidden.as_numbers("hidden") | told | plain

    @property
    def nothing_seen(self) -> bool:
        """Whether no look has followed the first."""
        return not (self.seen.quiet or self.found or self.announced)

    @property
    def alarm(self) -> float:
        """How likely a look reads the pages although nothing changed; 1 where no sitemap has answered yet.

        A sitemap that says "now" at every request and one that tells the truth are common, one in between is rare: few
        answers decide.
        """
        unknown = self.silent or not (self.asked or self.named)
        return 1.0 if unknown else (self.wrong + 0.05) / (self.asked + 0.2)

    @property
    def trust(self) -> float:
        """How far a sitemap's dates are believed: half at first, then as it has named changes or hidden them since."""
        return (self.named + 1) / (self.named + sum(self.hidden.found) + 2)

    def rate_seen(self, interval: float) -> Belief:
        """How often a plain look has something to find: what was seen, and what dates tell as far as they are trusted.

        The guess beforehand is the rarer, the larger the share of the changes that a webhook announced.
        """
        rarer = max(1.0, (1 - _covered(0, 0)) / (1 - _covered(self.announced, self.found)))
        return self.seen.plus(self.dated, self.trust).belief(interval * GUESS * round(rarer, 1))

    def rate_hidden(self, interval: float) -> Belief:
        """How often a change happens that the sitemap does not name: the rarer, the more it has named."""
        return self.hidden.belief(
            interval * GUESS * HIDDEN_GUESS * (1 + round(self.named + self.trust * self.dated.told))
        )

    def after(self, history: History, now: datetime) -> Knowledge:
        """What is known after a look; a run that says nothing about the site (held, failed, deferred) adds nothing."""
        if history.outcome not in LOOKED:
            return self
        crawled = history.outcome is not Outcome.UNCHANGED_SITEMAP and history.read
        at = seconds(now)
        gap = _since(self.looked_at, history.minutes_since_look(now), now)
        if gap is None:  # the first look: there is nothing that it could differ from
            silent = float(history.sitemap_says_changed is None)
            return replace(self, dated=history.past or self.dated, silent=silent, looked_at=at, read_at=at)
        known = self.forgetting(gap).with_look(history, gap)
        if crawled:
            known = known.with_reading(history, _since(self.read_at, gap, now) or gap)
        return replace(known, looked_at=at, read_at=at if crawled else known.read_at)

    def with_look(self, history: History, gap: float) -> Knowledge:
        """With a look `gap` minutes after the last one."""
        changed, says = history.outcome is Outcome.UPDATED, history.sitemap_says_changed
        if history.announced:
            return self.with_announced(gap) if changed else self.with_quiet(gap)
        known = replace(self, silent=float(says is None))
        if not changed:
            if says is not None:
                known = replace(known, asked=known.asked + 1, wrong=known.wrong + says)
            return known.with_quiet(gap)
        known = replace(known, found=known.found + 1)
        if says is False:
            return known.with_quiet(gap)  # a plain look would have found nothing
        if history.changes:
            return replace(known, seen=known.seen.after_count(history.changes, gap))
        if history.newest is not None:
            return replace(known, seen=known.seen.after_newest(history.newest, gap, known.trust))
        if history.pages_changed > 1:
            return replace(known, seen=known.seen.after_pages(history.pages_changed, gap))
        return replace(known, seen=known.seen.after_change(gap))

    def with_quiet(self, gap: float) -> Knowledge:
        """With nothing for a plain look to find in `gap` minutes."""
        return replace(self, seen=self.seen.after_quiet(gap))

    def with_announced(self, gap: float) -> Knowledge:
        """With a change that a webhook announced: that there was no other is believed as far as webhooks came so far.

        The crawl cannot tell the changes of one gap apart; where every change is announced, none was missed.
        """
        covered = _covered(self.announced, self.found)
        return replace(self, announced=self.announced + 1).with_quiet(gap * covered)

    def with_reading(self, history: History, gap: float) -> Knowledge:
        """With the pages read `gap` minutes after they were last read: was there a change that no sitemap named?"""
        changed, says = history.outcome is Outcome.UPDATED, history.sitemap_says_changed
        unlisted = history.unlisted if history.unlisted is not None else (changed if says is False else None)
        if not changed:
            unlisted = False
        if unlisted is None or says is None:
            return self
        if unlisted:
            return replace(self, hidden=self.hidden.after_change(gap))
        return replace(self, hidden=self.hidden.after_quiet(gap), named=self.named + (changed and says))

    def forgetting(self, gap: float) -> Knowledge:
        """With what was learned faded by `gap` minutes."""
        kept = 0.5 ** (gap / HALF_LIFE_MINUTES)
        counts = {name: getattr(self, name) * kept for name in _COUNTS}
        faded = {name: getattr(self, name).forgetting(kept) for name in ("seen", "hidden", "dated")}
        return replace(self, **faded, **counts)


def _covered(announced: float, found: float) -> float:
    """The share of its changes that a site's webhook is believed to announce: most do for all or for none, so a few
    calls decide (a Beta prior).
    """
    return (announced + COVERED) / (announced + found + COVERED + MISSED)


def _since(remembered: float, otherwise: float | None, now: datetime) -> float | None:
    """Minutes since a remembered time, else what else is known; 0 if a clock ran back."""
    if not remembered:
        return otherwise
    return max(0.0, (seconds(now) - remembered) / 60)


_COUNTS = ("asked", "wrong", "named", "announced", "found")
_PLAIN = (*_COUNTS, "silent", "looked_at", "read_at")
