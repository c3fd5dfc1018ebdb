"""The real wire: connections are kept and pinned, TLS stays with the name, a stale connection costs one retry."""

from __future__ import annotations

import asyncio
import gzip
import os
import socket
import ssl
from typing import Any

import pytest

from runtime.errors import FetchFailed
from runtime.settings import CrawlLimits, FetchPolicy
from runtime.web import connection, transport
from runtime.web.fetch import FetchClient
from runtime.web.gate import check_url
from runtime.web.tls import shared_tls
from runtime.web.transport import PinnedTransport, dial
from runtime.web.wire import Deadlines
from tests.runtime.web.site import LIMITS, Behaviour, Site, Visit, answers, message
from tests.safety.certificates import Authority
from tests.safety.internet import Names
from tests.safety.virtual import run

AUTHORITY = Authority()
OK = message(b"ok")


def test_one_connection_serves_many_requests() -> None:
    """Ten pages of a host cost one connection; the bytes of one answer never leak into the next."""

    async def main() -> None:
        async with Visit(answers(*(message(b"page %d" % n) for n in range(10)))) as visit:
            bodies = [(await visit.get(f"/{n}")).body for n in range(10)]
            assert bodies == [b"page %d" % n for n in range(10)]
            assert visit.site.connections == 1
            assert visit.client.requests == 10

    run(main())


def test_the_next_request_goes_out_before_a_body_is_inflated() -> None:
    """With one connection a host, the request that waits for it is sent before the last answer is worked on."""
    packed = message(gzip.compress(b"a page"), headers=["Content-Encoding: gzip"])

    async def main() -> None:
        async with Visit(answers(packed), limits=CrawlLimits(requests_per_second=0, connections_per_host=1)) as visit:

            class Seen:
                def __init__(self) -> None:
                    self.bodies: list[tuple[bytes, int]] = []

                def came(self, size: int) -> bool:
                    return size > 0

                def take(self, data: bytes) -> bool:
                    self.bodies.append((data, visit.client.requests))
                    return True

            sink = Seen()
            pages = await asyncio.gather(visit.get("/1", sink=sink), visit.get("/2", sink=sink))
            assert sink.bodies == [(b"a page", 2), (b"a page", 2)]
            assert [page.complete for page in pages] == [True, True]
            assert visit.site.connections == 1

    run(main())


def test_the_request_is_http_1_1_with_the_name_as_host() -> None:
    """The pinned address is only ever a socket address."""

    async def main() -> None:
        async with Visit(answers(OK)) as visit:
            await visit.get("http://example.com:8080/a/../b?c=%20d")
            head = visit.site.requests[0].decode().split("\r\n")
            assert head[:2] == ["GET /b?c=%20d HTTP/1.1", "host: example.com:8080"]
            assert visit.site.dialled == [("93.184.216.34", 8080)]

    run(main())


@pytest.mark.parametrize(
    "answer",
    [
        message(b"ok", headers=["Connection: close"]),
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        message(b"ok") + b"junk",
    ],
    ids=["close", "1.0", "junk"],
)
def test_a_connection_that_ends_is_not_kept(answer: bytes) -> None:
    """Connection: close, HTTP/1.0 and trailing bytes each end it after its answer, which counts."""

    async def main() -> None:
        async with Visit(answers(answer)) as visit:
            for _ in range(2):
                page = await visit.get()
                assert (page.body, page.complete) == (b"ok", True)
            assert visit.site.connections == 2

    run(main())


@pytest.mark.parametrize(
    "answer",
    [
        message(b"", "204 No Content", length=False),
        message(b"", "304 Not Modified", length=False),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Trailer: y\r\n\r\n",
        message(b"moved", "302 Found"),
    ],
    ids=["204", "304", "chunked", "302 without Location"],
)
def test_every_framing_leaves_the_connection_usable(answer: bytes) -> None:
    """Bodiless answers, chunks with a trailer and unfollowed redirects end where HTTP says they end."""

    async def main() -> None:
        async with Visit(answers(answer, OK)) as visit:
            first = await visit.get()
            assert first.complete
            assert first.header("x-trailer") is None
            assert (await visit.get()).body == b"ok"
            assert visit.site.connections == 1

    run(main())


def test_a_small_redirect_keeps_its_connection() -> None:
    """A redirect whose few bytes are there already costs no new handshake."""

    async def main() -> None:
        async with Visit(answers(message(b"moved", "301 Moved", ["Location: /b"]), OK)) as visit:
            assert (await visit.get()).body == b"ok"
            assert visit.site.connections == 1

    run(main())


def test_a_cut_body_closes_its_connection() -> None:
    """What is unread on the wire must not be read as the next answer."""

    async def main() -> None:
        async with Visit(answers(message(b"x" * 5_000_000), OK)) as visit:
            assert not (await visit.get(max_bytes=100)).complete
            assert (await visit.get()).body == b"ok"
            assert visit.site.connections == 2

    run(main())


def closing_after(count: int) -> Any:
    """A site whose connections are closed, without a word, after `count` answers."""

    def of(site: Site) -> Behaviour:
        async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for _ in range(count):
                await site.head(reader)
                await site.send(writer, OK)
            await site.head(reader)  # takes the next request and dies on it

        return behaviour

    return of


def test_a_stale_connection_is_retried_once_on_a_fresh_one() -> None:
    """A kept connection that dies without a byte is the server's timer, not a failure (RFC 9112 9.3.1)."""

    async def main() -> None:
        async with Visit(closing_after(1)) as visit:
            assert [(await visit.get()).body for _ in range(3)] == [b"ok"] * 3
            assert visit.site.connections == 3

    run(main())


def test_a_fresh_connection_that_dies_is_a_failure() -> None:
    """Only a kept connection is retried, and only once."""

    async def main() -> None:
        async with Visit(closing_after(0)) as visit:
            with pytest.raises(FetchFailed) as caught:
                await visit.get()
            assert caught.value.code == "connection_lost"
            assert visit.site.connections == 1

    run(main())


def test_a_kept_connection_that_began_to_answer_is_not_retried() -> None:
    """Half a head may mean that the server acted on the request."""

    async def main() -> None:
        async with Visit(answers(OK, b"HTTP/1.1 200")) as visit:
            await visit.get()
            with pytest.raises(FetchFailed) as caught:
                await visit.get()
            assert caught.value.code == "timeout"
            assert visit.site.connections == 1

    run(main())


def test_an_idle_connection_is_given_up_in_time() -> None:
    """After 15 s of rest a new connection is made rather than a doubtful one used."""

    async def main() -> None:
        async with Visit(answers(OK)) as visit:
            await visit.get()
            await asyncio.sleep(transport.IDLE_SECONDS + 1)
            await visit.get()
            assert visit.site.connections == 2

    run(main())


def test_idle_connections_are_bounded() -> None:
    """A process that meets many hosts keeps the youngest connections and closes the rest."""

    async def main() -> None:
        async with Visit(answers(OK)) as visit:
            for number in range(transport.IDLE_CONNECTIONS + 20):
                await visit.get(f"http://{number}.example.com/")
            await asyncio.sleep(0.1)
            assert len(visit.site._serving) == transport.IDLE_CONNECTIONS
            await visit.get("http://0.example.com/")
            assert visit.site.connections == transport.IDLE_CONNECTIONS + 21

    run(main())


def test_a_connection_belongs_to_name_scheme_port_and_address() -> None:
    """Two names on one address share nothing; one name on a new address starts anew."""

    async def main() -> None:
        names = Names({"b.com": [["93.184.216.34"], ["93.184.216.35"]]})
        async with Visit(answers(OK), names=names) as visit:
            for url in ("http://a.com/", "http://b.com/", "http://a.com:8080/", "http://a.com/"):
                await visit.get(url)
            assert visit.site.connections == 3
            visit.client._names._known.clear()
            await visit.get("http://b.com/")
            assert visit.site.dialled[-1] == ("93.184.216.35", 80)

    run(main())


def test_concurrent_requests_share_the_slots_of_their_host() -> None:
    """Forty requests to one host make no more connections than it may have."""

    async def main() -> None:
        async with Visit(answers(OK)) as visit:
            await asyncio.gather(*(visit.get(f"/{n}") for n in range(40)))
            assert visit.site.connections <= LIMITS.connections_per_host
            assert visit.client.requests == 40

    run(main())


def test_a_cancelled_request_closes_its_connection() -> None:
    """A crawl that is called off leaves no half-read answer in the pool."""

    async def main() -> None:
        def of(site: Site) -> Behaviour:
            async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await site.head(reader)
                await site.send(writer, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
                await reader.read()

            return behaviour

        async with Visit(of) as visit:
            for delay in (0, 0.1, 1):
                task = asyncio.ensure_future(visit.get())
                await asyncio.sleep(delay)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await asyncio.sleep(0.1)
            assert not visit.site._serving
            assert not visit.pool._idle

    run(main())


# -- who is at the other end


def test_tls_is_checked_against_the_name() -> None:
    """SNI and certificate are the name's, though the socket goes to an address."""

    async def main() -> None:
        authority = Authority()
        async with Visit(answers(OK), tls=authority, shown_name="example.com") as visit:
            page = await visit.get()
            assert page.body == b"ok"
            assert visit.site.dialled == [("93.184.216.34", 443)]
            assert authority.asked == ["example.com"]

    run(main())


def test_a_certificate_for_another_name_is_refused() -> None:
    """A valid certificate of somebody else does not do, and not a byte of the request is sent."""

    async def main() -> None:
        async with Visit(answers(OK), tls=AUTHORITY, shown_name="evil.example") as visit:
            with pytest.raises(FetchFailed) as caught:
                await visit.get()
            assert caught.value.code == "tls"
            assert not visit.site.requests

    run(main())


def test_a_certificate_of_an_unknown_authority_is_refused() -> None:
    """Verification is always on; only the trust store decides."""

    async def main() -> None:
        async with Visit(answers(OK), tls=AUTHORITY) as visit:
            visit.pool._tls = Authority().client_context
            with pytest.raises(FetchFailed) as caught:
                await visit.get()
            assert caught.value.code == "tls"
            assert not visit.site.requests

    run(main())


def test_plain_http_on_a_tls_port_is_a_tls_failure() -> None:
    """A server that answers a ClientHello with text cannot be spoken to."""

    async def main() -> None:
        def of(site: Site) -> Behaviour:
            async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await reader.read(10)
                await site.send(writer, b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

            return behaviour

        async with Visit(of, tls=AUTHORITY) as visit:
            visit.site._tls = None
            with pytest.raises(FetchFailed) as caught:
                await visit.get()
            assert caught.value.code == "tls"

    run(main())


@pytest.mark.parametrize("properly", [True, False])
def test_a_tls_body_until_the_close_is_whole_only_if_closed_properly(properly: bool) -> None:
    """Without close_notify anybody on the way can cut such a body (RFC 9112 9.8)."""

    async def main() -> None:
        def of(site: Site) -> Behaviour:
            async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await site.head(reader)
                await site.send(writer, b"HTTP/1.1 200 OK\r\n\r\n<html>")
                if properly:
                    writer.close()
                    await writer.wait_closed()
                else:
                    writer.transport.abort()

            return behaviour

        async with Visit(of, tls=AUTHORITY) as visit:
            page = await visit.get()
            assert page.body == b"<html>"
            assert page.complete is properly

    run(main())


def test_the_shared_context_verifies_and_is_one() -> None:
    """One context a process; hostnames and chains are checked, and nothing below TLS 1.2 is spoken."""
    context = shared_tls()
    assert context is shared_tls()
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


async def test_dial_connects_to_exactly_the_address() -> None:
    """The socket's peer is the pinned address and port."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with await dial("127.0.0.1", port) as sock:
        assert sock.getpeername() == ("127.0.0.1", port)
    server.close()
    await server.wait_closed()


async def test_dial_refuses_another_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connect that ends elsewhere (a proxy, a rewriting firewall on the host) is no connection."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    real = loop.sock_connect

    async def elsewhere(sock: socket.socket, _: Any) -> None:
        await real(sock, ("127.0.0.1", port))

    monkeypatch.setattr(loop, "sock_connect", elsewhere)
    with pytest.raises(OSError, match="pinned"):
        await dial("93.184.216.34", 80)
    server.close()
    await server.wait_closed()


async def test_a_closed_port_is_a_failed_connection() -> None:
    """Refused is refused, at once; the next address is tried first."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    client = FetchClient(FetchPolicy(allow_networks=("127.0.0.0/8",), allow_any_port=True), CrawlLimits())
    with pytest.raises(FetchFailed) as caught:
        await client.get(f"http://127.0.0.1:{port}/", max_bytes=10)
    assert caught.value.code == "connect_failed"
    await client.aclose()


def test_the_next_address_is_tried() -> None:
    """A name whose first addresses are dead or deaf is reached at the third."""

    async def main() -> None:
        names = Names({"example.com": [["93.184.216.1", "93.184.216.2", "93.184.216.3"]]})
        async with Visit(answers(OK), names=names) as visit:
            good = visit.site.dial

            async def flaky(address: str, port: int) -> socket.socket:
                if address.endswith(".1"):
                    raise ConnectionRefusedError
                if address.endswith(".2"):
                    await asyncio.get_running_loop().create_future()
                return await good(address, port)

            visit.pool._dial = flaky
            assert (await visit.get()).body == b"ok"
            assert visit.site.dialled == [("93.184.216.3", 80)]
            assert asyncio.get_running_loop().time() < 5

    run(main())


async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of HTTP_PROXY and its kin reaches a request over a real socket."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setitem(os.environ, name, "http://127.0.0.1:9")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(message(head))
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = FetchClient(FetchPolicy(allow_networks=("127.0.0.0/8",), allow_any_port=True), CrawlLimits())
    page = await client.get(f"http://localhost:{port}/x", max_bytes=1000)
    assert page.body.startswith(b"GET /x HTTP/1.1\r\nhost: localhost:%d\r\n" % port)
    await client.aclose()
    server.close()
    await server.wait_closed()


def test_unread_data_is_bounded_by_the_high_water_mark() -> None:
    """A connection holds two reads beyond its mark at the most, and goes on when it is read."""

    async def main() -> None:
        def of(site: Site) -> Behaviour:
            async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await site.head(reader)
                await site.send(writer, b"HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n")
                for _ in range(80):
                    await site.send(writer, bytes(100_000))
                await reader.read()

            return behaviour

        async with Visit(of) as visit:
            pool = PinnedTransport(dial=visit.site.dial)
            answer = await pool.send(
                check_url("http://example.com/", FetchPolicy()), ["93.184.216.34"], [], Deadlines(60, 5, 10, 10)
            )
            await asyncio.sleep(5)
            assert answer._connection.buffered <= connection.HIGH_WATER + 2 * 262_144
            total = 0
            while data := await answer.read():
                total += len(data)
            assert total == 8_000_000
            assert answer.whole
            await answer.close()
            await pool.aclose()

    run(main())
