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
from runtime.scheduling.rate import Belief, Watched

HALF_LIFE_MINUTES = 120 * 1_440.0
"""What was seen four months ago counts half."""

HIDDEN_GUESS = 10.0
"""Before anything is known, changes that a sitemap hides are guessed to be ten times rarer than changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """The memory of the learned policy.

    `seen` are changes that a plain look found and no webhook announced, `hidden` those that only a full reading found;
    of `asked` looks the sitemap answered `answered` rightly or at least cheaply; of the changes, `announced` came by
    webhook and `found` did not. `looked_at` and `read_at` are the last look and the last full reading, in seconds
    since 1970; 0 is never.
    """

    seen: Watched = field(default_factory=Watched)
    hidden: Watched = field(default_factory=Watched)
    asked: float = 0.0
    answered: float = 0.0
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
            **{name: value if 0 <= value < 1e12 else 0.0 for name, value in plain.items()},
        )

    def as_numbers(self) -> dict[str, float]:
        plain = {name: round(getattr(self, name), 4) for name in _PLAIN}
        return self.seen.as_numbers("seen") | self.hidden.as_numbers("hidden") | plain

    @property
    def alarm(self) -> float:
        """How likely a look reads the pages although nothing changed; 1 until the sitemap has shown its worth."""
        return 1 - self.answered / (self.asked + 2)

    def rate_seen(self, interval: float) -> Belief:
        """How often a plain look has something to find; guessed at once per owner's interval."""
        return self.seen.belief(interval)

    def rate_hidden(self, interval: float) -> Belief:
        return self.hidden.belief(interval * HIDDEN_GUESS)

    def after(self, history: History, now: datetime) -> Knowledge:
        """What is known after a look; a run that says nothing about the site (held, failed, deferred) adds nothing."""
        if history.outcome not in LOOKED:
            return self
        gap = self._since(self.looked_at, history.minutes_since_look(now), now)
        changed = history.outcome is Outcome.UPDATED
        known = self.forgetting(gap)
        known = known.with_change(history, gap, now) if changed else known.with_quiet(history, gap, now)
        if not history.announced:
            says = history.sitemap_says_changed
            cheap = says is not None and (changed or not says)
            known = replace(known, asked=known.asked + 1, answered=known.answered + cheap)
        crawled = history.outcome is not Outcome.UNCHANGED_SITEMAP
        return replace(known, looked_at=seconds(now), read_at=seconds(now) if crawled else known.read_at)

    def with_change(self, history: History, gap: float, now: datetime) -> Knowledge:
        """With a change found `gap` minutes after the look before."""
        if history.announced:
            return replace(self, announced=self.announced + 1)
        known = replace(self, found=self.found + 1)
        if history.sitemap_says_changed is False:
            unread = self._since(self.read_at, gap, now)
            return replace(known, hidden=known.hidden.after_change(unread), seen=known.seen.after_quiet(gap))
        if history.changes:
            return replace(known, seen=known.seen.after_count(history.changes, gap))
        return replace(known, seen=known.seen.after_change(gap))

    def with_quiet(self, history: History, gap: float, now: datetime) -> Knowledge:
        """With nothing found `gap` minutes after the look before."""
        known = replace(self, seen=self.seen.after_quiet(gap))
        if history.outcome is Outcome.UNCHANGED_SITEMAP:
            return known
        return replace(known, hidden=known.hidden.after_quiet(self._since(self.read_at, gap, now)))

    def forgetting(self, gap: float) -> Knowledge:
        """With what was learned faded by `gap` minutes."""
        kept = 0.5 ** (gap / HALF_LIFE_MINUTES)
        counts = {name: getattr(self, name) * kept for name in _COUNTS}
        return replace(self, seen=self.seen.forgetting(kept), hidden=self.hidden.forgetting(kept), **counts)

    @staticmethod
    def _since(remembered: float, otherwise: float | None, now: datetime) -> float:
        """Minutes since a remembered time; a clock that ran back, or no memory, leaves what else is known."""
        minutes = (seconds(now) - remembered) / 60
        return minutes if remembered and minutes > 0 else max(0.0, otherwise or 0.0)


_COUNTS = ("asked", "answered", "announced", "found")
_PLAIN = (*_COUNTS, "looked_at", "read_at")
