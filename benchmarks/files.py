"""The files that the readers are measured on: made once, the same bytes every time."""

from __future__ import annotations

import gzip
from pathlib import Path

from benchmarks.site import DocSite

URLS = 50_000


def sitemap(child: int, urls: int = URLS) -> bytes:
    """A sitemap of 50,000 URLs, about 11 MB, as a generator writes it."""
    rows = "".join(
        f"<url>\n<loc>https://docs.example.com/library/volume-{child:02}/chapter-{at % 500:03}/page-{at:05}/"
        f"reference-of-the-long-name.html</loc>\n<lastmod>2026-{1 + at % 11:02}-{1 + at % 28:02}T{at % 24:02}:"
        f"{at % 60:02}:00+00:00</lastmod>\n<changefreq>weekly</changefreq><priority>0.5</priority></url>\n"
        for at in range(urls)
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    return f"{head}{rows}</urlset>\n".encode()


def sitemaps(folder: Path, children: int) -> tuple[Path, list[Path]]:
    """One plain sitemap, and the children of an index, packed."""
    one = folder / "sitemap.xml"
    one.write_bytes(sitemap(0))
    packed = []
    for child in range(children):
        packed.append(folder / f"child-{child:02}.xml.gz")
        packed[-1].write_bytes(gzip.compress(sitemap(child), 6, mtime=0))
    return one, packed


def pages(folder: Path, count: int) -> Path:
    site = DocSite("http://127.0.0.1:8000")
    for number in range(1, 1 + count):
        (folder / f"{number:04}.html").write_bytes(site.page(number))
    return folder
