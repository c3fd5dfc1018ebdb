"""The page reader: bounded, on one line, with URLs that are normal, and the same with and without its cache.

An input is header lines, an empty line, and the body.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Final

from runtime.crawl.charset import read_text
from runtime.crawl.page import is_page_type, read_page
from runtime.reading import PageReading
from runtime.settings import CrawlLimits
from runtime.urls import normalize
from tests.fuzz.sitemaps import body_of, cases
from tests.fuzz.target import Target, claim

URL: Final = "https://example.com/docs/page.html?q=1"
NOW: Final = datetime(2026, 6, 1, tzinfo=UTC)
LIMITS: Final = CrawlLimits(links_per_page=60)
TOKENS: Final = tuple(
    text.encode()
    for text in (
        "<html>", "</html>", "<head>", "</head>", "<body>", "</body>", "<title>", "</title>", "<svg><title>x</title></svg>", '<base href="',
        '<meta name=robots content="', "noindex", "nofollow", "unavailable_after: 25 Jun 2020 15:00:00 GMT", '<meta charset="',
        '<meta http-equiv=refresh content="0;url=', '<meta http-equiv=content-type content="text/html; charset=', "utf-16", "shift_jis",
        "windows-1251", "x-user-defined", "iso-2022-jp", '<meta name=description content="', "<meta property=og:title content='",
        '<link rel=canonical href="', "<link rel=alternate type=text/markdown href=", "<link rel=alternate hreflang=de href=", '">', "'>",
        '<a href="', "<a href=", "</a>", "<area href=/x>", " rel=nofollow", "<template>", "</template>", "<noscript>", "</noscript>",
        "<script>", "</script>", "<style>", "<textarea>", "<iframe src=", "<plaintext>", "<frameset>", "<math>", "<table>", "<p>", "</p>",
        "<h1>", "</h1>", "<main>", "<article>", "<nav>", "<br>", "<!--", "-->", "--!>", "<![CDATA[", "]]>", '<?xml encoding="', "?>", "&amp;",
        "&#0;", "&#xD800;", "&#x110000;", "&notit;", "&amp;lt;", "javascript:alert(1)", "data:text/html,x", "//other.example/", "?x=é", "..",
        "content-type: text/html; charset=", "x-robots-tag: ", "link: <", ">; rel=canonical", "refresh: 0; url=", "\n\n", "\r\n", ' class="',
        " hidden", "<input type=password>", "<div id=root></div>", "<x-y>", " a=b", "<div class=cookie-banner>", "<p hidden>", "<blockquote>", "<ul id=nav>", "日本語の段落はここに続きます。", "<div id=challenge-form>",
        "<header>", "<script src=/cdn-cgi/challenge-platform/h/b/orchestrate>", "cf-mitigated: challenge\n", "404 Not Found", "big5", "euc-jp",
        "<iframe src=/_Incapsula_Resource>", "<meta http-equiv=content-language content=de>", " lang=de", "hz-gb-2312",
        "This paragraph is long enough to describe the page well.",
    )
)  # fmt: skip


def seeds() -> list[bytes]:
    found = []
    for given in cases("page"):
        listed = [
            (name, one)
            for name, value in given.get("headers", {}).items()
            for one in ([value] if isinstance(value, str) else value)
        ]
        head = "\n".join(f"{name}: {value}" for name, value in listed)
        found.append(head.encode("latin-1") + b"\n\n" + body_of(given))
    return found


def read(data: bytes) -> object:
    head, _, body = data.partition(b"\n\n")
    lines = (line.partition(":") for line in head.decode("latin-1").splitlines())
    headers = [(name.strip().lower(), value.strip()) for name, _, value in lines]
    page = read_page(body, URL, headers, now=NOW, limits=LIMITS)
    _judge(page)
    cache: dict[str, str | None] = {}
    for _ in range(2):
        again = read_page(body, URL, headers, now=NOW, limits=LIMITS, href_cache=cache)
        claim(again == page, f"another reading is another: {again} {page}")
    return page, is_page_type(headers[0][1] if headers else "", body), read_text(body)[1]


def _judge(page: PageReading) -> None:
    texts = (page.title, page.h1, page.site_name, page.description, page.language)
    for text in texts:
        claim(" ".join(text.split()) == text, f"a text is not one line: {text!r}")
        text.encode()
    claim(len(page.title) <= 10_000 and len(page.description) <= 10_000, "a text is longer than its cap: ")
    claim(bool(page.description) == bool(page.description_source), "a description without a source: ")
    claim(
        len(page.links) <= LIMITS.links_per_page and len(set(page.links)) == len(page.links), "links are not bounded: "
    )
    claim(page.follow or not page.links, "links of a page that says nofollow: ")
    urls = [*page.links, *page.markdown_alternates, *(url for _, url in page.hreflangs)]
    urls += [url for url in (page.canonical, page.redirect) if url]
    for url in urls:
        claim("#" not in url and len(url) <= 2_048, f"a URL is out of bounds: {url!r}")
        claim(normalize(normalize(url)) == normalize(url), f"normalising twice changes: {url!r}")
    claim(page.visible_chars >= 0, "less than no text: ")
    json.dumps(page.links)


def _features(answer: object) -> list[str]:
    assert isinstance(answer, tuple)
    page, is_page, codec = answer
    flags = page.indexable, page.follow, page.script_shell, page.challenge, page.password_form, page.is_error_title
    counts = len(page.links).bit_length(), len(page.hreflangs), len(page.markdown_alternates)
    return [
        f"{flags}",
        f"{counts}",
        codec,
        f"{is_page} {page.description_source} {bool(page.title)} {bool(page.canonical)} {bool(page.redirect)}",
    ]


TARGETS: Final = (Target("page", seeds, TOKENS, read, _features),)
