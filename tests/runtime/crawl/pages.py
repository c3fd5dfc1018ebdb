"""Pages in words: small builders that the page tests share."""

from __future__ import annotations

from datetime import UTC, datetime

from runtime.crawl.page import read_page
from runtime.reading import PageReading

URL = "https://example.com/dir/page.html"
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
PROSE = "Widgets are small parts that fit together, and this paragraph says so in a whole sentence."


def read(
    markup: str | bytes, *headers: tuple[str, str], url: str = URL, content_type: str = "text/html; charset=utf-8"
) -> PageReading:
    """Read a page made of this markup, at `URL` and `NOW`."""
    body = markup.encode() if isinstance(markup, str) else markup
    return read_page(body, url, (("content-type", content_type), *headers), now=NOW)


def html(head: str = "", body: str = "") -> str:
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"
