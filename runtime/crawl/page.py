"""One HTML page, read: what it is called, what it says it is about, where it links, whether it may be listed.

A pure function of the bytes and headers. The tree is libxml2's (from 2.14 on it tokenises as the HTML Standard says);
the encoding is decided by `charset`, never by the parser. No bytes make it raise, and none make it slow: links,
paragraphs and attributes are bounded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from lxml import etree
from lxml.etree import _Element

from runtime.crawl.description import describe
from runtime.crawl.elements import UNSEEN, Elements, gather
from runtime.crawl.indexing import read_directives, read_robots_header
from runtime.crawl.links import Reference, read_link_header, refresh_target
from runtime.crawl.markup import is_page_type, parse_html
from runtime.crawl.obstacles import is_challenge, is_error_title, is_script_shell
from runtime.crawl.targets import Targets
from runtime.crawl.text import one_line, text_of, visible_chars
from runtime.models import ROBOTS_TOKEN
from runtime.reading import PageReading
from runtime.settings import CrawlLimits
from runtime.url_syntax import document_base, resolve

__all__ = ["is_page_type", "read_page"]

MARKDOWN_TYPES: Final = frozenset({"text/markdown", "text/x-markdown"})

_PERMALINKS: Final = "¶#§🔗"
_LIMITS: Final = CrawlLimits()


def read_page(
    body: bytes,
    url: str,
    headers: Sequence[tuple[str, str]],
    *,
    agent: str = ROBOTS_TOKEN,
    now: datetime | None = None,
    limits: CrawlLimits = _LIMITS,
    href_cache: dict[str, str | None] | None = None,
) -> PageReading:
    """Read the page that `url`, the final URL of the request, answered with. Never raises.

    :param headers: names in lower case, values as Latin-1 text, repeated lines kept apart.
    :param agent: the name that robots meta tags and X-Robots-Tag headers call us by.
    :param now: the clock for `unavailable_after`, which is not judged without one.
    :param href_cache: a dict the pages of one site share, so that each href is resolved once a site.
    """
    values = _grouped(headers)
    root, codec = parse_html(body, values.get("content-type", [""])[0])
    seen = gather(root, agent) if root is not None else Elements()
    base = document_base(url, seen.base)
    encoding = codec if not codec.startswith(("utf", "replacement")) else "utf-8"
    directives = read_robots_header(values.get("x-robots-tag", ()), agent, now)
    for tag in seen.robots:
        directives = directives.also(read_directives(tag, now))
    targets = Targets(base, encoding=encoding, cache=href_cache)
    links = targets.all(seen.hrefs, limits.links_per_page)

    content = _content(root, seen)
    visible = visible_chars(content) if content is not None else 0
    h1 = next((text for text in map(_heading, seen.headings) if text), "")
    title = seen.title or one_line(seen.metas.get("og:title", "")) or h1
    site_name = one_line(seen.metas.get("og:site_name") or seen.metas.get("application-name") or "")
    description, source = describe(seen.metas, content, (title, h1, site_name))
    references = [(base, reference) for reference in seen.references]
    references += [(url, reference) for reference in read_link_header(values.get("link", ()))]
    canonical = _canonical(references, href_cache or {})
    return PageReading(
        title=title,
        h1=title if h1 == title else h1,  # equal texts are kept once: a site has thousands of them
        site_name=site_name,
        description=description,
        description_source=source,
        links=links if directives.follow else (),
        indexable=directives.indexable,
        follow=directives.follow,
        canonical=url if canonical == url else canonical,
        redirect=_redirect([*values.get("refresh", ()), *seen.refreshes], url, base, encoding),
        markdown_alternates=_markdown(references),
        hreflangs=_hreflangs(references),
        language=_language(root, seen, values),
        visible_chars=visible,
        script_shell=is_script_shell(content, len(seen.scripts), seen.noscripts, visible, len(links)),
        challenge=is_challenge(headers, content, seen.scripts, seen.frames, visible),
        password_form=seen.password,
        is_error_title=is_error_title(title, h1, content),
    )


def _grouped(headers: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value)
    return values


def _content(root: _Element | None, seen: Elements) -> _Element | None:
    """The body, with everything emptied that is not running text."""
    if root is None or seen.whole:
        for element in reversed(seen.unseen):  # from within: what is taken out is walked through once, not once a level
            element.clear(keep_tail=True)  # type: ignore[call-arg] # the stubs are older than lxml 4.4
        return seen.body
    body = next(root.iter("body"), None)
    if body is not None:
        etree.strip_elements(body, *UNSEEN, with_tail=False)
    return body


def _heading(element: _Element) -> str:
    """The text of a heading without its permalink; of a logo, the alternative text."""
    text = text_of(element).rstrip(_PERMALINKS).rstrip()
    return text or next((alt for image in element.iter("img") if (alt := one_line(image.get("alt") or ""))), "")


def _canonical(references: Iterable[tuple[str, Reference]], known: Mapping[str, str | None]) -> str | None:
    """The one URL that all `rel=canonical` name (RFC 6596), or None where they disagree.

    :param known: the URLs that absolute hrefs resolve to, as far as the pages before linked there.
    """
    named = {
        target
        for base, reference in references
        if "canonical" in reference.rel
        and (target := known.get(reference.href) or resolve(base, reference.href)) is not None
    }
    return named.pop() if len(named) == 1 else None


def _markdown(references: Iterable[tuple[str, Reference]]) -> tuple[str, ...]:
    found = (
        resolve(base, reference.href)
        for base, reference in references
        if "alternate" in reference.rel and reference.type in MARKDOWN_TYPES
    )
    return tuple(dict.fromkeys(url for url in found if url is not None))


def _hreflangs(references: Iterable[tuple[str, Reference]]) -> tuple[tuple[str, str], ...]:
    found = (
        (reference.hreflang.strip().lower(), resolve(base, reference.href))
        for base, reference in references
        if "alternate" in reference.rel and reference.hreflang.strip() and reference.type not in MARKDOWN_TYPES
    )
    return tuple(dict.fromkeys((language, url) for language, url in found if url is not None))


def _redirect(refreshes: Iterable[str], url: str, base: str, encoding: str) -> str | None:
    """Where the first refresh leads; None for a reload of the page itself."""
    for content in refreshes:
        written = refresh_target(content)
        if written is not None:
            target = resolve(base, written, encoding=encoding) if written else None
            return None if target == resolve(url, "") else target
    return None


def _language(root: _Element | None, seen: Elements, values: dict[str, list[str]]) -> str:
    """The language tag of the page, as written: `lang` of the root element, else Content-Language if it names one."""
    lang = (root.get("lang") or root.get("xml:lang") or "") if root is not None else ""
    if not lang.strip():
        lang = seen.metas.get("content-language") or values.get("content-language", [""])[0]
    return sys.intern(lang.strip()) if "," not in lang else ""
