"""Where letters wait that could not be delivered: a queue of SQS, or a folder of a laptop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.errors import StoreDown
from runtime.letters import Letter, to_json

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

    from runtime.aws.client import Sqs

FIRST_WAIT_SECONDS = 900
"""How long the queue holds a letter back, the longest that SQS can; its visibility timeout is the wait after that."""


class SqsLetters:
    """A queue whose consumer tries again; what it cannot deliver in the end goes to the queue's dead letters."""

    def __init__(self, client: SQSClient | Sqs, queue_url: str) -> None:
        self._client, self._queue_url = client, queue_url

    async def keep(self, letter: Letter) -> None:
        """:raises StoreDown: the queue does not take it."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            await asyncio.to_thread(self._client.send_message, QueueUrl=self._queue_url, MessageBody=to_json(letter))
        except (ClientError, BotoCoreError):
            raise StoreDown("the queue of undelivered notifications does not answer", code="queue_down") from None


class FolderLetters:
    """One file a letter, for a person to read: a laptop does not try again by itself."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def keep(self, letter: Letter) -> None:
        """:raises StoreDown: the folder cannot be written."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{letter.name}.json").write_text(to_json(letter), encoding="utf-8")
        except OSError as error:
            raise StoreDown(f"{self._folder} cannot be written ({error.strerror})", code="folder_down") from None
