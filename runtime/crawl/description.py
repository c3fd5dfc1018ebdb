"""What a page says it is about: meta, then Open Graph, then Twitter, then its first good paragraph.

A placeholder, a text that repeats the title, or a banner is not a description; better none than one of those.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Final

from lxml.etree import _Element

from runtime.crawl.text import one_line, text_of

MAX_CHARS: Final = 10_000
"""Longer texts are not descriptions; the document cuts at its own, much smaller, length."""

MIN_PARAGRAPH: Final = 40
MIN_PARAGRAPH_CJK: Final = 20
MAX_PARAGRAPHS: Final = 60
MAX_LINK_SHARE: Final = 0.5

SOURCES: Final = (("meta", "description"), ("og", "og:description"), ("twitter", "twitter:description"))

_PLACEHOLDER: Final = re.compile(
    r"(?:no|add a?|enter a?|insert|your|site|page|default|meta)? ?descriptions?"
    r"(?: (?:available|provided|found|here|goes here))?"
    r"|undefined|null|none|nan|n/?a|tbd|todo|\[object object\]|lorem ipsum\b.*|just another wordpress site"
    r"|(?:sorry, )?(?:please |you (?:need|have) to )?(?:enable|turn on|activate) java ?script\b.{0,60}"
    r"|this (?:app|site|website|page) requires java ?script\b.{0,60}|loading|please wait",
    re.IGNORECASE,
)
_BANNER: Final = re.compile(
    r"\bcookies?\b.{0,80}\b(?:consent|accept|agree|experience|preferences|settings|policy)\b"
    r"|\b(?:uses?|using|accept|allow|our) (?:all )?cookies\b"
    r"|\bjava ?script\b.{0,40}\b(?:enabled?|disabled|required|turned|supported|switched)\b"
    r"|\b(?:enable|requires?|activate|turn on) java ?script\b"
    r"|\byour browser\b.{0,60}\b(?:support|outdated|old|upgrade)"
    r"|\ball rights reserved\b|^(?:©|copyright\b)|^skip to\b|^(?:last|page) (?:updated|modified)\b"
    r"|^(?:posted|published|written|edited|updated) (?:on|by|in)\b|^by [A-Z][\w.]+ [A-Z][\w.]+$"
    r"|^(?:was this|did this|is this) (?:page|article|doc\w*) (?:help|answer)|^edit this page\b|^table of contents\b"
    r"|^this section contains\b"
    r"|^you(?:'re| are) (?:viewing|reading|looking at|browsing)\b.{0,60}\b(?:version|documentation|docs)\b"
    r"|^(?:deprecated|new|changed|added) (?:since|in) (?:version )?\d|^(?:sign|log) ?(?:in|up)\b|^subscribe\b",
    re.IGNORECASE,
)
_ASIDE_TAGS: Final = frozenset(
    {"nav", "footer", "aside", "form", "dialog", "figure", "figcaption", "blockquote", "button", "details", "address"}
    | {"menu", "table"}
)
_ASIDE_WORDS: Final = frozenset(
    {"cookie", "cookies", "consent", "gdpr", "banner", "newsletter", "subscribe", "sidebar", "breadcrumb", "toc"}
    | {"breadcrumbs", "menu", "nav", "navbar", "navigation", "footer", "promo", "modal", "popup", "admonition"}
    | {"alert", "warning", "notice", "caution", "callout", "announcement", "skip", "byline", "caption", "comment"}
    | {"comments", "share", "social", "advert", "hidden"}
)
"""Words of class and id names of what is not running text."""

_WORDS: Final = re.compile(r"[^a-z]+")
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NOT_WORDS: Final = re.compile(r"[\W_]+")


def describe(metas: Mapping[str, str], body: _Element | None, names: Iterable[str]) -> tuple[str, str]:
    """(description, source), both empty if the page has none worth showing.

    :param metas: content of the named `meta` elements, names in lower case.
    :param body: the page without scripts, styles and noscript; only looked at when no `meta` will do.
    :param names: title, heading and site name: what a description must not merely repeat.
    """
    known = {_key(name) for name in set(names) if name}
    for source, name in SOURCES:
        text = one_line(metas.get(name, "")[:MAX_CHARS])
        if text and not _repeats(text, known) and _PLACEHOLDER.fullmatch(text.strip(" .!…")) is None:
            return text, source
    paragraph = first_good_paragraph(body, known) if body is not None else ""
    return paragraph, "paragraph" if paragraph else ""


def first_good_paragraph(body: _Element, known: Collection[str] = ()) -> str:
    """The first paragraph that reads like one, of the main content if the page marks it, or ""."""
    for place in _places(body):
        for paragraph in islice(place.iter("p"), MAX_PARAGRAPHS):
            text = text_of(paragraph)
            if _is_good(text, paragraph) and not _repeats(text, known) and not _is_aside(paragraph, place):
                return text[:MAX_CHARS]
    return ""


def _places(body: _Element) -> list[_Element]:
    main = next(body.iter("main"), None)
    if main is None:
        main = next((node for node in islice(body.iter("div", "section"), 500) if node.get("role") == "main"), None)
    if main is None:
        main = next(body.iter("article"), None)
    return [body] if main is None else [main, body]


def _is_good(text: str, paragraph: _Element) -> bool:
    if len(text) < (MIN_PARAGRAPH_CJK if _CJK.search(text) else MIN_PARAGRAPH):
        return False
    if text.endswith((":", "：")) or _BANNER.search(text[:400]) or _PLACEHOLDER.fullmatch(text.strip(" .!…")):
        return False
    letters = sum(character.isalpha() or character.isspace() for character in text[:400])
    if letters < 0.7 * len(text[:400]):
        return False
    linked = sum(len(text_of(link)) for link in islice(paragraph.iter("a"), 50))
    return linked <= MAX_LINK_SHARE * len(text)


def _is_aside(paragraph: _Element, place: _Element) -> bool:
    """Whether it stands in navigation, a banner, a form, a note: anywhere but the running text of `place`."""
    node: _Element | None = paragraph
    while node is not None and node is not place:
        if node.tag in _ASIDE_TAGS or (node.tag == "header" and place.tag == "body"):
            return True
        names = f"{node.get('class', '')} {node.get('id', '')}"
        if names != " " and not _ASIDE_WORDS.isdisjoint(_WORDS.split(names.lower())):
            return True
        if node.get("hidden") is not None or node.get("aria-hidden") == "true":
            return True
        node = node.getparent()
    return False


def _repeats(text: str, known: Collection[str]) -> bool:
    """Whether it is one of the known texts, which are few; most are told apart by how they begin."""
    start = _key(text[:20])
    return any(name.startswith(start) and name == _key(text) for name in known)


def _key(text: str) -> str:
    return _NOT_WORDS.sub("", text).casefold()
