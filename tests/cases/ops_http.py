"""Op conditional: a sitemap asked for again with what was stored of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import httpx

from runtime.reading import Inventory, Validators, stamp
from runtime.sitemap.compare import compare
from runtime.sitemap.lastmod import LastmodTrust
from tests.cases.corpus import Answer, Case, Op
from tests.cases.ops_sitemap import is_changed, now_of, read, read_earlier
from tests.cases.serve import Transport
from tests.cases.spelling import instant


def _stored(inventory: Inventory | None, state: dict[str, Any]) -> Inventory | None:
    """The earlier inventory with the validators and times that the case says were stored."""
    if inventory is None:
        return None
    checked = instant(state.get("last_checked_at"))
    fetched = instant(state.get("last_full_fetch_at"))
    (document,) = inventory.documents
    document = replace(
        document,
        final_url=state.get("final_url") or document.final_url,
        validators=Validators(state.get("etag"), state.get("last_modified")),
        checked_at=stamp(checked) if checked else "",
        fetched_at=stamp(fetched) if fetched else "",
    )
    return replace(inventory, documents=(document,))


def _header(request: httpx.Request, name: str) -> str | None:
    return next((value.decode("latin-1") for key, value in request.headers.raw if key.decode().lower() == name), None)


async def _ask_again(case: Case) -> Answer:
    state, now = case.input["state"], now_of(case)
    earlier = await read_earlier(case, instant(state.get("last_checked_at")) or now)
    previous = _stored(earlier, state)
    transport = Transport(case)
    reading = await read(case, transport, previous, now)
    verdict = compare(previous, reading.inventory, LastmodTrust(), now)
    documents = reading.inventory.documents
    kept = documents[0].validators if documents else Validators()
    first = transport.requests[0]
    return {
        "request_headers": {name: _header(first, name) for name in ("if-none-match", "if-modified-since")},
        "changed": is_changed(verdict, reading),
        "state": {"etag": kept.etag, "last_modified": kept.last_modified},
        "not_before": reading.not_before,
        "fetches": len(transport.fetched),
        "fetched": transport.fetched,
    }


def conditional(case: Case) -> Answer:
    return asyncio.run(_ask_again(case))


OPS: dict[str, Op] = {"conditional": conditional}
