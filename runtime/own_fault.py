"""Is it them, or is it us? When nearly all sites of a batch fail in the same way, the fault is on our side.

No site's failure may then be counted: a dead resolver of ours would otherwise disable every site within a week.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

FEWEST_SITES = 10
SHARE = 0.8

NO_ANSWER = frozenset({"dns_failure", "connect_failed", "connection_lost", "timeout", "tls", "protocol_error"})
"""Codes of `FetchFailed` that a fault of our own network can have. A site that answers, with 503 or nonsense, has shown
that our network reached it: that failure is its own, however many others have it.
"""


@dataclass(slots=True)
class Tally:
    """How the sites of one batch fare. Sites of one host are one voice: they share its troubles. A site that failed the
    last time as well says nothing about today, and is not to be put in.

    :param hosts: how many hosts the batch has at most. :param at_once: how many of them are looked at side by side; so
        many count from the beginning.
    """

    hosts: int
    at_once: int = 1
    _started: set[str] = field(default_factory=set)
    _ended: set[str] = field(default_factory=set)
    _failed: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def start(self, host: str) -> None:
        """A site of `host` is looked at. Until it ends it counts as one that does well: dead names are quick to fail,
        and ten of them must not speak for all.
        """
        self._started.add(host)

    def add(self, host: str, code: str) -> None:
        """A site of `host` ended; `code` is why it failed, empty when it did not."""
        self._started.add(host)
        self._ended.add(host)
        if code in NO_ANSWER:
            self._failed[code].add(host)

    def found(self) -> str:
        """The code that is our own fault by what is known now; empty when there is none."""
        if len(self._started) < FEWEST_SITES:
            return ""
        started = max(len(self._started), min(self.at_once, self.hosts))
        return next((code for code in sorted(self._failed) if self.count(code) >= SHARE * started), "")

    def may_be_ours(self, code: str) -> bool:
        """Whether it can still turn out to be, if all hosts that have not ended fail in the same way."""
        failed = self.count(code) + self.hosts - len(self._ended)
        return code in NO_ANSWER and self.hosts >= FEWEST_SITES and failed >= SHARE * self.hosts

    def count(self, code: str) -> int:
        """How many hosts failed with `code`."""
        return len(self._failed[code])
