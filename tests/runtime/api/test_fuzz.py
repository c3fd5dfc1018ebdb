"""Whoever knows no secret gets no server error, no row changed and no run, whatever they send."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.safety.bench import Bench, call
from tests.safety.fuzz_webhook import DATA, HEADERS, METHODS, PATHS, TEXTS, fuzz
from tests.safety.webhook import fixture_of

texts = st.sampled_from(TEXTS) | st.text(max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
calls = st.fixed_dictionaries({"base_url": texts | values, "webhook_secret": texts | values}, optional={"data": values})
bodies = st.binary(max_size=200) | (calls | values).map(lambda value: json.dumps(value).encode())


@given(
    method=st.sampled_from(METHODS) | st.text(max_size=9),
    path=st.sampled_from(PATHS) | st.text(max_size=30),
    headers=st.dictionaries(st.sampled_from(HEADERS), texts, max_size=4),
    query=st.text(max_size=20),
    body=bodies,
)
@settings(max_examples=400, deadline=None)
def test_any_request_without_a_secret_is_refused(
    method: str, path: str, headers: dict[str, str], query: str, body: bytes
) -> None:
    """Below 500, in JSON of the one shape, with nothing done."""
    event = {
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers,
        "requestContext": {"requestId": "r", "http": {"method": method}},
        "body": body.decode("utf-8", "replace"),
        "isBase64Encoded": False,
    }

    async def play() -> dict[str, Any]:
        bench = Bench(fixture_of(DATA), quiet=True)
        await bench.seed()
        before = bench.rows()
        answer = await call(await bench.api(), event)
        assert bench.rows() == before
        assert not len(bench.world.queue)  # type: ignore[arg-type]
        bench.store.close()
        return answer

    answer = asyncio.run(play())
    said = json.loads(answer["body"])
    if (method, path) == ("GET", "/health"):
        assert answer["statusCode"] == 200
    else:
        assert 400 <= answer["statusCode"] < 500
        assert set(said) - {"field"} == {"detail", "code", "request_id"}


def test_a_burst_of_made_up_requests() -> None:
    """The soak of `python -m tests.safety.fuzz_webhook`, for a second."""
    statuses, problems, _ = asyncio.run(fuzz(10_000, seed=7))

    assert problems == []
    assert {400, 401, 404, 405, 413, 415} <= set(statuses)
