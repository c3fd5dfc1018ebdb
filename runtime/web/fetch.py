"""The fetch client: every request to a web site goes through `FetchClient.get` or `.post` and nothing else.

Each hop is judged by the gate, offered to the caller's `may_visit`, looked up once, pinned, and read under caps. What
the wire is does not matter here (`runtime.web.wire`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from runtime.errors import FetchFailed, HopRefused, Misconfigured, Refused
from runtime.models import ROBOTS_TOKEN
from runtime.ports import MayVisit, Sink
from runtime.reading import Response, Validators
from runtime.settings import CrawlLimits, FetchPolicy
from runtime.web import decode
from runtime.web.gate import Target, check_addresses, check_url, resolve_reference, validate
from runtime.web.names import Names
from runtime.web.pace import Pace
from runtime.web.reception import Reception
from runtime.web.resolver import Resolver, SystemResolver
from runtime.web.transport import PinnedTransport
from runtime.web.wire import Answer, Deadlines, Wire, WireError

if TYPE_CHECKING:
    import httpx

USER_AGENT = f"Mozilla/5.0 (compatible; {ROBOTS_TOKEN}/1.0)"
REDIRECTS = frozenset({301, 302, 303, 307, 308})
RATE_GRACE_SECONDS = 10.0


class FetchClient:
    """The `Web` port. One a process: it holds the connections, the pins and the pace of every host.

    `transport` replaces the wire alone (a test, a recording): it must not look names up itself. `requests` and
    `bytes_read` count every request sent and every byte of a body as it came over the wire.
    """

    def __init__(
        self,
        policy: FetchPolicy,
        limits: CrawlLimits,
        *,
        resolver: Resolver | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        wire: Wire | None = None,
        pace: Pace | None = None,
        user_agent: str = USER_AGENT,
    ) -> None:
        """:raises Misconfigured: the policy's networks or the user agent are not usable."""
        validate(policy)
        if not _sendable(user_agent):
            raise Misconfigured("the user agent must be one line of Latin-1 text", code="invalid_user_agent")
        self._policy, self._limits, self._user_agent = policy, limits, user_agent
        self._names = Names(resolver or SystemResolver(limits.dns_seconds), limits.dns_seconds)
        self._pace = pace or Pace(
            limits.connections_per_host, limits.requests_per_second, limits.max_crawl_delay_seconds
        )
        if wire is None and transport is not None:
            from runtime.web.injected import HttpxWire

            wire = HttpxWire(transport)
        self._wire = wire or PinnedTransport()
        self.requests = 0
        self.bytes_read = 0

    async def set_pace(self, host: str, delay_seconds: float) -> None:
        self._pace.set_delay(host.lower().rstrip("."), delay_seconds)

    async def aclose(self) -> None:
        await self._wire.aclose()

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
        """See `runtime.ports.Web.get`.

        :raises FetchFailed: `code` is dns_failure, connect_failed, timeout, tls, protocol_error, connection_lost,
            unsupported_encoding, corrupt_encoding, body_too_large, redirect_loop or redirect_limit.
        """
        headers = self._request_headers(accept, validators, range_bytes)
        target = check_url(url, self._policy)
        hops: list[str] = []
        left = self._limits.request_deadline_seconds
        clock = asyncio.get_running_loop().time
        while True:
            if may_visit is not None and (reason := await may_visit(target.url)) is not None:
                raise HopRefused(target.url, reason, hops)
            hops.append(target.url)
            async with self._pace.turn(target.host):
                started = clock()
                answer = await self._send(target, headers, left, redirected=len(hops) > 1)
                try:
                    following = self._next_hop(target, answer)
                    if following is None:
                        reception = Reception(target.url, answer, max_bytes, sink)
                        await self._take(reception)
                finally:
                    await answer.close()
            if following is None:
                return await reception.response(tuple(hops))
            left -= clock() - started
            if following.url in hops:
                raise FetchFailed(following.url, "the redirects lead back to a page before", code="redirect_loop")
            if len(hops) > self._limits.redirects:
                raise FetchFailed(following.url, f"more than {self._limits.redirects} redirects", code="redirect_limit")
            if left <= 0:
                raise FetchFailed(following.url, "the redirects took the time of the request", code="timeout")
            target = following

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str], max_bytes: int) -> Response:
        """See `runtime.ports.Web.post`; the codes of `FetchFailed` are those of `get`."""
        target = check_url(url, self._policy)
        lines = [*self._request_headers("*/*", None, None), *((n, v) for n, v in headers.items() if _sendable(v))]
        async with self._pace.turn(target.host):
            answer = await self._send(target, lines, self._limits.request_deadline_seconds, redirected=False, body=body)
            try:
                reception = Reception(target.url, answer, max_bytes)
                await self._take(reception)
            finally:
                await answer.close()
        return await reception.response((target.url,))

    async def _send(
        self,
        target: Target,
        headers: Sequence[tuple[str, str]],
        left: float,
        *,
        redirected: bool,
        body: bytes | None = None,
    ) -> Answer:
        limits, now = self._limits, asyncio.get_running_loop().time()
        end = now + left
        try:
            addresses = target.addresses or await self._names.resolve(target, end, anew=redirected)
        except OSError:
            raise FetchFailed(target.url, f"{target.host} has no address", code="dns_failure") from None
        check_addresses(target, addresses, self._policy)
        now = asyncio.get_running_loop().time()
        due = Deadlines(end, now + limits.connect_seconds, now + limits.first_byte_seconds, now + RATE_GRACE_SECONDS)
        self.requests += 1
        try:
            return await self._wire.send(target, addresses, headers, due, body)
        except WireError as error:
            raise FetchFailed(target.url, str(error), code=error.code) from None

    def _next_hop(self, target: Target, answer: Answer) -> Target | None:
        """The target of a redirect, or None for an answer to be read. Its body is never read."""
        if answer.status not in REDIRECTS:
            return None
        locations = {value for name, value in answer.headers if name == "location" and value}
        if not locations:
            return None
        if len(locations) > 1:
            raise Refused(target.url, "the answer redirects to two places", code="redirect_ambiguous")
        return resolve_reference(target, _location_text(locations.pop()), self._policy)

    async def _take(self, reception: Reception) -> None:
        try:
            await reception.take(self._limits.bytes_per_site)
        finally:
            self.bytes_read += reception.size

    def _request_headers(
        self, accept: str, validators: Validators | None, range_bytes: int | None
    ) -> list[tuple[str, str]]:
        coding = decode.ACCEPT_ENCODING if range_bytes is None else "identity"
        headers = [("user-agent", self._user_agent), ("accept", accept), ("accept-encoding", coding)]
        if range_bytes is not None:
            headers.append(("range", f"bytes=0-{range_bytes - 1}"))
        if validators is not None:
            # Sent back byte for byte (RFC 9110 8.8.3); one that no header can carry is left out.
            if validators.etag and _sendable(validators.etag):
                headers.append(("if-none-match", validators.etag))
            if validators.last_modified and _sendable(validators.last_modified):
                headers.append(("if-modified-since", validators.last_modified))
        return headers


def _sendable(value: str) -> bool:
    return all(character == "\t" or (" " <= character <= "\xff" and character != "\x7f") for character in value)


def _location_text(value: str) -> str:
    """Location bytes are UTF-8 as browsers read them; what is not stays as escaped bytes."""
    if value.isascii():
        return value
    raw = value.encode("latin-1")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw)
