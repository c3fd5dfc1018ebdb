"""The sample site as a whole: every path with its answer, and the edits a site owner would make.

It has no clock. An edit happens an hour after the newest date on the site unless told otherwise, so that a demo and a
test see the same site every time.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from hashlib import sha256
from html import escape
from typing import NamedTuple

from runtime.sample import render
from runtime.sample.content import SamplePage, sample_pages

SITEMAP_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
HTML, MARKDOWN, XML = "text/html; charset=utf-8", "text/markdown; charset=utf-8", "application/xml"

ROBOTS = "User-agent: *\nDisallow: /admin/\nDisallow: /search\n\nSitemap: {base_url}/sitemap.xml\n"
ASSETS = {
    "/assets/tidewater.css": ("text/css", b"body { font: 1rem/1.5 serif; max-width: 40rem; margin: auto }\n"),
    "/assets/app.js": ("text/javascript", b"document.documentElement.classList.add('js');\n"),
    "/downloads/tidewater-1.8.0.tar.gz": ("application/gzip", gzip.compress(b"tidewater\n" * 2_000, mtime=0)),
}


class Answer(NamedTuple):
    """What a path answers to GET."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class SampleSite:
    """The site's present state. `revision` grows with every edit."""

    def __init__(self) -> None:
        self.pages: dict[str, SamplePage] = {page.path: page for page in sample_pages()}
        self.revision = 0
        self._gone: dict[str, int] = {}

    def retitle(self, path: str, title: str, *, at: datetime | None = None) -> None:
        """Give a page another title. :raises KeyError: there is no such page."""
        self._edit(replace(self.pages[path], title=title, lastmod=self._stamp(at)))

    def rewrite(self, path: str, text: str, *, at: datetime | None = None) -> None:
        """Give a page another text. :raises KeyError: there is no such page."""
        self._edit(replace(self.pages[path], text=text, lastmod=self._stamp(at)))

    def add(self, path: str, title: str, *, description: str = "", text: str = "", at: datetime | None = None) -> None:
        """Put up a new page: it appears in the sitemap and in the index of its section."""
        page = SamplePage(path=path, title=title, description=description, text=text, lastmod=self._stamp(at))
        self._gone.pop(path, None)
        self._edit(page)

    def remove(self, path: str, *, status: int = 410) -> None:
        """Take a page down: it leaves the sitemap and its section's index, and answers 410 (or 404) from now on.

        :raises KeyError: there is no such page.
        """
        del self.pages[path]
        self._gone[path] = status
        self.revision += 1

    def answers(self, base_url: str) -> dict[str, Answer]:
        """Every path's answer when the site is reached at `base_url` (no trailing slash). Other paths are 404s."""
        answers = {path: self._gone_answer(status, base_url) for path, status in self._gone.items()}
        for page in self.pages.values():
            answers[page.path] = self._page(page, base_url)
            if page.twin and page.twin != "false":
                answers[render.twin_path(page)] = _answer(render.markdown(page, base_url), MARKDOWN, page.lastmod)
            elif page.twin:
                answers[render.twin_path(page)] = _answer(render.SHELL, HTML)
        for path, (content_type, body) in ASSETS.items():
            answers[path] = _answer(body, content_type)
        answers["/robots.txt"] = _answer(ROBOTS.format(base_url=base_url), "text/plain")
        return answers | self._sitemaps(base_url)

    def not_found(self, base_url: str) -> Answer:
        return self._gone_answer(404, base_url)

    def _edit(self, page: SamplePage) -> None:
        self.pages[page.path] = page
        self.revision += 1

    def _stamp(self, at: datetime | None) -> str:
        newest = max(_instant(page.lastmod) for page in self.pages.values() if page.lastmod)
        return (at or newest + timedelta(hours=1)).isoformat().replace("+00:00", "Z")

    def _page(self, page: SamplePage, base_url: str) -> Answer:
        if page.location:
            return Answer(page.status, {"Location": page.location, "Content-Length": "0"}, b"")
        extra = {"X-Robots-Tag": page.x_robots_tag} if page.x_robots_tag else {}
        if page.kind != "index":
            return _answer(render.html(page, base_url), HTML, page.lastmod, extra)
        # What an index lists changes without the page being edited, so only its ETag says which one it is.
        children = [each for each in self.pages.values() if each.section == page.section and _is_child(each)]
        return _answer(render.html(page, base_url, children), HTML, "", extra)

    def _gone_answer(self, status: int, base_url: str) -> Answer:
        body = render.html(render.NOT_FOUND, base_url).encode()
        return Answer(status, {"Content-Type": HTML, "Content-Length": str(len(body))}, body)

    def _sitemaps(self, base_url: str) -> dict[str, Answer]:
        """An index over a dated, a dated and compressed, and an undated sitemap."""
        listed = [page for page in self.pages.values() if page.listed]
        docs = [page for page in listed if page.lastmod and page.section != "blog"]
        blog = [page for page in listed if page.section == "blog"]
        more = [page for page in listed if page not in docs and page not in blog]
        index = "".join(
            f"<sitemap><loc>{base_url}{path}</loc>{f'<lastmod>{date}</lastmod>' if date else ''}</sitemap>"
            for path, date in (
                ("/sitemaps/docs.xml", _newest(docs)),
                ("/sitemaps/blog.xml.gz", _newest(blog)),
                ("/sitemaps/more.xml", ""),
            )
        )
        blog_xml = gzip.compress(_urlset(blog, base_url).encode(), mtime=0)
        return {
            "/sitemap.xml": _answer(_xml("sitemapindex", index), XML),
            "/sitemaps/docs.xml": _answer(_urlset(docs, base_url), XML, _newest(docs)),
            "/sitemaps/blog.xml.gz": _answer(blog_xml, "application/gzip", _newest(blog)),
            "/sitemaps/more.xml": _answer(_urlset(more, base_url), XML),
        }


def _is_child(page: SamplePage) -> bool:
    return page.kind != "index" and not page.location and not page.canonical


def _urlset(pages: Iterable[SamplePage], base_url: str) -> str:
    entries = "\n".join(
        f"<url><loc>{base_url}{escape(page.path)}</loc>"
        f"{f'<lastmod>{page.lastmod}</lastmod>' if page.lastmod else ''}</url>"
        for page in pages
    )
    return _xml("urlset", entries)


def _xml(root: str, content: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{SITEMAP_NAMESPACE}">\n{content}\n</{root}>\n'


def _answer(body: str | bytes, content_type: str, lastmod: str = "", extra: Mapping[str, str] | None = None) -> Answer:
    data = body.encode() if isinstance(body, str) else body
    headers = {
        "Content-Type": content_type,
        "Content-Length": str(len(data)),
        "ETag": f'"{sha256(data).hexdigest()[:20]}"',
        "Cache-Control": "no-cache",
        **(extra or {}),
    }
    if lastmod:
        headers["Last-Modified"] = format_datetime(_instant(lastmod).astimezone(UTC), usegmt=True)
    return Answer(200, headers, data)


def _newest(pages: Iterable[SamplePage]) -> str:
    return max((page.lastmod for page in pages if page.lastmod), key=_instant, default="")


def _instant(lastmod: str) -> datetime:
    instant = datetime.fromisoformat(lastmod)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
