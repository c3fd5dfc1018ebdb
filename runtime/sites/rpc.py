"""Calls to the functions of the schema, through the `rpc` of Supabase's own client for PostgREST.

Of supabase-py only `postgrest` is imported, and only by the first call (docs/adr/0011-supabase-client.md). The client
is the synchronous one, in threads of its own: it belongs to no event loop, so one client serves a whole process.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runtime.errors import Misconfigured
from runtime.sites import refusals
from runtime.sites.refusals import Again, Failure

if TYPE_CHECKING:
    import httpx
    from postgrest import SyncPostgrestClient

ATTEMPTS = 3
FIRST_DELAY_SECONDS = 0.1
CONNECT_SECONDS = 2.0
THREADS = 8

Kinds = type | tuple[type, ...]
"""The JSON that a function answers with. The client hands on a success that is no JSON, a web page say, as text."""

_clients: dict[tuple[int, str, str, float], SyncPostgrestClient] = {}
_clients_lock = threading.Lock()
_status = threading.local()


def client_for(url: str, key: str, timeout_seconds: float) -> SyncPostgrestClient:
    """The client of this process for a project; a second one is never made.

    :raises Misconfigured: the URL or the key cannot be right.
    """
    place = (os.getpid(), url, key, timeout_seconds)
    with _clients_lock:
        if place not in _clients:
            _clients[place] = _client(url, key, timeout_seconds)
        return _clients[place]


def close_client(url: str, key: str, timeout_seconds: float) -> None:
    with _clients_lock:
        client = _clients.pop((os.getpid(), url, key, timeout_seconds), None)
    if client is not None:
        client.session.close()


def _client(url: str, key: str, timeout_seconds: float) -> SyncPostgrestClient:
    origin, secret = url.strip().rstrip("/").removesuffix("/rest/v1"), key.strip()
    if not secret or not secret.isascii() or not secret.isprintable() or not _is_origin(origin):
        raise refusals.unusable_url().error
    if secret.startswith("sb_publishable_"):
        raise Misconfigured(
            "the Supabase key is a publishable one, for browsers: use the service role (secret) key",
            code="store_key_powerless",
        )
    import httpx
    from postgrest import SyncPostgrestClient

    from runtime.web.tls import shared_tls

    session = httpx.Client(
        verify=shared_tls(),
        timeout=httpx.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds)),
        limits=httpx.Limits(max_connections=THREADS, max_keepalive_connections=THREADS, keepalive_expiry=30),
        event_hooks={"response": [_remember_status]},
        trust_env=False,
    )
    headers = {"apikey": secret, "Authorization": f"Bearer {secret}"}
    return SyncPostgrestClient(f"{origin}/rest/v1", headers=headers, http_client=session, retry_enabled=False)


def _is_origin(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _remember_status(response: httpx.Response) -> None:
    """The client's errors do not carry the status of an answer that is not PostgREST's; this thread's last one does."""
    _status.last = response.status_code


class Rpc:
    """Calls by name, each within `timeout_seconds` altogether, repeated after growing random pauses where that is safe.

    The first call of a process also makes the client, before its time begins to count.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        client: SyncPostgrestClient | None,
        timeout_seconds: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._place = (url, key, timeout_seconds)
        self._given = client
        self._timeout = timeout_seconds
        self._sleep = sleep
        self._jitter = jitter
        self._threads: ThreadPoolExecutor | None = None

    async def call(self, function: str, params: dict[str, Any], *, kinds: Kinds, repeatable: bool) -> Any:
        """The JSON that the function returns, one of `kinds`.

        `repeatable` says that doing it twice is doing it once, so that a lost answer is no reason to give up.

        :raises ServiceError: NotFound, StaleClaim, InputError, StoreDown or Misconfigured; never somebody else's.
        """
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="sites")
        loop = asyncio.get_running_loop()
        client = self._given
        if client is None:
            client = await loop.run_in_executor(self._threads, client_for, *self._place)
        worth_repeating = (Again.UNSENT, Again.UNSURE) if repeatable else (Again.UNSENT,)
        failure: Failure | None = None
        try:
            async with asyncio.timeout(self._timeout):
                for attempt in range(ATTEMPTS):
                    if attempt:
                        await self._sleep(self._jitter() * FIRST_DELAY_SECONDS * 2**attempt)
                    answer = await loop.run_in_executor(self._threads, self._once, client, function, params)
                    if isinstance(answer, kinds):
                        return answer
                    failure = answer if isinstance(answer, Failure) else refusals.not_postgrest()
                    if failure.again not in worth_repeating:
                        break
        except TimeoutError:
            failure = Failure(refusals.timed_out(self._timeout))
        assert failure is not None
        raise failure.error

    def _once(self, client: SyncPostgrestClient, function: str, params: dict[str, Any]) -> Any:
        """One request. A failure is returned, not raised: raised from here it would carry the foreign error along."""
        import httpx
        from postgrest.exceptions import APIError

        _status.last = None
        try:
            return client.rpc(function, params).execute().data
        except APIError as error:
            return refusals.refused(function, error.code, _status.last, error.message)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            return refusals.unreachable(sent=False)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError):
            return refusals.unusable_url()
        except httpx.HTTPError:
            return refusals.unreachable(sent=True)
        except UnicodeEncodeError:
            return refusals.not_text()

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None
        if self._given is None:
            close_client(*self._place)
