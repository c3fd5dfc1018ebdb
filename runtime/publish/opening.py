"""Ports that are opened by their first call, so that a cold start pays for what its invocation needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from runtime.ports import Publisher, Stored
from runtime.publish.keys import public_url


class OnFirstUse:
    """Stands for a port: the first use of any of its methods makes the real one, which is used from then on."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._made: object = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)


class OpenedPublisher:
    """A `Publisher` whose opening needs a secret; the public URL of a key needs none.

    Every call raises what the opening raises; a failed opening is tried again by the next call.
    """

    def __init__(self, opening: Callable[[], Awaitable[Publisher]], public_base_url: str) -> None:
        self._opening = opening
        self._public_base_url = public_base_url
        self._opened: Publisher | None = None

    async def put_version(self, key: str, body: bytes, *, sha256: str) -> None:
        await (await self._bucket()).put_version(key, body, sha256=sha256)

    async def put(self, key: str, body: bytes, *, sha256: str, generation: int, expected_etag: str | None) -> str:
        bucket = await self._bucket()
        return await bucket.put(key, body, sha256=sha256, generation=generation, expected_etag=expected_etag)

    async def read(self, key: str) -> Stored | None:
        return await (await self._bucket()).read(key)

    async def delete(self, key: str, *, expected_etag: str) -> None:
        await (await self._bucket()).delete(key, expected_etag=expected_etag)

    def url(self, key: str) -> str:
        return public_url(self._public_base_url, key)

    async def _bucket(self) -> Publisher:
        if self._opened is None:
            self._opened = await self._opening()
        return self._opened
