"""A fresh Lambda process whose secret store does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TextIO
from unittest import mock

from botocore.exceptions import EndpointConnectionError

from runtime import environment as env
from runtime.handlers.process import Process
from runtime.handlers.vault import Vault


class Silent:
    def get_secret_value(self, **_: Any) -> dict[str, str]:
        raise EndpointConnectionError(endpoint_url="https://secretsmanager.boom.amazonaws.com")


@contextmanager
def silent_process(door: ModuleType, log: TextIO) -> Iterator[None]:
    """Give a door a process with every variable set and no way to a secret; what it logs goes to `log`."""
    names = (env.SUPABASE_SECRET_ARN, env.CRON_SECRET_ARN, env.API_KEY_SECRET_ARN, env.QUEUE_URL, env.STATE_BUCKET)
    process = Process(names, dict.fromkeys(names, "arn:aws:secretsmanager:eu-central-1:123456789012:secret:x"))
    process._vault = Vault(Silent(), lambda: 0.0)  # type: ignore[arg-type]
    process.logger.stream = log
    try:
        with mock.patch.object(door, "process", process):
            yield
    finally:
        if process._runner is not None:
            with ThreadPoolExecutor(1) as thread:  # our own event loop runs here
                thread.submit(process._runner.close).result()
