"""Published files and state objects in S3, R2, or anything else that speaks S3 and honours conditional writes.

R2 differs by its endpoint and region (`auto`), and in two ways that are kept in mind here: it refuses the checksum
trailer that boto3 sends by default since 1.36 (hence `when_required`), and it documents no conditional delete.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from runtime.errors import Misconfigured, PreconditionFailed, StoreDown
from runtime.ports import Stored
from runtime.publish.bucket import Bucket, WriteConflict
from runtime.publish.keys import checked_key, checked_name, public_url

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CONTENT_TYPE = "text/plain; charset=utf-8"
CACHE_CONTROL = "public, max-age=300"

CONFLICT_RETRIES = 3
"""How often a write that met another one (409) is repeated; S3 asks its clients to."""

CONFLICT_WAIT_SECONDS = 0.2
"""The longest wait before the first repetition; it doubles, and a random part of it is waited."""


def make_client(
    *,
    endpoint_url: str | None = None,
    region: str | None = None,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
) -> S3Client:
    """A client whose calls end within a minute. Without keys boto3's own chain provides them (a Lambda's role).

    With an `endpoint_url` the region is `auto` unless given, and buckets are addressed by path.

    :raises Misconfigured: the endpoint is not a URL, or AWS itself is meant and no region is known.
    """
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    config = Config(
        connect_timeout=5,
        read_timeout=10,
        retries={"mode": "standard", "total_max_attempts": 3},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path" if endpoint_url else "auto"},
    )
    try:
        return boto3.client(
            "s3",
            endpoint_url=endpoint_url,
            region_name=region or ("auto" if endpoint_url else None),
            aws_access_key_id=access_key_id,
            aws_secret_access_key=secret_access_key,
            config=config,
        )
    except (BotoCoreError, ValueError):
        raise Misconfigured(
            "the object store cannot be addressed: set an https:// endpoint URL, or an AWS region and both keys",
            code="bucket_refused",
        ) from None


class S3Publisher:
    """The public bucket; readers see it at `public_base_url` (an r2.dev or a custom domain).

    `sleep` and `uniform` (a number in [0, 1)) make the wait after a 409.
    """

    def __init__(
        self,
        client: S3Client,
        bucket: str,
        public_base_url: str,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self._bucket = Bucket(client, bucket)
        self._public_base_url = public_base_url
        self._sleep = sleep
        self._uniform = uniform

    async def put_version(self, key: str, body: bytes, *, sha256: str) -> None:
        try:
            await self._put(key, body, {"sha256": sha256}, IfNoneMatch="*")
        except PreconditionFailed:
            return  # it is there already, and a version never changes

    async def put(self, key: str, body: bytes, *, sha256: str, generation: int, expected_etag: str | None) -> str:
        condition = {"IfNoneMatch": "*"} if expected_etag is None else {"IfMatch": expected_etag}
        try:
            return await self._put(key, body, {"sha256": sha256, "generation": str(generation)}, **condition)
        except PreconditionFailed:
            # A write whose answer was lost meets its own result when it is repeated, by us or inside botocore.
            stored = await self.read(key)
            if stored is None or (stored.body, stored.sha256) != (body, sha256):
                raise
            return stored.etag

    async def read(self, key: str) -> Stored | None:
        held = await self._bucket.get(checked_key(key))
        return None if held is None else Stored(held.body, held.etag, held.metadata.get("sha256", ""))

    async def delete(self, key: str, *, expected_etag: str) -> None:
        stored = await self.read(key)
        if stored is None:
            return
        if stored.etag != expected_etag:
            raise PreconditionFailed(f"{key} was changed by somebody else: read it again before removing it")
        await self._bucket.delete(key, IfMatch=expected_etag)  # decides the race on AWS; R2 ignores the condition

    def url(self, key: str) -> str:
        return public_url(self._public_base_url, key)

    async def _put(self, key: str, body: bytes, metadata: Mapping[str, str], **condition: Any) -> str:
        headers = {"ContentType": CONTENT_TYPE, "CacheControl": CACHE_CONTROL, "Metadata": metadata}
        for retry in range(CONFLICT_RETRIES + 1):
            if retry:
                await self._sleep(self._uniform() * CONFLICT_WAIT_SECONDS * 2 ** (retry - 1))
            try:
                return await self._bucket.put(checked_key(key), body, **headers, **condition)
            except WriteConflict:
                continue
        raise StoreDown(f"{key} is being written by somebody else all the time: the next run tries again")


class S3States:
    """The private bucket: one object a site."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        self._bucket = Bucket(client, bucket)

    async def load(self, site_id: str) -> bytes | None:
        held = await self._bucket.get(_state_key(site_id))
        return None if held is None else held.body

    async def save(self, site_id: str, body: bytes) -> None:
        await self._bucket.put(_state_key(site_id), body, ContentType="application/octet-stream")

    async def delete(self, site_id: str) -> None:
        await self._bucket.delete(_state_key(site_id))


def _state_key(site_id: str) -> str:
    return f"states/{checked_name(site_id)}"
