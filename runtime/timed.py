"""The way out to one site for as long as it may take: what is asked for later, or still on its way then, is late."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from runtime.errors import FetchFailed
from runtime.ports import MayVisit, Sink, Web
from runtime.reading import Response, Validators

GRACE_SECONDS = 5.0
"""What is on its way at the deadline may take so long to end well."""

OUT_OF_TIME = "out_of_time"
LATE = "the time for one site was used up"


class TimedWeb:
    """A `Web` until a little after `deadline`, on the event loop's clock; then every request fails with `OUT_OF_TIME`.

    One bound for robots.txt, sitemaps, pages and twins alike: none of them needs to know how long the others took.
    """

    def __init__(self, web: Web, deadline: float) -> None:
        self._web, self._deadline = web, deadline + GRACE_SECONDS

    async def get(
        self,
        url: str,
        *,
        max_bytes: int,
        accept: str = "*/*",
        validators: Validators | None = None,
        may_visit: MayVisit | None = None,
        range_bytes: int | None = None,
        sink: Sink | None = None,
    ) -> Response:
        self._check(url)
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._web.get(
                    url,
                    max_bytes=max_bytes,
                    accept=accept,
                    validators=validators,
                    may_visit=may_visit,
                    range_bytes=range_bytes,
                    sink=sink,
                )
        except TimeoutError:
            raise FetchFailed(url, LATE, code=OUT_OF_TIME) from None

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str], max_bytes: int) -> Response:
        self._check(url)
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._web.post(url, body=body, headers=headers, max_bytes=max_bytes)
        except TimeoutError:
            raise FetchFailed(url, LATE, code=OUT_OF_TIME) from None

    async def set_pace(self, host: str, delay_seconds: float) -> None:
        await self._web.set_pace(host, delay_seconds)

    async def aclose(self) -> None:
        """The way out stays open for others."""

    def _check(self, url: str) -> None:
        if asyncio.get_running_loop().time() >= self._deadline:
            raise FetchFailed(url, LATE, code=OUT_OF_TIME)
