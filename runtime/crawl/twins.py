"""Markdown twins: the `.md` version of a page, listed only when it was fetched and really is Markdown.

The proposal (llmstxt.org) puts the twin of `/a.html` at `/a.html.md` or `/a.md`, that of `/dir/` at
`/dir/index.html.md` or `/dir/index.md`; a page may also name it (`rel=alternate type=text/markdown`), which is asked
first. Most sites have none, so an even sample of pages is probed and the rest only in the forms that were found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

from runtime.crawl.rules import Rules
from runtime.errors import FetchFailed, HopRefused, Refused
from runtime.ports import Web
from runtime.reading import Page, Response

SAMPLE = 16
"""Pages that are probed before a site is taken to have no twins."""

PROBE_BYTES = 8_192
MARKDOWN_TYPES = frozenset({"text/markdown", "text/x-markdown", "text/plain", "application/octet-stream"})
FORMS = ("index.md", "index.html.md", ".md", ".html.md")


class _Unknown(Exception):
    """No answer this time: the previous value stands (a time-out must not change the file)."""


async def with_twins(
    web: Web,
    pages: Sequence[Page],
    rules: Rules,
    *,
    previous: Mapping[str, str],
    settled: frozenset[str] = frozenset(),
    concurrency: int = 8,
) -> tuple[list[Page], int]:
    """The pages with their verified twins, and how many probes that took.

    :param previous: page URL -> twin of the last run, kept when a probe gives no answer.
    :param settled: pages that did not change since; what was found of them then still holds.
    """
    probes = _Probes(web, rules, concurrency)
    found = {url: twin for url, twin in previous.items() if url in settled}
    asked = [page for page in pages if page.url not in settled]
    named = [page for page in asked if page.alternates]
    unnamed = [page for page in asked if not page.alternates]
    # The sample is one of the whole site: a run that recalls most pages probes no more than a full crawl would.
    whole = [page for page in pages if not page.alternates]
    step = max(1, len(whole) // SAMPLE)
    sample = [page for page in whole[::step][:SAMPLE] if page.url not in settled]
    known = [page for page in unnamed if page.url in previous]
    await _find(probes, [*named, *sample], FORMS, previous, found)
    forms = tuple(form for form in FORMS if form in {_form(url, twin) for url, twin in found.items()})
    done = {page.url for page in [*named, *sample]}
    if forms:
        await _find(probes, [page for page in unnamed if page.url not in done], forms, previous, found)
    else:
        await _find(probes, [page for page in known if page.url not in done], FORMS, previous, found)
    return [replace(page, twin=twin) if (twin := found.get(page.url)) else page for page in pages], probes.sent


async def _find(
    probes: _Probes,
    pages: Sequence[Page],
    forms: Sequence[str],
    previous: Mapping[str, str],
    found: dict[str, str],
) -> None:
    async def one(page: Page) -> None:
        try:
            for candidate in [*page.alternates, *candidates(page.url, forms)]:
                if await probes.is_markdown(candidate):
                    found[page.url] = candidate
                    return
        except _Unknown:
            if page.url in previous:
                found[page.url] = previous[page.url]

    await asyncio.gather(*(one(page) for page in pages))


class _Probes:
    def __init__(self, web: Web, rules: Rules, concurrency: int) -> None:
        self._web, self._rules = web, rules
        self._gate = asyncio.Semaphore(concurrency)
        self.sent = 0

    async def is_markdown(self, url: str) -> bool:
        async with self._gate:
            self.sent += 1
            try:
                response = await self._web.get(
                    url, max_bytes=PROBE_BYTES, accept="text/markdown,text/plain;q=0.9", may_visit=self._rules.may_visit
                )
            except (HopRefused, Refused):
                return False
            except FetchFailed as failure:
                raise _Unknown from failure
        if response.status == 429 or response.status >= 500:
            raise _Unknown
        return is_markdown(response, url)


def is_markdown(response: Response, asked: str) -> bool:
    """Whether an answer is the Markdown that was asked for: not a login page, not an HTML shell, not empty (T3, X9)."""
    if response.status != 200 or response.content_type not in MARKDOWN_TYPES:
        return False
    if urlsplit(response.url).path != urlsplit(asked).path:
        return False
    head = response.body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return bool(head) and not head.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")) and b"\x00" not in head


def candidates(url: str, forms: Sequence[str] = FORMS) -> list[str]:
    """Where a page's twin may be, in the order asked: never `/dir/.md`, never `.md.md` (U3, U6, U8)."""
    parts = urlsplit(url)
    path = parts.path or "/"
    if path.endswith(".md"):
        return []
    if path.endswith("/"):
        paths = [path + form for form in forms if form.startswith("index")]
    elif path.endswith((".html", ".htm")):
        stem = path.rpartition(".")[0]
        by_form = {".md": stem + ".md", ".html.md": path + ".md"}
        paths = [by_form[form] for form in forms if form in by_form]
    else:
        paths = [path + form for form in forms if form == ".md"]
    return [urlunsplit((parts.scheme, parts.netloc, candidate, "", "")) for candidate in paths]


def _form(url: str, twin: str) -> str:
    """The form of `FORMS` by which a twin was found; empty when the page named it in a way of its own."""
    return next((form for form in FORMS if twin in candidates(url, (form,))), "")
