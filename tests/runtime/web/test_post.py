"""A POST goes out once: judged, looked up and pinned like any request, on a connection of its own, following nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import pytest

from runtime.errors import FetchFailed, Refused
from runtime.settings import FetchPolicy
from runtime.web.fetch import FetchClient
from tests.runtime.web.site import LIMITS, Behaviour, Site, Visit, message
from tests.safety.internet import Names
from tests.safety.virtual import run


def taking(answer: bytes) -> Callable[[Site], Behaviour]:
    """A site that reads each request whole and answers all alike."""

    def of(site: Site) -> Behaviour:
        async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next((int(x[16:]) for x in head.split(b"\r\n") if x.startswith(b"content-length: ")), 0)
                site.requests.append(head + await reader.readexactly(length))
                await site.send(writer, answer)

        return behaviour

    return of


def test_a_post_carries_its_body_and_headers() -> None:
    """Method, length and body as given; the name stays the Host."""

    async def main() -> None:
        async with Visit(taking(message(b"ok", "202 Accepted"))) as visit:
            answer = await visit.client.post(
                "http://example.com/hook?x=1", body=b'{"a": "\xc3\xa9"}', headers={"webhook-id": "msg_1"}, max_bytes=100
            )
            assert (answer.status, answer.body, answer.complete) == (202, b"ok", True)
            head, _, body = visit.site.requests[0].partition(b"\r\n\r\n")
            assert head.startswith(b"POST /hook?x=1 HTTP/1.1\r\nhost: example.com\r\n")
            assert {b"webhook-id: msg_1", b"content-length: 11"} <= set(head.split(b"\r\n"))
            assert body == b'{"a": "\xc3\xa9"}'
            assert visit.site.dialled == [("93.184.216.34", 80)]

    run(main())


def test_a_post_uses_a_connection_of_its_own_and_leaves_it_to_others() -> None:
    """One that was kept may be closed by now, and a POST must not be sent again to find out."""

    async def main() -> None:
        async with Visit(taking(message(b"ok"))) as visit:
            await visit.get("/")
            await visit.client.post("http://example.com/", body=b"x", headers={}, max_bytes=10)
            assert visit.site.connections == 2
            await visit.get("/")
            assert visit.site.connections == 2

    run(main())


def test_a_connection_that_is_lost_is_not_tried_again() -> None:
    """Whether the message arrived cannot be known here: the caller decides."""

    def of(site: Site) -> Behaviour:
        async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await site.head(reader)
            writer.close()

        return behaviour

    async def main() -> None:
        async with Visit(of) as visit:
            with pytest.raises(FetchFailed) as failed:
                await visit.client.post("http://example.com/", body=b"x", headers={}, max_bytes=10)
            assert failed.value.code == "connection_lost"
            assert len(visit.site.requests) == 1

    run(main())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer(status: int) -> None:
    """A signed message is not carried to where somebody else says."""

    async def main() -> None:
        moved = message(b"", f"{status} Moved", ["Location: http://169.254.169.254/"])
        async with Visit(taking(moved)) as visit:
            answer = await visit.client.post("http://example.com/", body=b"x", headers={}, max_bytes=10)
            assert (answer.status, answer.hops) == (status, ("http://example.com/",))
            assert len(visit.site.requests) == 1

    run(main())


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://169.254.169.254/latest", "address_linklocal"),
        ("http://localhost/", "host_special_name"),
        ("https://user:x@example.com/", "url_userinfo"),
        ("http://inside.example.com/", "address_private"),
        ("ftp://example.com/", "scheme"),
    ],
)
def test_the_gate_judges_a_post(url: str, code: str) -> None:
    """Before anything is sent, whatever the name resolves to."""

    async def main() -> None:
        names = Names({"inside.example.com": [["10.0.0.1"]]})
        async with Visit(taking(message(b"ok")), names=names) as visit:
            with pytest.raises(Refused) as refused:
                await visit.client.post(url, body=b"x", headers={}, max_bytes=10)
            assert refused.value.code == code
            assert visit.site.connections == 0

    run(main())


async def test_a_post_over_another_transport() -> None:
    """An injected transport gets the method and the body too; a header of two lines is left out."""
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, content=b"y" * 100)

    transport = httpx.MockTransport(handler)
    client = FetchClient(FetchPolicy(), LIMITS, resolver=Names({}), transport=transport)
    headers = {"content-type": "application/json", "x": "a\r\nb: c"}
    answer = await client.post("https://example.com/h", body=b"{}", headers=headers, max_bytes=10)

    assert (seen[0].method, seen[0].content, seen[0].headers["content-type"]) == ("POST", b"{}", "application/json")
    assert "x" not in seen[0].headers
    assert (answer.body, answer.complete) == (b"y" * 10, False)
