"""Whose bucket is it? Two stages that share one by mistake would replace each other's files in turns.

The first stage that publishes puts its name on the bucket; any other one is refused.
"""

from __future__ import annotations

import hashlib

from runtime.errors import Misconfigured, PreconditionFailed
from runtime.ports import Publisher

KEY = "stage.txt"
MOST_SHOWN = 40


async def take(publisher: Publisher, stage: str) -> None:
    """Put the stage's name on a bucket that has none, or see that it is ours.

    :raises Misconfigured: it is another stage's. :raises StoreDown: the bucket does not answer.
    """
    ours = f"{stage}\n".encode()
    stored = await publisher.read(KEY)
    if stored is None:
        sha256 = hashlib.sha256(ours).hexdigest()
        try:
            await publisher.put(KEY, ours, sha256=sha256, generation=0, expected_etag=None)
        except PreconditionFailed:  # another process of some stage was first
            stored = await publisher.read(KEY)
    if stored is not None and stored.body != ours:
        owner = ascii(stored.body.decode("utf-8", "replace").strip()[:MOST_SHOWN])
        raise Misconfigured(
            f"the public bucket belongs to the stage {owner} and not to {stage!r}: give each stage its own bucket, "
            f"or remove {KEY} from the bucket if that stage is gone",
            code="foreign_bucket",
        )
