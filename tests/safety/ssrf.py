"""The rows of `ssrf_urls.jsonl`: one fetch each, judged by where the product connected.

A row: `url`, `verdict` (allow, deny), `code`, and optionally `dns` (answers per look-up), `redirects` (the Locations
that are sent in turn; `MULTI:a|b` are two headers), `response_headers`, `env`, `normalized`, `must_connect_to`,
`max_lookups`. What is a good address is decided here by the folder's `ssrf_policy.json`, not by the product.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import httpx

from runtime.errors import FetchFailed, Refused, ServiceError
from runtime.settings import CrawlLimits, FetchPolicy
from runtime.web.fetch import FetchClient
from runtime.web.transport import PinnedTransport
from tests.safety.certificates import Authority
from tests.safety.internet import Audit, Internet, Names, Reply

FILE = "ssrf_urls.jsonl"
LIMITS = CrawlLimits(requests_per_second=0, request_deadline_seconds=10, dns_seconds=2)
Row = dict[str, Any]


def run(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The id of every row, and what was wrong."""
    policy = policy_of(folder)
    authority, audit = Authority(), Audit()
    for line in (folder / FILE).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield row["id"], asyncio.run(check(row, policy, authority, audit))


async def check(row: Row, policy: dict[str, Any], authority: Authority, audit: Audit) -> list[str]:
    """Fetch the row's URL over an internet that answers as the row says."""
    internet, names = Internet(authority, replies=_replies(row)), Names(row.get("dns") or {})
    wire = PinnedTransport(dial=internet.dial, tls=authority.client_context)
    recorded = _Recorded(internet)
    client = FetchClient(
        FetchPolicy(self_hosts=tuple(policy["self_hosts"])),
        LIMITS,
        resolver=names,
        wire=None if _needs_no_wire(row) else wire,
        transport=recorded if _needs_no_wire(row) else None,
    )
    audit.seen.clear()
    verdict, code, first = "allow", "ok", ""
    try:
        with _environment(row.get("env") or {}):
            audit.armed = True
            answer = await client.get(row["url"], max_bytes=100_000)
            first = answer.hops[0]
    except (Refused, FetchFailed) as error:
        verdict, code = "deny", error.code
    except ServiceError as error:
        return [f"raised {type(error).__name__}, which is no verdict"]
    except Exception as error:  # noqa: BLE001 - whatever escapes the client is the finding
        return [f"raised {error!r}"]
    finally:
        audit.armed = False
        await client.aclose()
        await wire.aclose()
        await internet.aclose()
    return [
        *_wrong_answers(row, verdict, code, first),
        *_wrong_connects(row, policy, internet, names),
        *(f"left the process: {event}" for event in audit.seen),
    ]


def policy_of(folder: Path) -> dict[str, Any]:
    """The folder's policy; a folder of rows alone is judged by the one of this repository."""
    own = folder / "ssrf_policy.json"
    path = own if own.is_file() else Path(__file__).parents[1] / "data" / "safety" / "ssrf_policy.json"
    policy: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return policy


def _wrong_answers(row: Row, verdict: str, code: str, first: str) -> Iterator[str]:
    if verdict != row["verdict"]:
        yield f"{verdict} ({code}) instead of {row['verdict']} ({row['code']})"
    elif code != row["code"]:
        yield f"denied as {code} instead of {row['code']}"
    if first != row.get("normalized", first):
        yield f"asked for {first} instead of {row['normalized']}"


def _wrong_connects(row: Row, policy: dict[str, Any], internet: Internet, names: Names) -> Iterator[str]:
    dialled = [address for address, _ in internet.dialled]
    yield from (f"connected to {address}" for address in dialled if not is_good(address, policy))
    if row["verdict"] == "deny" and "redirects" not in row and dialled:
        yield f"connected to {dialled[0]} before it refused"
    if "must_connect_to" in row and set(dialled) != {row["must_connect_to"]}:
        yield f"connected to {dialled} instead of {row['must_connect_to']}"
    if len(names.asked) > row.get("max_lookups", len(names.asked)):
        yield f"looked up {len(names.asked)} times"


def is_good(address: str, policy: dict[str, Any]) -> bool:
    """The policy's address rule, word for word."""
    ip = ip_address(address)
    denied = (ip_network(net) for net in policy["extra_deny_nets"])
    return ip.is_global and not ip.is_multicast and not any(ip in net for net in denied if net.version == ip.version)


def _replies(row: Row) -> list[Reply]:
    replies = []
    for location in row.get("redirects") or []:
        several = location.removeprefix("MULTI:").split("|") if location.startswith("MULTI:") else [location]
        replies.append(Reply(302, [("location", value) for value in several], b"moved"))
    return [*replies, Reply(200, list((row.get("response_headers") or {}).items()))]


def _needs_no_wire(row: Row) -> bool:
    """A line break inside a Location cannot travel over HTTP/1.1; HTTP/2 and other transports can carry one."""
    return any(re.search("[\r\n\0]", location) for location in row.get("redirects") or [])


class _Recorded(httpx.AsyncBaseTransport):
    """Hands the replies over without a wire; the pinned address counts as dialled."""

    def __init__(self, internet: Internet) -> None:
        self._internet = internet

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._internet.dialled.append((request.extensions["addresses"][0], request.url.port or 0))
        reply = self._internet.replies.pop(0)
        return httpx.Response(reply.status, headers=list(reply.headers), content=reply.body)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
