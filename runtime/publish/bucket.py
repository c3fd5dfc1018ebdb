"""One bucket behind a boto3 client: calls in a few threads, conditions kept, every failure one sentence."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from runtime.errors import Misconfigured, PreconditionFailed, ServiceError, StoreDown, Transient

if TYPE_CHECKING:
    from botocore.exceptions import ClientError
    from mypy_boto3_s3 import S3Client

T = TypeVar("T")

CALLS_AT_ONCE = 8
"""Threads for one bucket: below the ten connections that botocore pools for a client."""


class WriteConflict(Transient):
    """Another conditional write of the same key is under way (409): this one may be repeated."""

    code = "write_conflict"


@dataclass(frozen=True, slots=True)
class Held:
    """An object as the bucket holds it; metadata names are lower case."""

    body: bytes
    etag: str
    metadata: Mapping[str, str]


class Bucket:
    """Reads and writes of objects. A client may be shared; its threads may not, so each bucket has its own.

    All calls raise:

    :raises Misconfigured: credentials, permissions or the bucket's name are wrong; retrying does not help.
    :raises StoreDown: no answer, throttling, or a fault of the store, after botocore's own retries.
    """

    def __init__(self, client: S3Client, name: str) -> None:
        self._client = client
        self._name = name
        # An executor of its own and no asyncio.Semaphore: a bucket outlives the event loop of one Lambda invocation.
        self._threads = ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="bucket")

    async def get(self, key: str) -> Held | None:
        def call() -> Held:
            answer = self._client.get_object(Bucket=self._name, Key=key)
            return Held(answer["Body"].read(), answer["ETag"], answer["Metadata"])

        try:
            return await self._run(key, call)
        except _Missing:
            return None

    async def put(self, key: str, body: bytes, **options: Any) -> str:
        """Write an object with PutObject's own `options` (a condition, headers, metadata); gives its ETag.

        :raises PreconditionFailed: the condition did not hold.
        :raises WriteConflict: it could not be decided.
        """

        def call() -> str:
            return self._client.put_object(Bucket=self._name, Key=key, Body=body, **options)["ETag"]

        try:
            return await self._run(key, call)
        except _Missing:  # If-Match on a key that is not there
            raise _changed(key) from None

    async def delete(self, key: str, **options: Any) -> None:
        """Remove an object; one that is not there is removed already.

        :raises PreconditionFailed: the condition in `options` did not hold.
        """

        def call() -> None:
            self._client.delete_object(Bucket=self._name, Key=key, **options)

        try:
            await self._run(key, call)
        except _Missing:
            return

    async def _run(self, key: str, call: Callable[[], T]) -> T:
        from botocore.exceptions import (
            BotoCoreError,
            ClientError,
            NoCredentialsError,
            ParamValidationError,
            PartialCredentialsError,
        )

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, call)
        except ClientError as error:
            raise self._explained(key, error) from None
        except (NoCredentialsError, PartialCredentialsError, ParamValidationError):
            raise self._misconfigured("no usable credentials or name") from None
        except BotoCoreError:
            raise StoreDown("the object store did not answer: the next run tries again") from None

    def _explained(self, key: str, error: ClientError) -> ServiceError:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = re.sub(r"[^A-Za-z0-9]", "", error.response.get("Error", {}).get("Code", ""))[:60]
        if status == 412 or code == "PreconditionFailed":
            return _changed(key)
        if status == 409:
            return WriteConflict(f"{key} is being written by somebody else")
        if status == 404 and code != "NoSuchBucket":
            return _Missing(key)
        if status == 429 or status >= 500 or code in {"RequestTimeout", "SlowDown"}:
            return StoreDown(f"the object store is overloaded or failing ({code}): the next run tries again")
        return self._misconfigured(code)

    def _misconfigured(self, code: str) -> Misconfigured:
        return Misconfigured(
            f"the object store refused bucket {self._name!r} ({code}): check its name, the keys, and that they may "
            "get, put and delete objects and list the bucket",
            code="bucket_refused",
        )


class _Missing(ServiceError):
    """404: no object of this key."""


def _changed(key: str) -> PreconditionFailed:
    return PreconditionFailed(f"{key} was changed by somebody else: read it again before writing")
