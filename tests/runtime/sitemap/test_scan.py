"""The short way through a plain sitemap agrees with the exact reader, or gives no answer."""

from __future__ import annotations

import random
from collections.abc import Iterator

from runtime.settings import CrawlLimits
from runtime.sitemap.scan import scan
from runtime.sitemap.xml import read_xml

URL = "https://example.com/docs/sitemap.xml"
LIMITS = CrawlLimits(sitemap_urls=40)

LOCATIONS = (
    *(
        "https://example.com/",
        "https://example.com/a/b-c_d.html",
        "http://www.example.com/x/",
        "https://example.com/a?b=1",
    ),
    *(
        "https://example.com/?a=1&amp;b=2",
        "https://example.com/a%20b",
        "https://example.com/a/../b",
        "/relative",
        "x.html",
    ),
    *("https://EXAMPLE.com/A", "https://example.com:443/p", "https://example.com:8443/p", "https://1.2.3.4/x", ""),
    *("https://example.com", "https://xn--bcher-kva.example/", "https://example.com//a", "https://example.com/.well/x"),
    *(
        "https://exa_mple.com/",
        "https://example..com/",
        "https://-example.com/",
        "ftp://example.com/",
        "www.example.com/y",
    ),
    *("https://example.com/" + "long/" * 60, "https://example.com/a;jsessionid=ABC", "https://example.com/a#frag"),
    *(
        "https://example.com/.",
        "https://example.com/a/..",
        "https://example.com/v1.2/b.c-d",
        "https://example.com/a..b",
    ),
    *(f"https://example.com/{'x' * n}" for n in (250, 1_499, 1_500, 1_501, 2_027, 2_028, 2_029)),
    *("https://" + "a." * n + "example/" + "y" * 1_500 + ".html" for n in (90, 118, 123, 130)),
    *("https://example.com/" + ".".join(["z" * 59] * n) for n in (4, 5, 6, 40)),
    *("http:///x", "https://a/", "https://example.com/a.", "https://example.com/...", "https://example.com/a//b//"),
    *("https://example.com:080/p", "http://example.com:80/p", "https://example.com:/p", "https://a:b:1/p"),
    *("https://example.com/%E4%BD%A0", "https://example.com/%2e%2e/x", "https://example.com/?sess=1"),
    *("https://example.com/it's", 'https://example.com/"q"', "https://u:p@example.com/", "https://example.com/a b"),
)
LASTMODS = (
    *("2024-05-01", "2024-05-01T10:00:00Z", "2024-05-01T10:00:00+05:00", "2024-05-01T10:00:00+00:00", "", " ", "soon"),
    *("2024-05-01\n", "\r\n 2024-05-01\r\n", "2024-05-01 10:00", "2024-05-01\r\n10:00", "&#50;024", "2024&amp;"),
)
ODD = (
    *(
        "<![CDATA[x]]>",
        "<!-- c -->",
        "<!---->",
        "<!-- - -->",
        "&#47;",
        "&bogus;",
        "&",
        "é",
        "\ufeff",
        "\x0b",
        "\x7f",
        "]]>",
    ),
    *(
        "<",
        ">",
        '"',
        "'",
        "\t",
        "\r",
        "\n",
        " ",
        "\r\n",
        "<url>",
        "</url>",
        "<loc>",
        "</loc>",
        "</urlset>",
        "<lastmod/>",
    ),
    *(
        "<image:loc>https://example.com/i</image:loc>",
        "<x><loc>/y</loc></x>",
        "<priority>0.5</priority>",
        "<URL>",
        "<?pi x?>",
    ),
    *(
        "<!DOCTYPE x>",
        "<sitemap><loc>/s.xml</loc></sitemap>",
        "<url/>",
        "<url></url>",
        '<loc a="1">',
        "<changefreq>x</priority>",
    ),
)
HEADS = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
    *(
        "<urlset>",
        '<urlset a="1" a="2">',
        '<urlset a="1"b="2">',
        "<urlset a='1'>",
        '<urlset a="<">',
        "<s:urlset>",
        "<urlset >",
    ),
    *(
        '<?xml version="1.1"?><urlset>',
        '<?xml version="1.0" encoding="latin-1"?><urlset>',
        "<!-- c --><urlset>",
        "<sitemapindex>",
    ),
    *(
        '<?xml version="1.0"?><?xml-stylesheet href="x"?><urlset>',
        '\n<?xml version="1.0"?><urlset>',
        "<urlset/>",
        "<html>",
    ),
    '<urlset xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns="x" xsi:y="z">',
)
SPACES = ("", "", "", "\n", "\n  ", "\r\n\t", " ")


def entry(rng: random.Random) -> str:
    def space() -> str:
        return rng.choice(SPACES)

    parts = [f"<loc>{space()}{rng.choice(LOCATIONS)}{space()}</loc>"]
    if rng.random() < 0.7:
        parts.append(f"<lastmod>{rng.choice(LASTMODS)}</lastmod>")
    parts += rng.sample(["<changefreq>weekly</changefreq>", "<priority>0.8</priority>"], rng.randrange(3))
    if rng.random() < 0.1:
        parts.append(rng.choice(parts))
    if rng.random() < 0.3:
        rng.shuffle(parts)
    return f"<url>{space()}" + "".join(part + space() for part in parts) + "</url>" + space()


def hostile(rng: random.Random) -> bytes:
    """A sitemap with at most a few things wrong, anywhere."""
    head = HEADS[0] if rng.random() < 0.7 else rng.choice(HEADS)
    text = (
        head
        + rng.choice(SPACES)
        + "".join(entry(rng) for _ in range(rng.randrange(5)))
        + "</urlset>"
        + rng.choice(SPACES)
    )
    for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
        at = rng.randrange(len(text) + 1)
        cut = at + rng.choice((0, 0, 1, 5, 40))
        text = text[:at] + (rng.choice(ODD) if rng.random() < 0.8 else "") + text[cut:]
    if rng.random() < 0.1:
        text = text[: rng.randrange(len(text) + 1)]
    if rng.random() < 0.05:
        text += rng.choice((text, "<!-- end -->", "junk", "<script/>", "\x00", " "))
    body = text.encode("utf-8")
    return body if rng.random() < 0.98 else text.encode("utf-16-le", "replace")


def pieces(body: bytes, size: int) -> Iterator[bytes]:
    return (body[at : at + size] for at in range(0, len(body), size))


def test_20_000_hostile_documents_are_read_alike_or_left_to_the_exact_reader() -> None:
    """Whole and in pieces of 7, 64 and 500 bytes: an answer of the short way is the exact reader's answer."""
    rng = random.Random(20261202)
    answered = 0
    for number in range(20_000):
        body = hostile(rng)
        size = (7, 64, 500)[number % 3]
        answers = [
            scan([body], URL, LIMITS.sitemap_urls),
            scan(pieces(body, size), URL, LIMITS.sitemap_urls, chunk=size),
            scan(pieces(body, size), URL, LIMITS.sitemap_urls),
        ]
        for answer in answers:
            if answer is None:
                continue
            answered += 1
            exact = read_xml([body], URL, LIMITS)
            assert answer == exact.collected.entries, body
            assert (exact.kind, exact.complete, exact.problem, exact.collected.children) == ("urlset", True, "", []), (
                body
            )
        assert len({answer is None for answer in answers}) == 1, body
    assert answered > 5_000, "the test must exercise the short way, not only its refusals"


def test_a_document_of_too_many_entries_is_left_to_the_exact_reader() -> None:
    """The cap, and what is said about it, are the exact reader's."""
    body = f"<urlset>{'<url><loc>https://example.com/a</loc></url>' * 41}</urlset>".encode()
    assert scan([body], URL, 40) is None
    assert scan([body], URL, 41) is not None


def test_an_entry_without_end_does_not_make_the_scan_hold_everything() -> None:
    """What does not become an entry within its longest length ends the scan."""
    endless = (b"<urlset><url><loc>https://example.com/" if not n else b"a" * 9_000 for n in range(1_000))
    assert scan(endless, URL, 40) is None
    assert next(endless, None) is not None, "the rest was not even asked for"
