"""The WebSocket of `serve`: who gets in, what is said, and what goes on when nobody listens any more."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from runtime import live as protocol
from runtime.api import Secrets
from runtime.errors import StoreDown
from runtime.models import SiteStatus
from tests.runtime.live.conftest import KEY, Live, frames_of, of


async def token_of(live: Live, key: str = KEY) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.post(f"http://{live.address}/auth/token", headers={"X-Api-Key": key})


async def test_a_crawl_is_watched_and_nothing_is_kept(live: Live) -> None:
    """Log, progress, result, done, in that order; no row, no file, no address of one."""
    frames = await live.ask({"url": live.site.url, "maxPages": 10, "descLength": 100})
    kinds = [frame["type"] for frame in frames]

    assert set(kinds) == {"log", "progress", "result", "done"}
    assert kinds[-2:] == ["result", "done"]
    assert of(frames, "result")[0]["content"].startswith("# ")
    assert 1 <= of(frames, "progress")[-1]["pages"] <= 10
    assert of(frames, "progress")[-1]["of"] == 10
    assert all(isinstance(frame["content"], str) for frame in frames)
    assert await live.world.sites.list_sites() == []


async def test_an_enrolment_is_published_and_then_said(live: Live) -> None:
    """The row holds what was asked for; the file is at the address that was told; the secret is shown once."""
    wish = {
        "url": live.site.url,
        "maxPages": 20,
        "descLength": 120,
        "enableAutoUpdate": True,
        "recrawlIntervalMinutes": 1440,
        "llmEnhance": True,
        "useBrightdata": False,
    }
    frames = await live.ask(wish)
    (row,) = await live.world.sites.list_sites()
    done = frames[-1]
    async with httpx.AsyncClient() as client:
        file = await client.get(of(frames, "url")[0]["content"])

    assert (row.options.max_pages, row.options.recrawl_interval_minutes) == (20, 1440)
    assert (row.options.llm_enhance, row.options.use_brightdata) == (True, False)
    assert file.text == of(frames, "result")[0]["content"]
    assert row.latest_llms_hash == hashlib.sha256(file.content).hexdigest()
    assert [frame["content"] for frame in frames].count(protocol.ENABLED) == 1
    assert done["site"]["webhook_secret"] == row.webhook_secret
    assert "webhook_secret" not in (await live.ask(wish))[-1]["site"]


async def test_enabled_is_said_after_the_row_is_committed(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a store that fails at the commit the client is told of trouble, and never that it is enabled."""

    async def down(*_: Any, **__: Any) -> None:
        raise StoreDown("postgres://user:hunter2@db")

    monkeypatch.setattr(live.world.sites, "commit_run", down)
    frames = await live.ask({"url": live.site.url, "enableAutoUpdate": True})

    assert protocol.ENABLED not in [frame["content"] for frame in frames]
    assert [frame["code"] for frame in of(frames, "error")] == ["unavailable"]
    assert frames[-1]["type"] == "done"
    assert "hunter2" not in json.dumps(frames)


async def test_a_site_that_cannot_be_read_is_not_enrolled(live: Live) -> None:
    """The row goes again, and the error says why."""
    frames = await live.ask({"url": "http://127.0.0.1:9/", "enableAutoUpdate": True})

    assert "was not enrolled" in of(frames, "error")[0]["content"]
    assert "site" not in frames[-1]
    assert await live.world.sites.list_sites() == []


BAD: list[tuple[Any, str]] = [
    ("{", "message"),
    (b'{"url": "https://docs.example.com"}', "message"),
    ([1], "message"),
    ({}, "url"),
    ({"url": 5}, "url"),
    ({"url": "nowhere"}, "url"),
    ({"url": "http://169.254.169.254/latest/"}, "url"),
    ({"url": "http://[fd00::1]/"}, "url"),
    ({"url": "https://docs.example.com", "maxPages": "5"}, "maxPages"),
    ({"url": "https://docs.example.com", "maxPages": 0}, "maxPages"),
    ({"url": "https://docs.example.com", "descLength": 10**9}, "descLength"),
    ({"url": "https://docs.example.com", "recrawlIntervalMinutes": -5}, "recrawlIntervalMinutes"),
    ({"url": "https://docs.example.com", "enableAutoUpdate": "true"}, "enableAutoUpdate"),
    ({"url": "https://docs.example.com", "llmEnhance": 1}, "llmEnhance"),
    ({"url": "https://docs.example.com", "useBrightdata": None}, "useBrightdata"),
    ({"url": "https://docs.example.com", "max_pages": 5}, "max_pages"),
]


@pytest.mark.parametrize("enable", [False, True])
@pytest.mark.parametrize(("message", "field"), BAD, ids=str)
async def test_a_bad_field_is_named(live: Live, message: Any, field: str, enable: bool) -> None:
    """One error frame with the field, then done; nothing is asked of any site and nothing is stored."""
    if isinstance(message, dict):
        message = {"enableAutoUpdate": enable, **message}
    frames = await live.ask(message)

    assert [frame["type"] for frame in frames] == ["error", "done"]
    assert frames[0]["field"] == field
    assert live.site.requests == []
    assert await live.world.sites.list_sites() == []


async def test_a_message_without_end_is_cut_off(live: Live) -> None:
    """A frame beyond the bound ends the connection (1009), before it is in memory."""
    async with live.connected() as client:
        await client.send("x" * 1_000_000)
        with pytest.raises(ConnectionClosed):
            await asyncio.wait_for(client.recv(), 10)

    assert client.close_code == 1009


@pytest.mark.parametrize("path", ["/ws/crawl", "/ws/other"])
@pytest.mark.parametrize("query", ["", "?api_key=wrong", "?token=wrong", "?token=", "?api_key="])
async def test_without_a_key_nobody_gets_in(live: Live, path: str, query: str) -> None:
    """The handshake fails; a wrong path with the right key fails as well."""
    with pytest.raises(InvalidStatus) as refused:
        async with live.connected(query, key="wrong"):
            pass
    assert refused.value.response.status_code == 403
    if path == "/ws/other":
        live.address += "/other"
        with pytest.raises(InvalidStatus):
            async with live.connected():
                pass


async def test_a_service_without_a_key_is_closed_to_all(live: Live) -> None:
    """No key configured never means open: not for an empty key, not for a token signed with one."""
    live.secrets[0] = Secrets()
    for query, key in (("", ""), ("?api_key=", None), ("?token=" + "0" * 52, None), ("", None)):
        with pytest.raises(InvalidStatus):
            async with live.connected(query, key=key):
                pass
    assert (await token_of(live, "")).status_code == 401


async def test_the_ways_in(live: Live) -> None:
    """A header, a query parameter, a token; the key before a rotation as well."""
    token = (await token_of(live)).json()
    assert token["expires_in"] == 300
    for query, key in ((f"?api_key={KEY}", None), (f"?token={token['token']}", None), ("", "the-key-before")):
        assert of(await live.ask("{", query, key), "error")
    assert (await token_of(live, "wrong")).status_code == 401


async def test_no_key_is_logged(live: Live) -> None:
    """Neither a right one nor a wrong one, however it came."""
    await live.ask({"url": live.site.url, "maxPages": 1}, f"?api_key={KEY}", None)
    with pytest.raises(InvalidStatus):
        async with live.connected("?api_key=wrong-key-9876", key=None):
            pass

    assert live.said
    assert not any(secret in str(live.said) for secret in (KEY, "wrong-key-9876"))


async def test_a_closed_client_does_not_stop_an_enrolment(live: Live) -> None:
    """The client goes as soon as its request was heard; the site is enrolled and published all the same."""
    async with live.connected() as client:
        await client.send(json.dumps({"url": live.site.url, "maxPages": 20, "enableAutoUpdate": True}))
        await client.recv()
    await asyncio.wait_for(live.recrawled.wait(), 20)
    await live.door.finish()
    (row,) = await live.world.sites.list_sites()

    assert (row.status, row.last_outcome) == (SiteStatus.ACTIVE, "updated")
    assert row.latest_llms_url


async def test_a_closed_client_ends_a_crawl_that_is_kept_nowhere(live: Live) -> None:
    """Nobody would see its result."""
    async with live.connected() as client:
        await client.send(json.dumps({"url": live.site.url, "maxPages": 50}))
        await client.recv()
    frames = await live.ask({"url": live.site.url, "maxPages": 1})

    assert frames[-1]["type"] == "done"
    assert live.door._detached == set()


async def test_only_so_many_at_once(live: Live) -> None:
    """A third live crawl of one key is refused while two are under way, and allowed when they have ended."""
    async with live.connected() as first, live.connected() as second:
        for client in (first, second):
            await client.send(json.dumps({"url": live.site.url, "maxPages": 50}))
            await client.recv()
        refused = await live.ask({"url": live.site.url})
        rest = [(await frames_of(client))[-1]["type"] for client in (first, second)]

    assert [frame.get("code") for frame in refused] == ["busy", None]
    assert "wait until one is done" in refused[0]["content"]
    assert rest == ["done", "done"]
    assert of(await live.ask({"url": live.site.url, "maxPages": 1}), "result")


async def test_the_server_closes_after_done(live: Live) -> None:
    """Whether the crawl was done, refused or not understood: a normal closure (RFC 6455 7.4.1), by the server."""
    for wanted in ({"url": live.site.url, "maxPages": 1}, {"url": 5}, {"url": "http://10.0.0.1/"}):
        async with live.connected() as client:
            await client.send(json.dumps(wanted))
            frames = await frames_of(client)
            await client.wait_closed()
        assert frames[-1]["type"] == "done"
        assert (client.close_code, client.protocol.close_rcvd_then_sent) == (1000, True)


async def test_a_client_that_says_nothing_is_let_go(live: Live) -> None:
    """After its time it gets an error and the connection ends."""
    live.door.first_message_seconds = 0.05
    async with live.connected() as client:
        frames = await frames_of(client)

    assert [frame.get("code") for frame in frames] == ["timeout", None]


async def test_further_messages_are_not_listened_to(live: Live) -> None:
    """One request a connection."""
    async with live.connected() as client:
        await client.send(json.dumps({"url": live.site.url, "maxPages": 5}))
        await client.send(json.dumps({"url": live.site.url, "maxPages": 5, "enableAutoUpdate": True}))
        frames = await frames_of(client)

    assert [frame["type"] for frame in frames].count("done") == 1
    assert await live.world.sites.list_sites() == []


async def test_a_site_under_work_is_enrolled_without_a_second_run(live: Live) -> None:
    """Another run has the lease: its file will be published, and the client is told so."""
    await live.ask({"url": live.site.url, "maxPages": 5, "enableAutoUpdate": True})
    (row,) = await live.world.sites.list_sites()
    claim = await live.world.sites.claim_site(row.id, lease_seconds=60, owner="worker")
    assert claim is not None
    frames = await live.ask({"url": live.site.url, "maxPages": 7, "enableAutoUpdate": True})

    assert "Another run is crawling the site" in [frame["content"] for frame in frames]
    assert frames[-1]["site"]["maxPages"] == 7


async def test_secrets_that_cannot_be_read_open_nothing(live: Live) -> None:
    """An outage of the secret store refuses, and is not the end of the door."""

    async def down() -> Secrets:
        raise StoreDown("the secret store does not answer")

    live.door = replace(live.door, secrets=down)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(dict(message))

    scope = {"path": "/ws/crawl", "headers": [(b"x-api-key", KEY.encode())], "query_string": b""}
    await live.door.serve(scope, receive, send)

    assert sent == [{"type": "websocket.close", "code": 1008}]
