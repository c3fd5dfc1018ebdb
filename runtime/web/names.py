"""Which addresses a name stands for: asked once, kept for a moment.

A hop is looked up once and connected to what that look-up said, so a name that changes its answer (DNS rebinding)
cannot slip another address in. Answers are kept for `PIN_SECONDS`, as a system's cache would; failures are not. Where a
redirect leads is always looked up anew: the site chose the moment, so an old answer proves nothing.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from runtime.web.gate import Target
from runtime.web.resolver import Resolver

PIN_SECONDS = 30.0
NAMES_KEPT = 2_048


class Names:
    """The answers of one resolver, each kept `pin_seconds`."""

    def __init__(self, resolver: Resolver, deadline_seconds: float, *, pin_seconds: float = PIN_SECONDS) -> None:
        self._resolver, self._deadline, self._pin = resolver, deadline_seconds, pin_seconds
        self._known: OrderedDict[tuple[str, int], tuple[float, tuple[str, ...]]] = OrderedDict()

    async def resolve(self, target: Target, end: float, *, anew: bool = False) -> tuple[str, ...]:
        """The addresses of the target's host, by `end` on the loop's clock at the latest.

        `anew` asks the resolver even when an answer is kept.

        :raises OSError: there are none, or (TimeoutError) not in time.
        """
        key = (target.host, target.port)
        clock = asyncio.get_running_loop().time
        expires, known = self._known.get(key, (0.0, ()))
        if not anew and clock() < expires:
            return known
        async with asyncio.timeout_at(min(end, clock() + self._deadline)):
            addresses = tuple(await self._resolver.resolve(*key))
        if not addresses:
            raise OSError("the name has no address")
        self._known[key] = (clock() + self._pin, addresses)
        self._known.move_to_end(key)
        while len(self._known) > NAMES_KEPT:
            self._known.popitem(last=False)
        return addresses
