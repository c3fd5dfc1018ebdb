"""The fetch client over a wire that is handed in: what is asked, what comes back, who is consulted."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable

import httpx
import pytest

from runtime.errors import FetchFailed, HopRefused, Misconfigured, Refused
from runtime.reading import Response, Validators
from runtime.settings import CrawlLimits, FetchPolicy
from runtime.web.fetch import FetchClient
from runtime.web.gate import check_url
from runtime.web.names import Names as Pins
from runtime.web.pace import Pace
from tests.safety.internet import Names
from tests.safety.virtual import run

Handler = Callable[[httpx.Request], httpx.Response]
UNPACED = CrawlLimits(requests_per_second=0)


class Wire(httpx.AsyncBaseTransport):
    """Answers by `handler` and keeps the requests."""

    def __init__(self, handler: Handler) -> None:
        self.handler, self.requests = handler, list[httpx.Request]()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self.handler(request)


def client(handler: Handler, names: Names | None = None, limits: CrawlLimits = UNPACED) -> tuple[FetchClient, Wire]:
    wire = Wire(handler)
    return FetchClient(FetchPolicy(), limits, resolver=names or Names({}), transport=wire), wire


def moved(*locations: bytes | str, status: int = 302) -> httpx.Response:
    raw = [loc.encode("latin-1") if isinstance(loc, str) else loc for loc in locations]
    return httpx.Response(status, headers=[(b"location", value) for value in raw], content=b"moved")


def site(pages: dict[str, httpx.Response]) -> Handler:
    return lambda request: pages.get(str(request.url)) or httpx.Response(404)


async def test_an_answer_keeps_its_headers_as_sent() -> None:
    """Names in lower case, values as Latin-1, order and repetition kept; the status is the caller's to judge."""
    headers = [(b"ETag", b'"caf\xe9"'), (b"Link", b"<a>"), (b"LINK", b"<b>"), (b"X", b"")]
    fetch, _ = client(lambda _: httpx.Response(404, headers=headers, content=b"gone"))
    answer = await fetch.get("http://Example.com:80/x#y", max_bytes=100)
    assert answer == Response(
        url="http://example.com/x",
        status=404,
        headers=(("etag", '"caf\u00e9"'), ("link", "<a>"), ("link", "<b>"), ("x", ""), ("content-length", "4")),
        body=b"gone",
        complete=True,
        hops=("http://example.com/x",),
    )
    assert (fetch.requests, fetch.bytes_read) == (1, 4)


@pytest.mark.parametrize("etag", ['W/"5f-abc"', "aae714dc9ba620a6", '"a,b;c=1/\u00e9"', '"tab\there"', "*"])
async def test_validators_go_back_byte_for_byte(etag: str) -> None:
    """Weak marks, missing quotes, commas and obs-text are the server's business (RFC 9110 8.8.3)."""
    fetch, wire = client(lambda _: httpx.Response(304))
    date = "Fri, 01 May 2026 00:00:00 GMT"
    answer = await fetch.get("https://example.com/", max_bytes=10, validators=Validators(etag, date))
    sent = dict(wire.requests[0].headers.raw)
    assert sent[b"if-none-match"] == etag.encode("latin-1")
    assert sent[b"if-modified-since"] == date.encode()
    assert (answer.status, answer.body, answer.complete) == (304, b"", True)


@pytest.mark.parametrize("etag", ['"a\r\nX: y"', '"\u4e00"', '"a\0"', "", None])
async def test_a_validator_that_is_no_header_is_left_out(etag: str | None) -> None:
    """A spoilt stored value costs a full answer, never a second header line or an exception."""
    fetch, wire = client(lambda _: httpx.Response(200))
    await fetch.get("https://example.com/", max_bytes=10, validators=Validators(etag, None))
    assert {b"if-none-match", b"if-modified-since"}.isdisjoint(dict(wire.requests[0].headers.raw))


async def test_a_request_offers_what_is_understood() -> None:
    """gzip and deflate, no cookies, no referer, our name; a range is asked for without a coding."""
    fetch, wire = client(lambda _: httpx.Response(200))
    await fetch.get("https://example.com/", max_bytes=10, accept="text/html")
    await fetch.get("https://example.com/", max_bytes=10, range_bytes=500)
    first, second = (dict(request.headers.raw) for request in wire.requests)
    assert first == {
        b"Host": b"example.com",
        b"user-agent": b"Mozilla/5.0 (compatible; LlmsTxtBot/1.0)",
        b"accept": b"text/html",
        b"accept-encoding": b"gzip, deflate",
    }
    assert (second[b"range"], second[b"accept-encoding"]) == (b"bytes=0-499", b"identity")


def test_a_user_agent_of_two_lines_is_a_configuration_error() -> None:
    """It would be a second header."""
    with pytest.raises(Misconfigured):
        FetchClient(FetchPolicy(), UNPACED, user_agent="a\r\nX: y")


@pytest.mark.parametrize(
    ("content_range", "size", "complete"),
    [
        ("bytes 0-4/5", 5, True),
        ("bytes 0-4/500", 5, False),
        ("bytes 0-4/*", 5, False),
        ("bytes 5-9/10", 5, False),
        ("nonsense", 5, False),
    ],
)
async def test_a_partial_answer_is_complete_only_if_it_is_everything(
    content_range: str, size: int, complete: bool
) -> None:
    """206 says itself how much there is (RFC 9110 14.4)."""
    fetch, _ = client(lambda _: httpx.Response(206, headers={"content-range": content_range}, content=b"x" * size))
    assert (await fetch.get("https://example.com/", max_bytes=10, range_bytes=5)).complete is complete


async def test_a_body_over_the_cap_is_cut_there() -> None:
    """Exactly the cap, marked incomplete; exactly the cap and no more is whole."""
    fetch, _ = client(lambda _: httpx.Response(200, content=b"0123456789"))
    cut, whole = await fetch.get("https://a.com/", max_bytes=9), await fetch.get("https://a.com/", max_bytes=10)
    assert (cut.body, cut.complete) == (b"012345678", False)
    assert (whole.body, whole.complete) == (b"0123456789", True)


async def test_an_encoded_body_is_undone_once() -> None:
    """Content-Encoding is removed, a .gz file inside it is not (RFC 9110 8.4); the header stays to be seen."""
    inner = gzip.compress(b"<urlset/>")
    headers = {"content-encoding": "gzip"}
    fetch, _ = client(lambda _: httpx.Response(200, headers=headers, stream=httpx.ByteStream(gzip.compress(inner))))
    answer = await fetch.get("https://example.com/sitemap.xml.gz", max_bytes=1000)
    assert (answer.body, answer.header("content-encoding")) == (inner, "gzip")


# -- redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_followed_and_told(status: int) -> None:
    """`url` is where it ended, `hops` every URL that was asked for."""
    fetch, _ = client(
        site(
            {"http://a.com/x": moved("https://www.a.com/y", status=status), "https://www.a.com/y": httpx.Response(200)}
        )
    )
    answer = await fetch.get("http://a.com/x", max_bytes=10)
    assert answer.url == "https://www.a.com/y"
    assert answer.hops == ("http://a.com/x", "https://www.a.com/y")
    assert fetch.requests == 2


@pytest.mark.parametrize("answer", [moved(), moved(""), moved("/y", status=300), moved("/y", status=304)])
async def test_what_is_no_redirect_is_an_answer(answer: httpx.Response) -> None:
    """No Location, an empty one, 300 and 304 are handed to the caller."""
    fetch, _ = client(lambda _: answer)
    assert (await fetch.get("https://a.com/", max_bytes=10)).status == answer.status_code


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/caf\u00e9".encode(), "https://a.com/caf%C3%A9"),
        (b"/caf\xe9", "https://a.com/caf%E9"),
        ("https://b\u00fccher.example/".encode(), "https://xn--bcher-kva.example/"),
        (b"/a%20b", "https://a.com/a%20b"),
        (b"/x#fragment", "https://a.com/x"),
    ],
)
async def test_location_bytes_are_read_as_browsers_read_them(location: bytes, url: str) -> None:
    """UTF-8 where it is UTF-8, escaped bytes otherwise."""
    fetch, wire = client(lambda _: moved(location) if len(wire.requests) == 1 else httpx.Response(200))
    assert (await fetch.get("https://a.com/", max_bytes=10)).url == url


async def test_two_locations_that_differ_are_refused() -> None:
    """The same one twice is one; two are a guess."""
    fetch, _ = client(site({"https://a.com/": moved("/x", "/x"), "https://a.com/x": moved("/y", "//evil.com/")}))
    with pytest.raises(Refused) as caught:
        await fetch.get("https://a.com/", max_bytes=10)
    assert caught.value.code == "redirect_ambiguous"
    assert caught.value.url == "https://a.com/x"


async def test_a_redirect_target_is_looked_up_again() -> None:
    """A name that turned bad between two hops is refused at the second, though the first answer is still kept."""
    names = Names({"a.com": [["93.184.216.34"], ["127.0.0.1"]]})
    fetch, wire = client(lambda _: moved("/again"), names)
    with pytest.raises(Refused) as caught:
        await fetch.get("https://a.com/", max_bytes=10)
    assert caught.value.code == "address_loopback"
    assert len(wire.requests) == 1


async def test_a_name_is_looked_up_once_for_many_pages() -> None:
    """The pinned answer serves the following pages; a rebinding name gets no second chance."""
    names = Names({"a.com": [["93.184.216.34"], ["127.0.0.1"]]})
    fetch, wire = client(lambda _: httpx.Response(200), names)
    for page in range(5):
        await fetch.get(f"https://a.com/{page}", max_bytes=10)
    assert names.asked == ["a.com"]
    assert {request.extensions["addresses"] for request in wire.requests} == {("93.184.216.34",)}


async def test_every_hop_is_offered_to_the_caller() -> None:
    """`may_visit` sees each canonical URL before it is asked for, and its reason ends the request."""
    fetch, wire = client(site({"https://a.com/": moved("/b"), "https://a.com/b": moved("/private/c")}))
    seen: list[str] = []

    async def may_visit(url: str) -> str | None:
        seen.append(url)
        return "robots.txt disallows it" if "/private/" in url else None

    with pytest.raises(HopRefused) as caught:
        await fetch.get("https://A.com", max_bytes=10, may_visit=may_visit)
    assert seen == ["https://a.com/", "https://a.com/b", "https://a.com/private/c"]
    assert caught.value.hops == ("https://a.com/", "https://a.com/b")
    assert (caught.value.url, caught.value.reason) == ("https://a.com/private/c", "robots.txt disallows it")
    assert len(wire.requests) == 2


async def test_may_visit_may_fetch_with_the_same_client() -> None:
    """Reading robots.txt from inside `may_visit` does not wait for the slot of the request it decides."""
    limits = CrawlLimits(requests_per_second=0, connections_per_host=1)
    fetch, _ = client(site({"https://a.com/": moved("/b"), "https://a.com/b": httpx.Response(200)}), limits=limits)

    async def may_visit(_: str) -> None:
        await fetch.get("https://a.com/robots.txt", max_bytes=10)

    async with asyncio.timeout(5):
        answer = await fetch.get("https://a.com/", max_bytes=10, may_visit=may_visit)
    assert answer.status == 200
    assert fetch.requests == 4


async def test_an_answer_of_the_resolver_is_kept_for_a_while_only() -> None:
    """After half a minute the next page asks again, and is judged by the new answer."""
    names = Names({"a.com": [["93.184.216.34"], ["10.0.0.1"]]})
    pins = Pins(names, 5)
    target = check_url("https://a.com/", FetchPolicy())
    assert await pins.resolve(target, 1e9) == ("93.184.216.34",)
    assert await pins.resolve(target, 1e9) == ("93.184.216.34",)
    pins = Pins(names, 5, pin_seconds=0)
    assert await pins.resolve(target, 1e9) == ("10.0.0.1",)


def test_a_slow_resolver_is_given_up() -> None:
    """A name that is not answered within 5 s is a failed look-up, not a hanging site."""

    class Slow:
        async def resolve(self, host: str, port: int) -> list[str]:
            await asyncio.sleep(3600)
            return ["93.184.216.34"]

    async def main() -> float:
        fetch = FetchClient(FetchPolicy(), UNPACED, resolver=Slow(), transport=Wire(lambda _: httpx.Response(200)))
        with pytest.raises(FetchFailed) as caught:
            await fetch.get("https://a.com/", max_bytes=10)
        assert caught.value.code == "dns_failure"
        return asyncio.get_running_loop().time()

    assert run(main()) == 5


async def test_a_transport_that_resolves_names_itself_is_refused() -> None:
    """httpx's own transport would be a second look-up behind the gate's back."""
    with pytest.raises(Misconfigured):
        FetchClient(FetchPolicy(), UNPACED, transport=httpx.AsyncHTTPTransport())


# -- failures


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (httpx.ReadTimeout, "timeout"),
        (httpx.ConnectTimeout, "timeout"),
        (httpx.ConnectError, "connect_failed"),
        (httpx.RemoteProtocolError, "protocol_error"),
        (httpx.ReadError, "connection_lost"),
        (httpx.UnsupportedProtocol, "connect_failed"),
    ],
)
async def test_a_failing_transport_is_a_failed_fetch(error: type[httpx.TransportError], code: str) -> None:
    """The wire's words stay inside; the code and the URL come out."""

    def fail(_: httpx.Request) -> httpx.Response:
        raise error("secret detail")

    fetch, _ = client(fail)
    with pytest.raises(FetchFailed) as caught:
        await fetch.get("https://a.com/", max_bytes=10)
    assert (caught.value.code, caught.value.url) == (code, "https://a.com/")
    assert "secret" not in str(caught.value)


async def test_a_body_that_breaks_off_is_incomplete() -> None:
    """What came is kept and marked."""

    class Broken(httpx.AsyncByteStream):
        async def __aiter__(self):  # type: ignore[no-untyped-def]
            yield b"half"
            raise httpx.ReadError("reset")

    fetch, _ = client(lambda _: httpx.Response(200, stream=Broken()))
    answer = await fetch.get("https://a.com/", max_bytes=10)
    assert (answer.body, answer.complete) == (b"half", False)


@pytest.mark.parametrize("answers", [[[]], [None], [["TIMEOUT"]]])
async def test_a_name_without_an_address_is_transient(answers: list[list[str] | None]) -> None:
    """NXDOMAIN and empty answers fail closed, are no policy matter, and are asked again next time."""
    names = Names({"a.com": [*answers, ["93.184.216.34"]]})
    fetch, wire = client(lambda _: httpx.Response(200), names)
    with pytest.raises(FetchFailed) as caught:
        await fetch.get("https://a.com/", max_bytes=10)
    assert caught.value.code == "dns_failure"
    assert not wire.requests
    assert (await fetch.get("https://a.com/", max_bytes=10)).status == 200


async def test_a_refused_url_asks_nobody() -> None:
    """The gate comes before the caller, the resolver and the wire."""
    names = Names({})
    fetch, wire = client(lambda _: httpx.Response(200), names)

    async def may_visit(_: str) -> None:
        raise AssertionError

    with pytest.raises(Refused):
        await fetch.get("http://localhost/", max_bytes=10, may_visit=may_visit)
    assert (names.asked, wire.requests, fetch.requests) == ([], [], 0)


async def test_the_pace_of_a_host_is_set_by_name() -> None:
    """`set_pace` reaches the host however it is spelled, and is capped."""
    pace = Pace(8, 0, 30)
    fetch = FetchClient(
        FetchPolicy(), UNPACED, resolver=Names({}), transport=Wire(lambda _: httpx.Response(200)), pace=pace
    )
    await fetch.set_pace("Example.COM.", 500)
    assert pace.delay("example.com") == 30
