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
    """How the sites of one batch ended so far. Sites of one host are one voice: they share its troubles.

    :param hosts: how many hosts the batch has.
    """

    hosts: int
    _ended: set[str] = field(default_factory=set)
    _failed: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, host: str, code: str) -> None:
        """A site of `host` ended; `code` is why it failed, empty when it did not."""
        self._ended.add(host)
        if code in NO_ANSWER:
            self._failed[code].add(host)

    def is_ours(self, code: str) -> bool:
        """Whether failing with `code` is our own fault, by all that ended so far."""
        return len(self._ended) >= FEWEST_SITES and self._share(code, len(self._ended)) >= SHARE

    def may_be_ours(self, code: str) -> bool:
        """Whether it can still turn out to be, if all hosts that have not ended fail in the same way."""
        return code in NO_ANSWER and self.hosts >= FEWEST_SITES and self._share(code, self.hosts) >= SHARE

    def found(self) -> str:
        """The code that is our own fault now; empty when there is none."""
        return next((code for code in sorted(self._failed) if self.is_ours(code)), "")

    def count(self, code: str) -> int:
        """How many hosts failed with `code`."""
        return len(self._failed[code])

    def _share(self, code: str, total: int) -> float:
        waiting = total - len(self._ended)
        return (len(self._failed[code]) + waiting) / total
