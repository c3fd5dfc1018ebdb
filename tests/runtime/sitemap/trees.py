"""Children of huge sitemap trees, usual and hostile, each made of the site and a number."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

FULL: Final = 49 << 20
OPEN: Final = b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'


def entries(base: str, child: int, count: int, path: str, more: str = "") -> bytes:
    rows = (
        f"<url>\n<loc>{base}/{path}/{child}/page-{at:05}</loc>\n"
        f"<lastmod>2026-{1 + at % 4:02}-{1 + at % 28:02}T{at % 24:02}:{at % 60:02}:00+00:00</lastmod>\n{more}</url>\n"
        for at in range(count)
    )
    return OPEN + "".join(rows).encode() + b"</urlset>\n"


def padded(base: str, child: int) -> bytes:
    """49 MiB, most of which is hreflang alternates."""
    link = f'<xhtml:link rel="alternate" hreflang="de" href="{base}/de/of-a-page"/>\n'
    return entries(base, child, 50_000, "usual-path", link * ((FULL // 50_000 - 150) // len(link)))


def plain_padded(base: str, child: int) -> bytes:
    """49 MiB of entries in the plain form, with white space between them."""
    return entries(base, child, 50_000, "usual-path", " " * (FULL // 50_000 - 150))


def long_urls(base: str, child: int) -> bytes:
    """49 MiB of addresses."""
    return entries(base, child, 50_000, "long/" * ((FULL // 50_000 - 150) // 5))


def noise(base: str, child: int) -> bytes:
    """49 MiB of addresses that nothing can pack."""
    chance = random.Random(child)
    rows = (f"<url><loc>{base}/{chance.randbytes(490).hex()}</loc></url>\n" for _ in range(FULL // 1_040))
    return OPEN + "".join(rows).encode() + b"</urlset>\n"


def one_comment(base: str, child: int) -> bytes:
    return OPEN + f"<url><loc>{base}/{child}</loc></url><!-- ".encode() + b"x" * FULL + b" --></urlset>"


def lastmods(base: str, child: int) -> bytes:
    """No two lastmods alike, and none a date."""
    rows = (f"<url><loc>{base}/{at}</loc><lastmod>{at} {'x' * 900}</lastmod></url>\n" for at in range(50_000))
    return OPEN + "".join(rows).encode() + b"</urlset>\n"


def damaged(base: str, child: int) -> bytes:
    """As large as a document may be to be repaired: Chinese and bare ampersands."""
    row = f"<url><loc>{base}/{child}/{'页面' * 40}?a=1&b=2</loc></url>\n"
    return OPEN + (row * (9_900_000 // len(row))).encode() + b"</urlset>\n"


def wide(base: str, child: int) -> bytes:
    return b"\xff\xfe" + entries(base, child, 50_000, "wide/" * 80).decode().encode("utf-16-le")[:FULL]


def lines(base: str, child: int) -> bytes:
    return "".join(f"{base}/{'text/' * 190}{child}/{at}\n" for at in range(50_000)).encode()


def usual(base: str, child: int) -> bytes:
    """50,000 URLs as they are: 11 MB."""
    return entries(base, child, 50_000, "library/of-some-documents/chapter", "<changefreq>weekly</changefreq>\n" * 2)


def index(base: str, names: list[str]) -> bytes:
    rows = "".join(f"<sitemap><loc>{base}/{name}</loc></sitemap>\n" for name in names)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</sitemapindex>'.encode()


def many_children(base: str, child: int) -> bytes:
    return index(base, [f"{child}/{'deep/' * 390}{at}" for at in range(500)])


Make = Callable[[str, int], bytes]
TREES: Final[dict[str, tuple[Make, int, str]]] = {
    "usual, 20 gzip files": (usual, 20, "file"),
    "usual, 20 coded": (usual, 20, "coded"),
    "alternates, 50 gzip files": (padded, 50, "file"),
    "white space, 50 gzip files": (plain_padded, 50, "file"),
    "white space, 50 coded": (plain_padded, 50, "coded"),
    "white space, 50 plain": (plain_padded, 50, "plain"),
    "addresses, 50 gzip files": (long_urls, 50, "file"),
    "addresses, 50 coded": (long_urls, 50, "coded"),
    "addresses, 50 plain": (long_urls, 50, "plain"),
    "noise, 50 plain": (noise, 50, "plain"),
    "a comment, 50 coded": (one_comment, 50, "coded"),
    "lastmods, 50 coded": (lastmods, 50, "coded"),
    "damaged, 50 coded": (damaged, 50, "coded"),
    "UTF-16, 50 coded": (wide, 50, "coded"),
    "lines, 50 gzip files": (lines, 50, "file"),
    "indexes of indexes": (many_children, 500, "coded"),
    "50,000 children": (usual, 50_000, "none"),
    "an index of itself": (usual, 0, "none"),
}
"""What a child is, how many the index names, and whether it is packed: as a file, for the transfer, or not at all."""
