"""The sample site's server: real HTTP on loopback."""

from __future__ import annotations

import asyncio
import socket

import httpx
import pytest

from runtime.sample.server import serve, serve_in_thread
from runtime.sample.site import SampleSite


async def test_every_page_is_served_and_logged() -> None:
    """What the site says a path answers is what a client gets, on one connection, and the log has it in order."""
    site = SampleSite()
    async with serve(site) as server, httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        expected = site.answers(server.url)
        for path, answer in expected.items():
            got = await client.get(path)
            assert got.status_code == answer.status
            assert got.headers.get("location") == answer.headers.get("Location")
            if answer.status == 200 and answer.headers["Content-Type"].startswith("text/html"):
                assert got.content == answer.body

        assert server.requests == [("GET", path, answer.status) for path, answer in expected.items()]


async def test_unknown_paths_and_methods_are_refused() -> None:
    """A missing page is a 404 with a page of its own; the site takes no other method than GET and HEAD."""
    async with serve(SampleSite()) as server, httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        missing = await client.get("/guide/moved-away/")
        head = await client.head("/guide/")
        posted = await client.post("/guide/", content=b"x")

    assert (missing.status_code, "Page not found" in missing.text) == (404, True)
    assert (head.status_code, head.content, int(head.headers["content-length"]) > 500) == (200, b"", True)
    assert (posted.status_code, posted.headers["allow"]) == (405, "GET, HEAD")
    assert [status for _, _, status in server.requests] == [404, 200, 405]


async def test_a_query_does_not_change_the_page() -> None:
    """Tracking parameters lead to the same page, whose canonical names the clean address."""
    async with serve(SampleSite()) as server, httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        plain, tracked = await client.get("/guide/"), await client.get("/guide/?utm_source=mail")

    assert plain.content == tracked.content
    assert server.requests[1] == ("GET", "/guide/?utm_source=mail", 200)


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("If-None-Match", "{etag}", 304),
        ("If-None-Match", 'W/{etag}, "other"', 304),
        ("If-None-Match", "*", 304),
        ("If-None-Match", '"other"', 200),
        ("If-Modified-Since", "{modified}", 304),
        ("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT", 200),
        ("If-Modified-Since", "yesterday", 200),
    ],
)
async def test_conditional_requests_are_answered_by_the_rules(header: str, value: str, status: int) -> None:
    """RFC 9110: an equal validator is a 304 without a body, another one the whole page."""
    async with serve(SampleSite()) as server, httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        first = await client.get("/guide/retries/")
        filled = value.format(etag=first.headers["etag"], modified=first.headers["last-modified"])
        again = await client.get("/guide/retries/", headers={header: filled})

    assert (again.status_code, again.headers["etag"]) == (status, first.headers["etag"])
    assert again.content == (b"" if status == 304 else first.content)


async def test_if_none_match_decides_alone() -> None:
    """A different ETag wins over a date that says "unchanged"."""
    async with serve(SampleSite()) as server, httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        modified = (await client.get("/guide/retries/")).headers["last-modified"]
        again = await client.get("/guide/retries/", headers={"If-None-Match": '"x"', "If-Modified-Since": modified})

    assert again.status_code == 200


async def test_an_edit_shows_at_once() -> None:
    """The server answers with the site as it is, and old validators no longer hold."""
    site = SampleSite()
    async with serve(site) as server, httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        etag = (await client.get("/guide/retries/")).headers["etag"]
        site.retitle("/guide/retries/", "Retrying")
        again = await client.get("/guide/retries/", headers={"If-None-Match": etag})

    assert again.status_code == 200
    assert "Retrying" in again.text


async def test_addresses_on_the_site_are_the_servers_own() -> None:
    """Sitemaps and canonical links name the port that was taken."""
    async with serve(SampleSite()) as server, httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        robots, index = await client.get("/robots.txt"), await client.get("/sitemap.xml")

    assert f"Sitemap: {server.url}/sitemap.xml" in robots.text
    assert f"<loc>{server.url}/sitemaps/docs.xml</loc>" in index.text


async def test_clients_that_speak_something_else_are_dropped() -> None:
    """A head that never ends, or none at all, ends that connection and no other."""
    async with serve(SampleSite()) as server:
        host, port = server.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"x" * 100_000)
        assert await reader.read() == b""
        writer.close()
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
            assert (await client.get("/")).status_code == 200


def test_a_blocking_caller_gets_a_server_too() -> None:
    """In a thread of its own it serves the same site, and is gone afterwards, open connections included."""
    with serve_in_thread(SampleSite()) as server, httpx.Client(base_url=server.url, trust_env=False) as client:
        assert client.get("/").status_code == 200
        url = server.url
        held = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=5)
        held.sendall(b"HEAD / HTTP/1.1\r\nHost: sample\r\n\r\n")
        while not held.recv(65_536).endswith(b"\r\n\r\n"):
            continue  # the connection is open and served
    with held:
        assert held.recv(1) == b""
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)


def test_a_port_that_is_taken_is_an_error() -> None:
    """A server that cannot listen says so, instead of waiting for ever."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use"), serve_in_thread(SampleSite(), port=port):
            pytest.fail("two servers on one port")
