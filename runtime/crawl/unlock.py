"""Pages behind scripts or a bot wall, fetched through a paid service within budgets: a run's, a month's, all sites'."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from runtime.crawl.page import is_page_type, read_page
from runtime.errors import ServiceError, VendorFailed
from runtime.ports import Unlocker
from runtime.reading import PageMemory, PageReading, Response
from runtime.settings import Settings

WALL_STATUSES = frozenset({403, 429, 503})
"""Statuses that walls answer with. Alone they say nothing: the markup or a header has to show the wall."""

AT_ONCE = 4
TOO_MANY_FAILURES = 5
"""So many in a row, and the rest of the run does without."""

MONTH_SPENT = "month_spent"
"""The code that says that the deployment has no pages left in this month."""


@dataclass(slots=True)
class Unlocking:
    """The unlocker for one crawl of one site.

    :param left: calls that the site may still make. :param take: counts a call for the whole deployment before it is
        made, and says whether it may be. :param deadline: event-loop time after which none begins or goes on.
    """

    unlocker: Unlocker
    left: int
    take: Callable[[], Awaitable[bool]]
    max_bytes: int
    micro_usd_per_page: int = 0
    deadline: float | None = None
    calls: int = 0
    pages: int = 0
    refused: bool = False
    said: set[str] = field(default_factory=set)
    _failed_in_a_row: int = 0
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def fetch(self, url: str) -> Response | None:
        """The page as a browser of the service gets it; None where it failed, or may not be asked."""
        async with self._gate:
            if self.left <= 0 or self.refused or not await self._taken():
                return None
            self.left -= 1
            self.calls += 1
            try:
                async with asyncio.timeout_at(self.deadline):
                    answer = await self.unlocker.fetch(url, max_bytes=self.max_bytes)
            except VendorFailed as failure:
                self._failed(failure.code, final=failure.final)
                return None
            except TimeoutError:
                self._failed("out_of_time", final=True)
                return None
            if not is_page_type(answer.content_type, answer.body):
                self._failed("not_a_page", final=False)
                return None
            self.pages += 1
            self._failed_in_a_row = 0
            return answer

    async def _taken(self) -> bool:
        """Whether the deployment's month has this page. One that cannot be counted is not asked for."""
        try:
            if await self.take():
                return True
            code = MONTH_SPENT
        except ServiceError as error:
            code = error.code
        self.said.add(code)
        self.refused = True
        return False

    def _failed(self, code: str, *, final: bool) -> None:
        self.said.add(code)
        self._failed_in_a_row += 1
        self.refused = self.refused or final or self._failed_in_a_row >= TOO_MANY_FAILURES

    @property
    def spent(self) -> dict[str, int]:
        """For the run's row; nothing where nothing was asked. The cost is in millionths of a dollar."""
        if not self.calls:
            return {}
        cost = self.pages * self.micro_usd_per_page
        return {"unlock_calls": self.calls, "unlocked_pages": self.pages, "unlock_micro_usd": cost}


def unlocking_for(
    unlocker: Unlocker | None,
    settings: Settings,
    used: Mapping[str, int],
    now: datetime,
    deadline: float | None,
    take: Callable[[], Awaitable[bool]],
) -> Unlocking | None:
    """The unlocker within what a run and the month still allow; None without a service.

    :param used: month -> calls of the site, as `used_up` wrote it. :param take: as in `Unlocking`.
    """
    if unlocker is None:
        return None
    month = settings.unlocks_per_month - calls_of(used, now)
    return Unlocking(
        unlocker=unlocker,
        left=max(0, min(settings.unlocks_per_run, month)),
        take=take,
        max_bytes=settings.limits.html_bytes,
        micro_usd_per_page=settings.unlock_micro_usd,
        deadline=deadline,
    )


def used_up(used: Mapping[str, int], calls: int, now: datetime) -> Mapping[str, int]:
    """The calls of this month with those of one more run; earlier months are forgotten. Nothing spent, nothing kept."""
    month = _month(now)
    return {month: calls_of(used, now) + calls} if calls else used


def calls_of(used: Mapping[str, int], now: datetime) -> int:
    """The calls of a site in this month."""
    return used.get(_month(now), 0)


def is_obstructed(reading: PageReading) -> bool:
    """Whether something else than the page was served: a wall, or a shell for scripts."""
    return reading.challenge or reading.script_shell


def is_wall(response: Response, now: datetime) -> bool:
    """Whether an answer with an error status is a bot wall's, told by its headers and markup."""
    if response.status not in WALL_STATUSES or not is_page_type(response.content_type or "text/html", response.body):
        return False
    return read_page(response.body, response.url, response.headers, now=now).challenge


def is_in_the_way(known: PageMemory | None) -> bool:
    """Whether what is remembered of a page is only the obstacle."""
    return known is not None and is_obstructed(known.reading)


def _month(now: datetime) -> str:
    return f"{now:%Y-%m}"
