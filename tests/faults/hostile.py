"""Sites that attack whoever reads them, by the ids of `hostile_responses.jsonl`.

Each function makes one site out of its root URL. What can only be shown on a socket (framing, interim answers, TLS) is
in `tests/runtime/web/test_hostile.py`.
"""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

import httpx

from tests.stand_ins.site import HTML, Reply, Site, page, redirect, sitemap, text

# fmt: off
XML = {"content-type": "application/xml"}
MIB = 1 << 20
OPEN = '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer whose body comes piece by piece, perhaps without end. `late` is how long its head takes."""

    chunks: Callable[[], AsyncIterator[bytes]]
    headers: Mapping[str, str]
    status: int = 200
    late: float = 0.0


Answer = Reply | Streamed | Callable[[httpx.Request], Reply]
Answers = dict[str, Answer]


class _Stream(httpx.AsyncByteStream):
    def __init__(self, chunks: Callable[[], AsyncIterator[bytes]]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._chunks():
            yield chunk


class HostileSite(Site):
    """A site with streamed answers, and one for every URL that has none of its own."""

    streams: dict[str, Streamed]
    any_url: Callable[[str], Reply] | None = None
    any_root: str = ""

    def take(self, root: str, answers: Answers, any_url: Callable[[str], Reply] | None = None) -> None:
        """Become hostile below `root`."""
        self.streams = {url: answer for url, answer in answers.items() if isinstance(answer, Streamed)}
        plain = {url: answer for url, answer in answers.items() if not isinstance(answer, Streamed)}
        self.replies = {url: r for url, r in self.replies.items() if not url.startswith(f"{root}/")} | plain
        self.any_url, self.any_root = any_url, root

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = str(request.url)
        streamed = getattr(self, "streams", {}).get(url)
        if streamed is not None:
            self.log.append(url)
            await asyncio.sleep(streamed.late)
            return httpx.Response(
                streamed.status, headers=dict(streamed.headers), stream=_Stream(streamed.chunks), request=request
            )
        if self.any_url is not None and url.startswith(f"{self.any_root}/") and url not in self.replies:
            self.log.append(url)
            status, headers, body = self.any_url(url)
            return httpx.Response(status, headers=dict(headers), content=body, request=request)
        return await super().handle_async_request(request)


def repeated(chunk: bytes, times: int, *, first: bytes = b"", pause: float = 0.0) -> Callable[[], AsyncIterator[bytes]]:
    async def chunks() -> AsyncIterator[bytes]:
        if first:
            yield first
        for _ in range(times):
            if pause:
                await asyncio.sleep(pause)
            yield chunk

    return chunks


def packed_megabyte(fill: bytes = b"\0") -> bytes:
    """A deflated MiB that stands alone, so that it can follow itself in one stream."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(fill * MIB) + packer.flush(zlib.Z_FULL_FLUSH)


GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


def honest(root: str, **more: Answer) -> Answers:
    """A small site, some of whose answers are replaced: keywords are paths, `_` for a dot and `__` for the root."""
    made: Answers = {
        f"{root}/": page("Home", "/a", "/b"),
        f"{root}/a": page("Page a"),
        f"{root}/b": page("Page b"),
        f"{root}/sitemap.xml": sitemap(dict.fromkeys((f"{root}/", f"{root}/a", f"{root}/b"), "2026-05-01")),
    }
    for name, answer in more.items():
        made[f"{root}/{'' if name == '__' else name.replace('_', '.')}"] = answer
    return made


def coded(coding: str) -> Callable[[str], Answers]:
    def made(root: str) -> Answers:
        headers = {**HTML, "content-encoding": coding}
        return honest(root, a=Streamed(repeated(b"\x1b" * 65_536, 16_000), headers))

    return made


def map_of(body: str | bytes, **headers: str) -> Callable[[str], Answers]:
    """A site with this sitemap; `ROOT` in it is the site."""

    def made(root: str) -> Answers:
        raw = body.replace("ROOT", root).encode() if isinstance(body, str) else body
        return honest(root, sitemap_xml=(200, {**XML, **headers}, raw))

    return made


def maps_of(bodies: Mapping[str, str]) -> Callable[[str], Answers]:
    """A site with these sitemaps, the first of which robots.txt names."""

    def made(root: str) -> Answers:
        answers = honest(root)
        for name, body in bodies.items():
            answers[f"{root}/{name}"] = (200, XML, body.replace("ROOT", root).encode())
        answers[f"{root}/robots.txt"] = text(f"Sitemap: {root}/{next(iter(bodies))}\n")
        return answers

    return made


def index(*names: str) -> str:
    rows = "".join(f"<sitemap><loc>ROOT/{name}</loc></sitemap>" for name in names)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</sitemapindex>'


def entry(root: str, answer: Answer) -> Answers:
    return honest(root, __=answer)


def silence(late: float) -> Callable[[str], Answers]:
    return lambda root: honest(root, a=Streamed(repeated(b"", 0), HTML, late=late), b=Streamed(repeated(b"", 0), HTML, late=late))


def bomb_008(root: str) -> Answers:
    head = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    opening = GZIP_HEAD + head.compress(OPEN.encode()) + head.flush(zlib.Z_FULL_FLUSH)
    answers = honest(root)
    answers[f"{root}/robots.txt"] = text(f"Sitemap: {root}/sitemap.xml.gz\n")
    answers[f"{root}/sitemap.xml.gz"] = Streamed(
        repeated(packed_megabyte(b" "), 1_000, first=opening), {"content-type": "application/gzip"}
    )
    return answers


def bomb_011(root: str) -> Answers:
    whole = gzip.compress(page("Page a", body="<p>" + "word " * 20_000)[2])
    return honest(root, a=(200, {**HTML, "content-encoding": "gzip"}, whole[: len(whole) // 2]))


async def _broken() -> AsyncIterator[bytes]:
    yield b"<!DOCTYPE html><title>Half a page"
    raise httpx.RemoteProtocolError("peer closed the connection")


def bomb_025(root: str) -> Answers:
    rows = "".join(f"<url><loc>{root}/{number}</loc></url>" for number in range(1_000_000))
    return honest(root, sitemap_xml=(200, XML, f"{OPEN}{rows}</urlset>".encode()))


def bomb_030(root: str) -> Answers:
    answers = honest(root)
    answers[f"{root}/robots.txt"] = text(f"Sitemap: {root}/map-.xml\n")
    return answers


def more_maps(url: str) -> Reply:
    """Each sitemap names ten more."""
    root, _, name = url.rpartition("/map-")
    if not root:
        return 404, HTML, b""
    names = [f"map-{name.removesuffix('.xml')}{digit}.xml" for digit in range(10)]
    return 200, XML, index(*names).replace("ROOT", root).encode()


def bomb_056(root: str) -> Answers:
    return honest(root, __=page("Home", "/cal?m=0", "/a", "/b"))


def calendar(url: str) -> Reply:
    path, _, month = url.partition("?m=")
    return page(f"Month {month}", f"/cal?m={int(month) + 1}") if path.endswith("/cal") and month.isdigit() else (404, HTML, b"")


def bomb_059(root: str) -> Answers:
    return honest(root, __=page("Home", "/x/y/", "/a", "/b"))


def repeating(url: str) -> Reply:
    """Relative links that make the path grow by what it has already."""
    return page(f"Deeper {url.count('/')}", f"{url}x/y/") if "/x/y/" in url else (404, HTML, b"")


def bomb_060(root: str) -> Answers:
    return honest(root, __=page("Home", "/" + "/".join(map(str, range(500))), "/1/", "/a", "/b"))


def deeper(url: str) -> Reply:
    last = url.rstrip("/").rpartition("/")[2]
    return page(f"Level {last}", f"{url}{int(last) + 1}/") if last.isdigit() and url.endswith("/") else (404, HTML, b"")


def flood(url: str) -> Reply:
    """Every page has a thousand links that no other page has."""
    name = url.rpartition("/")[2] or "root"
    return page(f"Flood {name}", *(f"/{name}-{number}" for number in range(1_000)))


def html_of(body: bytes) -> Callable[[str], Answers]:
    return lambda root: honest(root, a=(200, HTML, body))


LONG = b"<p>" + b"word " * 1_000_000
DEEP = b"<html><title>Deep</title>" + b"<div>" * 100_000 + b"text"
BAIT = b"<" * 50_000 + b"<!-- never closed " + b"<a href='" + b"x" * MIB + b"<" * 50_000
DOCTYPE = '<!DOCTYPE urlset [<!ENTITY x "{}">]>'
QUADRATIC = DOCTYPE.format("x" * 100_000) + OPEN[21:] + "<url><loc>ROOT/" + "&x;" * 10_000 + "</loc></url></urlset>"
EXTERNAL = '<!DOCTYPE urlset [<!ENTITY x SYSTEM "http://169.254.169.254/latest/meta-data/">]>' + OPEN[21:] + "<url><loc>ROOT/&x;</loc></url></urlset>"
DTD = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd"><html xmlns="http://www.w3.org/1999/xhtml"><body/></html>'
XINCLUDE = OPEN + '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/><url><loc>ROOT/a</loc></url></urlset>'
ATTRIBUTES = OPEN + "<url " + " ".join(f'a{n}="{n}"' for n in range(200_000)) + "><loc>ROOT/a</loc></url></urlset>"
UTF_7 = b'<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE urlset +AFs +ADwAIQ-ENTITY x +ACI-y+ACIAPgBdAD4-<urlset/>'
EBCDIC = '<?xml version="1.0" encoding="cp037"?><!DOCTYPE urlset [<!ENTITY x "y">]><urlset/>'.encode("cp037")
UTF_16 = ('<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE urlset [<!ENTITY x "y">]>' + OPEN[21:] + "</urlset>").encode("utf-16")

Recipe = tuple[Callable[[str], Answers], Callable[[str], Reply] | None]

HOSTILE: dict[str, Recipe] = {
    "bomb-002": (lambda root: honest(root, a=Streamed(repeated(packed_megabyte(), 1_000, first=GZIP_HEAD), {**HTML, "content-encoding": "gzip"})), None),
    "bomb-003": (coded("br"), None),
    "bomb-004": (coded("zstd"), None),
    "bomb-005": (coded("gzip, gzip"), None),
    "bomb-006": (coded(", ".join(["gzip"] * 300)), None),
    "bomb-007": (lambda root: honest(root, a=Streamed(repeated(packed_megabyte(), 1_000, first=GZIP_HEAD), {"location": "/b", "content-encoding": "gzip"}, status=302)), None),
    "bomb-008": (bomb_008, None),
    "bomb-011": (bomb_011, None),
    "bomb-015": (map_of(QUADRATIC), None),
    "bomb-018": (map_of(EXTERNAL), None),
    "bomb-020": (map_of(DTD), None),
    "bomb-021": (map_of(XINCLUDE), None),
    "bomb-022": (map_of(OPEN + "<a>" * 200_000), None),
    "bomb-023": (map_of(ATTRIBUTES), None),
    "bomb-025": (bomb_025, None),
    "bomb-026 UTF-7": (map_of(UTF_7), None),
    "bomb-026 UTF-16": (map_of(UTF_16), None),
    "bomb-026 EBCDIC": (map_of(EBCDIC), None),
    "bomb-027": (lambda root: honest(root, sitemap_xml=page("Page not found")), None),
    "bomb-028": (maps_of({"index.xml": index("index.xml")}), None),
    "bomb-029": (maps_of({"a.xml": index("b.xml"), "b.xml": index("a.xml")}), None),
    "bomb-030": (bomb_030, more_maps),
    "bomb-032": (lambda root: maps_of({"index.xml": index("child.xml")})(root) | {f"{root}/child.xml": redirect("/index.xml")}, None),
    "bomb-034": (lambda root: honest(root, a=Streamed(repeated(b" ", 10_000, pause=0.5), HTML)), None),
    "bomb-036": (silence(3_600), None),
    "bomb-037": (silence(86_400), None),
    "bomb-038": (silence(7_200), None),
    "bomb-040": (lambda root: honest(root, a=Streamed(repeated(bytes(65_536), 1_000_000), HTML)), None),
    "bomb-041": (lambda root: honest(root, a=Streamed(repeated(bytes(65_536), 1_000), {**HTML, "content-length": "999999999999"})), None),
    "bomb-045": (lambda root: honest(root, a=Streamed(_broken, {**HTML, "content-length": "1000"})), None),
    "bomb-046": (lambda root: entry(root, (200, HTML, page("Home", "/a", "/b")[2][:180])), None),
    "bomb-052": (lambda root: honest(root, a=(200, {**HTML, "set-cookie": "c=" + "x" * 4_000}, page("Page a")[2])), None),
    "bomb-053": (lambda root: honest(root, a=redirect("/p"), p=redirect("/a")), None),
    "bomb-055": (lambda root: honest(root, a=redirect("/big.iso"), big_iso=Streamed(repeated(bytes(MIB), 1_000), {"content-type": "application/octet-stream"})), None),
    "bomb-056": (bomb_056, calendar),
    "bomb-059": (bomb_059, repeating),
    "bomb-060": (bomb_060, deeper),
    "bomb-063": (lambda root: entry(root, page("Home", "mailto:a@b.c", "javascript:void(0)", "tel:+123", "data:text/html,x", "/a", "/b")), None),
    "bomb-064": (lambda root: {f"{root}/sitemap.xml": (404, HTML, b"")}, lambda url: page("The only page", "/x", "/y/z", "/w?q=1")),
    "bomb-065": (lambda root: {}, lambda url: (200, HTML, b"<html></html>")),
    "bomb-066": (html_of(LONG), None),
    "bomb-067": (html_of(DEEP), None),
    "bomb-068": (html_of(BAIT), None),
    "bomb-070": (lambda root: honest(root, a=page("T" * MIB)), None),
    "link flood": (lambda root: {}, flood),
}
