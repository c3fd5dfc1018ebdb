"""Every hostile answer that concerns fetching, named after its row in hostile_responses.jsonl.

The client runs with its real limits; the clock is simulated, so a deadline of 15 s costs nothing.
"""

from __future__ import annotations

import asyncio
import gzip
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from runtime.errors import FetchFailed
from runtime.reading import Response
from runtime.settings import CrawlLimits, FetchPolicy
from runtime.web.fetch import FetchClient
from runtime.web.gate import check_url
from runtime.web.wire import Deadlines
from tests.runtime.web.site import Behaviour, Site, Visit, answers, message
from tests.safety.certificates import Authority
from tests.safety.virtual import VirtualLoop, run

HTML_CAP = 2_000_000
BUFFERS = 1_500_000
"""What two socket buffers, a stream's high-water mark and two reads can hold between site and client."""

Script = Callable[[Site, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def acting(script: Script) -> Callable[[Site], Behaviour]:
    async def behaviour(site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.head(reader)
        await script(site, reader, writer)

    return lambda site: lambda reader, writer: behaviour(site, reader, writer)


def fetch(of: Callable[[Site], Behaviour], **more: Any) -> tuple[Response, Site, float]:
    """The answer, the site, and the simulated seconds it took."""

    async def main() -> tuple[Response, Site, float]:
        async with Visit(of) as visit:
            answer = await visit.get(**more)
            return answer, visit.site, asyncio.get_running_loop().time()

    return run(main())


def failure(of: Callable[[Site], Behaviour], tls: Authority | None = None) -> tuple[FetchFailed, Site, float]:
    async def main() -> tuple[FetchFailed, Site, float]:
        async with Visit(of, tls=tls) as visit:
            with pytest.raises(FetchFailed) as caught:
                await visit.get()
            return caught.value, visit.site, asyncio.get_running_loop().time()

    return run(main())


def gigabyte_of_zeros() -> bytes:
    """A gzip stream of 1,000 MiB: one deflated MiB, flushed so that it stands alone, repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff" + block * 1000


@pytest.mark.parametrize("cap", [HTML_CAP, 52_428_800], ids=["bomb-002", "bomb-008"])
def test_bomb_002_a_gzip_bomb_is_cut_at_the_cap(cap: int) -> None:
    """A gigabyte of zeros behind gzip ends at the decoded cap, marked incomplete."""
    bomb = message(gigabyte_of_zeros(), headers=["Content-Encoding: gzip"])
    answer, _, _ = fetch(answers(bomb), max_bytes=cap)
    assert len(answer.body) == cap
    assert not answer.complete


@pytest.mark.parametrize(
    "coding",
    ["br", "zstd", "gzip, gzip", ", ".join(["gzip"] * 300), "gz", "compress", "gzip, br", "deflate, identity, gzip"],
    ids=["bomb-003", "bomb-004", "bomb-005", "bomb-006", "unregistered", "compress", "mixed", "identity-between"],
)
def test_bomb_003_to_006_a_coding_not_offered_is_refused_unread(coding: str) -> None:
    """Brotli, zstd and layered codings are refused from the header; the body is not taken off the wire."""

    async def endless(site: Site, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.send(writer, f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n".encode())
        while True:
            await site.send(writer, bytes(65_536))

    error, site, _ = failure(acting(endless))
    assert error.code == "unsupported_encoding"
    assert site.sent < BUFFERS


def test_bomb_005_two_content_encoding_headers_are_two_codings() -> None:
    """The coding count is taken over all header lines."""
    twice = message(b"", headers=["Content-Encoding: gzip", "Content-Encoding: gzip"])
    assert failure(answers(twice))[0].code == "unsupported_encoding"


def test_bomb_007_a_redirect_body_is_never_read() -> None:
    """The bomb in a 302 is left on the wire and its connection closed; the target gets a connection of its own."""
    bomb = message(gigabyte_of_zeros(), "302 Found", ["Location: /there", "Content-Encoding: gzip"])
    answer, site, _ = fetch(answers(bomb, message(b"there")))
    assert answer.body == b"there"
    assert site.connections == 2


def test_a_redirect_with_a_coding_not_offered_is_still_followed() -> None:
    """What is not read need not be decodable."""
    moved = message(b"moved", "301 Moved Permanently", ["Location: /there", "Content-Encoding: br"])
    assert fetch(answers(moved, message(b"there")))[0].body == b"there"


@pytest.mark.parametrize("cut", [1, 9, 40, 200])
def test_bomb_011_a_truncated_gzip_body_is_incomplete(cut: int) -> None:
    """A cut gzip stream is never handed on as a short page, though Content-Length fits."""
    page = gzip.compress(b"".join(b"<p>%d</p>" % n for n in range(500)))
    answer, _, _ = fetch(answers(message(page[:cut], headers=["Content-Encoding: gzip"])))
    assert not answer.complete


def test_a_corrupt_gzip_body_is_an_error() -> None:
    """Bytes that are gzip by their magic and nothing else cannot be read."""
    broken = gzip.compress(b"hello " * 1000)[:20] + b"\xff" * 500
    error, _, _ = failure(answers(message(broken, headers=["Content-Encoding: gzip"])))
    assert error.code == "corrupt_encoding"


def test_bomb_034_a_dripping_body_ends_at_the_deadline() -> None:
    """One byte each half second keeps no request alive beyond its 15 s."""

    async def drip(site: Site, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.send(writer, b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await site.send(writer, b"x")
            await asyncio.sleep(0.5)

    error, _, seconds = failure(acting(drip))
    assert error.code == "timeout"
    assert seconds == pytest.approx(15, abs=0.6)


def test_dripping_headers_end_at_the_deadline() -> None:
    """A head that never ends is cut off like a body that never ends."""

    async def drip(site: Site, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.send(writer, b"HTTP/1.1 200 OK\r\nX-Long: ")
        while True:
            await site.send(writer, b"x")
            await asyncio.sleep(0.5)

    error, _, seconds = failure(acting(drip))
    assert error.code == "timeout"
    assert seconds == pytest.approx(15, abs=0.6)


def test_a_body_that_flows_too_slowly_is_given_up_before_a_long_deadline() -> None:
    """Below 1 KiB/s over 5 s, after the first 10 s, a request ends whatever its deadline."""

    async def drip(site: Site, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.send(writer, b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await site.send(writer, bytes(900))
            await asyncio.sleep(1)

    async def main() -> float:
        async with Visit(acting(drip), limits=CrawlLimits(request_deadline_seconds=120)) as visit:
            with pytest.raises(FetchFailed, match="too slowly"):
                await visit.get()
            return asyncio.get_running_loop().time()

    assert run(main()) == pytest.approx(15, abs=1)


def test_a_slow_but_steady_body_is_read_to_its_end() -> None:
    """At 2 KiB/s a page of 40 KiB arrives, given the time."""

    async def steady(site: Site, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.send(writer, b"HTTP/1.1 200 OK\r\nContent-Length: 40960\r\n\r\n")
        for _second in range(20):
            await site.send(writer, bytes(2048))
            await asyncio.sleep(1)

    async def main() -> Response:
        async with Visit(acting(steady), limits=CrawlLimits(request_deadline_seconds=120)) as visit:
            answer: Response = await visit.get()
            return answer

    answer = run(main())
    assert len(answer.body) == 40_960
    assert answer.complete


def test_a_body_that_flows_well_ends_at_the_deadline_too() -> None:
    """At 8 KiB/s a body that would take 40 s is given up when the request is 15 s old."""

    async def steady(site: Site, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.send(writer, b"HTTP/1.1 200 OK\r\nContent-Length: 327680\r\n\r\n")
        for _second in range(40):
            await site.send(writer, bytes(8192))
            await asyncio.sleep(1)

    error, _, seconds = failure(acting(steady))
    assert error.code == "timeout"
    assert seconds == pytest.approx(15, abs=1.1)


def test_bomb_036_accept_and_silence_ends_at_the_first_byte_limit() -> None:
    """A site that accepts and says nothing is given up after 10 s."""

    async def silence(_: Site, reader: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await reader.read()

    error, _, seconds = failure(acting(silence))
    assert error.code == "timeout"
    assert seconds == pytest.approx(10, abs=0.1)


def test_bomb_037_a_black_hole_ends_at_the_connect_limit() -> None:
    """No SYN-ACK: given up after 5 s, however many addresses the name has."""

    async def main() -> float:
        async with Visit(answers(b"")) as visit:
            visit.names.script["example.com"] = [["93.184.216.34", "93.184.216.35", "93.184.216.36", "93.184.216.37"]]

            async def never(address: str, port: int) -> None:
                visit.site.dialled.append((address, port))
                await asyncio.get_running_loop().create_future()

            visit.pool._dial = never  # type: ignore[assignment]
            with pytest.raises(FetchFailed) as caught:
                await visit.get()
            assert caught.value.code == "timeout"
            assert len(visit.site.dialled) == 3
            return asyncio.get_running_loop().time()

    assert run(main()) == pytest.approx(5, abs=0.1)


def test_bomb_038_a_stalled_handshake_ends_at_the_connect_limit() -> None:
    """No ServerHello: given up after 5 s, handshake included."""

    async def main() -> float:
        async with Visit(answers(b""), tls=Authority()) as visit:
            visit.site._tls = None  # the site takes the ClientHello and waits for a head that never comes
            with pytest.raises(FetchFailed) as caught:
                await visit.get()
            assert caught.value.code == "timeout"
            return asyncio.get_running_loop().time()

    assert run(main()) == pytest.approx(5, abs=0.1)


@pytest.mark.parametrize("framing", ["chunked", "close", "length"])
def test_bomb_040_an_endless_body_is_cut_and_never_buffered(framing: str) -> None:
    """The client stops at the cap and takes hardly more than that off the wire, whatever the framing."""

    async def endless(site: Site, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = {"chunked": "Transfer-Encoding: chunked", "close": "X: y", "length": "Content-Length: 90000000"}[framing]
        await site.send(writer, f"HTTP/1.1 200 OK\r\n{line}\r\n\r\n".encode())
        piece = b"10000\r\n" + bytes(65_536) + b"\r\n" if framing == "chunked" else bytes(65_536)
        while True:
            await site.send(writer, piece)

    answer, site, _ = fetch(acting(endless))
    assert len(answer.body) == HTML_CAP
    assert not answer.complete
    assert site.sent < HTML_CAP + BUFFERS


def test_an_endless_body_of_empty_gzip_members_is_given_up() -> None:
    """Members that inflate to nothing never fill the decoded cap; their number ends them."""

    async def endless(site: Site, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.send(writer, b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
        while True:
            await site.send(writer, gzip.compress(b"") * 1000)

    error, site, _ = failure(acting(endless))
    assert error.code == "corrupt_encoding"
    assert site.sent < 200_000 + BUFFERS


def test_a_reader_that_does_not_read_makes_the_site_wait() -> None:
    """Reading stops while the caller is busy: at most a few buffers of a fast body are ever held."""

    async def main() -> None:
        async def endless(site: Site, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await site.send(writer, b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                await site.send(writer, bytes(65_536))

        async with Visit(acting(endless)) as visit:
            target = check_url("http://example.com/", FetchPolicy())
            answer = await visit.pool.send(target, ["93.184.216.34"], [], Deadlines(90, 5, 10, 10))
            await asyncio.sleep(60)
            held = visit.site.sent
            assert held < BUFFERS
            taken = sum([len(await answer.read()) for _ in range(100)])
            assert taken > held
            await answer.close()

    run(main())


def test_bomb_041_an_absurd_length_is_refused_from_the_header() -> None:
    """A body larger than a whole site's budget is not begun."""
    absurd = b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n"
    assert failure(answers(absurd))[0].code == "body_too_large"


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 2\r\nContent-Length: 5\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: gzip\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 5, 6\r\n",
        b"Content-Length: 99999999999999999999999999\r\n",
        b"X: a\0b\r\nContent-Length: 5\r\n",
        b"X Y: a\r\nContent-Length: 5\r\n",
        b": a\r\nContent-Length: 5\r\n",
    ],
)
def test_bomb_043_ambiguous_framing_is_refused(head: bytes) -> None:
    """Two lengths, a length beside chunks, foreign transfer codings and malformed headers end the request."""
    assert failure(answers(b"HTTP/1.1 200 OK\r\n" + head + b"\r\nhello", close=True))[0].code == "protocol_error"


@pytest.mark.parametrize(
    "body",
    [b"zz\r\nhello\r\n0\r\n\r\n", b"5\r\nhelloX\r\n0\r\n\r\n", b"-5\r\nhello\r\n0\r\n\r\n", b"ffffffffffffffffff\r\n"],
)
def test_bad_chunking_is_refused(body: bytes) -> None:
    """A chunk size that is no number, or a chunk that does not end where it said, is no body."""
    bad = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    assert failure(answers(bad))[0].code == "protocol_error"


@pytest.mark.parametrize("garbage", [b"SSH-2.0-OpenSSH_9.6\r\n", b"\x00" * 64, b"<html>", b"HTTP/1.1 abc\r\n\r\n"])
def test_what_is_not_http_is_refused(garbage: bytes) -> None:
    """Another protocol on the port is a protocol error, never a page."""
    assert failure(answers(garbage, close=True))[0].code in {"protocol_error", "connection_lost"}


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nnine byte",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nhello",
    ],
)
def test_bomb_045_a_body_that_ends_early_is_incomplete(wire: bytes) -> None:
    """Fewer bytes than announced, or no last chunk: the answer says so."""
    answer, _, _ = fetch(answers(wire, close=True))
    assert not answer.complete
    assert answer.body in {b"nine byte", b"hello"}


def test_bomb_046_a_body_that_lasts_until_the_close_counts_as_whole() -> None:
    """Without a length nothing on the wire tells a short page from a cut one."""
    answer, _, _ = fetch(answers(b"HTTP/1.1 200 OK\r\n\r\n<html><body>", close=True))
    assert answer.complete
    assert answer.body == b"<html><body>"


def test_a_body_until_the_close_that_is_reset_is_incomplete() -> None:
    """A connection that breaks off is not a connection that was closed."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n<html><body>")
        await writer.drain()
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async def main() -> Response:
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = FetchClient(FetchPolicy(allow_networks=("127.0.0.0/8",), allow_any_port=True), CrawlLimits())
        answer = await client.get(f"http://127.0.0.1:{port}/", max_bytes=1000)
        await client.aclose()
        server.close()
        await server.wait_closed()
        return answer

    answer = asyncio.run(main())
    assert not answer.complete


@pytest.mark.parametrize(
    "head",
    [
        b"X-Long: " + b"a" * 5_000_000 + b"\r\n",
        b"".join(b"X-%d: a\r\n" % n for n in range(101)),
        b"".join(b"X-%d: %s\r\n" % (n, b"a" * 1000) for n in range(90)),
        b"x" * 100_000,
    ],
    ids=["bomb-049", "101 headers", "90 kB of headers", "no end"],
)
def test_bomb_049_a_flood_of_headers_is_refused(head: bytes) -> None:
    """More than 100 headers or 64 KiB of them end the request, and most of a flood stays on the wire."""
    error, site, _ = failure(answers(b"HTTP/1.1 200 OK\r\n" + head + b"Content-Length: 2\r\n\r\nok"))
    assert error.code == "protocol_error"
    assert site.connections == 1


def test_a_header_without_end_is_not_collected() -> None:
    """One header that goes on for ever is given up after 64 KiB, long before the deadline."""

    async def endless(site: Site, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.send(writer, b"HTTP/1.1 200 OK\r\nX-Long: ")
        while True:
            await site.send(writer, b"a" * 65_536)

    error, site, _ = failure(acting(endless))
    assert error.code == "protocol_error"
    assert site.sent < BUFFERS


def test_a_hundred_headers_are_fine() -> None:
    """The cap is a cap, not a habit."""
    wire = message(b"ok", headers=[f"X-{n}: a" for n in range(99)])
    assert len(fetch(answers(wire))[0].headers) == 100


def test_bomb_050_early_hints_without_end_are_refused() -> None:
    """Ten interim answers are swallowed; the eleventh ends the request."""
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
    answer, _, _ = fetch(answers(hint * 10 + message(b"ok")))
    assert answer.body == b"ok"
    assert answer.header("link") is None
    for count in (11, 3000):
        assert failure(answers(hint * count + message(b"ok")))[0].code == "protocol_error"


def test_switching_protocols_is_refused() -> None:
    """An upgrade nobody asked for is no answer."""
    upgrade = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"
    assert failure(answers(upgrade))[0].code == "protocol_error"


def test_bomb_052_cookies_are_neither_stored_nor_sent() -> None:
    """The second request to a site that sets cookies carries none."""

    async def main() -> list[bytes]:
        async with Visit(answers(message(b"ok", headers=["Set-Cookie: a=b; Path=/"] * 50))) as visit:
            await visit.get()
            await visit.get()
            return visit.site.requests

    assert all(b"cookie" not in head.lower() for head in run(main()))


def test_bomb_053_redirect_ping_pong_is_a_loop() -> None:
    """A to B to A is recognised at the second A, without asking for it."""
    there, back = (message(b"", "302 Found", [f"Location: {path}"]) for path in ("/b", "/"))
    error, site, _ = failure(answers(there, back))
    assert error.code == "redirect_loop"
    assert len(site.requests) == 2


def test_endless_redirects_end_after_five() -> None:
    """Five redirects are followed, the sixth is not."""

    async def forward(site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await site.send(writer, message(b"", "302 Found", [f"Location: /{len(site.requests)}"]))
            await site.head(reader)

    error, site, _ = failure(acting(forward))
    assert error.code == "redirect_limit"
    assert len(site.requests) == 6


def test_slow_redirects_share_one_deadline() -> None:
    """Each hop is quick enough on its own; together they may take 15 s."""

    async def forward(site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await asyncio.sleep(6)
            await site.send(writer, message(b"", "302 Found", [f"Location: /{len(site.requests)}"]))
            await site.head(reader)

    error, _, seconds = failure(acting(forward))
    assert error.code == "timeout"
    assert seconds == pytest.approx(15, abs=0.1)


def test_bomb_055_a_redirect_to_a_large_file_is_cut() -> None:
    """The cap belongs to the request, wherever it ends."""

    async def large(site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.send(writer, message(b"", "302 Found", ["Location: /file.iso"]))
        await site.head(reader)
        await site.send(writer, b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n")
        while True:
            await site.send(writer, bytes(65_536))

    answer, site, _ = fetch(acting(large))
    assert len(answer.body) == HTML_CAP
    assert site.sent < HTML_CAP + BUFFERS


def test_an_answer_nobody_asked_for_closes_the_connection() -> None:
    """A second answer behind the first is not kept for the next request (response splitting)."""

    async def main() -> tuple[bytes, bytes, int]:
        async with Visit(answers(message(b"one") + message(b"evil"), message(b"two"))) as visit:
            first, second = await visit.get("/1"), await visit.get("/2")
            return first.body, second.body, visit.site.connections

    assert run(main()) == (b"one", b"two", 2)


def test_an_answer_that_comes_unasked_later_closes_the_connection() -> None:
    """Bytes on a resting connection are never the answer to the next request."""

    async def unasked(site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.send(writer, message(b"one"))
        await asyncio.sleep(1)
        await site.send(writer, message(b"evil"))
        await site.head(reader)
        await site.send(writer, message(b"two"))

    async def main() -> tuple[bytes, bytes, int]:
        async with Visit(acting(unasked)) as visit:
            first = await visit.get("/1")
            await asyncio.sleep(2)
            second = await visit.get("/2")
            return first.body, second.body, visit.site.connections

    assert run(main()) == (b"one", b"one", 2)


def test_the_clock_of_these_tests_is_simulated() -> None:
    """An hour passes at once, so no test here waits."""

    async def main() -> float:
        assert isinstance(asyncio.get_running_loop(), VirtualLoop)
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    assert run(main()) == 3600
