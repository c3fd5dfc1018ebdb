"""The elements of a page that matter to a crawl, gathered in one pass over the tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from lxml.etree import _Element

from runtime.crawl.links import Reference, media_type, rel_tokens
from runtime.crawl.text import one_line, text_of

MAX_ELEMENTS: Final = 30_000
MAX_TITLE: Final = 2_000
MAX_REFERENCES: Final = 500
RELATIONS: Final = frozenset({"canonical", "alternate"})
MAX_HEADINGS: Final = 3
MAX_TITLES: Final = 100

UNSEEN: Final = frozenset(
    {"script", "style", "noscript", "svg", "math", "iframe", "object", "textarea", "select", "title", "button"}
)
"""Elements whose content is not part of the running text."""

_SCRIPT_TYPES: Final = frozenset(
    {"", "module", "text/javascript", "application/javascript", "text/babel", "application/x-javascript", "text/jsx"}
)


@dataclass(slots=True)
class Elements:
    """What was found, in document order and as written. `references` are the `<link>`s of the head that say where the
    page is, or another form of it.
    """

    robots_names: tuple[str, ...] = ()
    title: str = ""
    titles: int = 0
    metas: dict[str, str] = field(default_factory=dict)
    robots: list[str] = field(default_factory=list)
    refreshes: list[str] = field(default_factory=list)
    base: str | None = None
    references: list[Reference] = field(default_factory=list)
    hrefs: list[str] = field(default_factory=list)
    headings: list[_Element] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    noscripts: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    password: bool = False
    body: _Element | None = None
    unseen: list[_Element] = field(default_factory=list)
    """Elements of the body whose content is no running text."""
    whole: bool = True
    """Whether all elements were looked at: no more than 30,000."""


def gather(root: _Element, agent: str) -> Elements:
    """Read the tree: its hyperlinks, then everything else. `agent` is our name in `<meta name>` beside `robots`."""
    found = Elements(robots_names=("robots", agent.lower()), hrefs=_hyperlinks(root))
    elements = root.iter(*_LOOKED_AT)
    for element in islice(elements, MAX_ELEMENTS):
        tag = str(element.tag)
        if tag in UNSEEN and found.body is not None:
            found.unseen.append(element)
        reader = _READERS.get(tag)
        if reader is not None:
            reader(element, found)
    found.whole = next(elements, None) is None
    return found


def _hyperlinks(root: _Element) -> list[str]:
    """In one expression: most of what a page has of interest is links, and to read them a tenth of its cost."""
    return [
        href
        for element in islice(root.iter("a", "area"), MAX_ELEMENTS)
        if (href := element.get("href")) is not None
        and ((rel := element.get("rel")) is None or "nofollow" not in rel_tokens(rel))
    ]


def _title(element: _Element, found: Elements) -> None:
    found.titles += 1
    if not found.title and found.titles <= MAX_TITLES and next(element.iterancestors("svg", "math"), None) is None:
        found.title = one_line((element.text or "")[: 4 * MAX_TITLE])[:MAX_TITLE]


def _body(element: _Element, found: Elements) -> None:
    if found.body is None:
        found.body = element


def _heading(element: _Element, found: Elements) -> None:
    if len(found.headings) < MAX_HEADINGS:
        found.headings.append(element)


def _script(element: _Element, found: Elements) -> None:
    if media_type(element.get("type")) in _SCRIPT_TYPES:
        found.scripts.append(element.get("src") or element.text or "")


def _noscript(element: _Element, found: Elements) -> None:
    found.noscripts.append(text_of(element)[:2_000])


def _frame(element: _Element, found: Elements) -> None:
    found.frames.append(element.get("src") or "")


def _base(element: _Element, found: Elements) -> None:
    if found.base is None:
        found.base = element.get("href")


def _input(element: _Element, found: Elements) -> None:
    found.password |= (element.get("type") or "").strip().lower() == "password"


def _meta(element: _Element, found: Elements) -> None:
    content = element.get("content")
    if content is None:
        return
    for attribute in ("name", "property"):
        name = (element.get(attribute) or "").strip().lower()
        if name in found.robots_names:
            found.robots.append(content)
        elif name and content.strip():
            found.metas.setdefault(name, content)
    pragma = (element.get("http-equiv") or "").strip().lower()
    if pragma == "refresh" and next(element.iterancestors("noscript"), None) is None:
        found.refreshes.append(content)
    elif pragma == "content-language":
        found.metas.setdefault("content-language", content)


def _in_head(parent: _Element | None) -> bool:
    """Whether the parent is the head, or the root: libxml2 leaves there what stands between `</head>` and the body."""
    if parent is not None and parent.tag == "head":
        parent = parent.getparent()
    return parent is not None and parent.tag == "html" and parent.getparent() is None


def _link(element: _Element, found: Elements) -> None:
    """Only before the body: a `<link>` further down may be a visitor's (HTML Standard 4.2.4, "body-ok")."""
    href, rel = element.get("href"), rel_tokens(element.get("rel"))
    if not href or rel.isdisjoint(RELATIONS) or len(found.references) >= MAX_REFERENCES:
        return
    if _in_head(element.getparent()):
        found.references.append(Reference(href, rel, media_type(element.get("type")), element.get("hreflang") or ""))


_READERS: Final[dict[str, Callable[[_Element, Elements], None]]] = {
    "body": _body,
    "meta": _meta,
    "link": _link,
    "title": _title,
    "base": _base,
    "h1": _heading,
    "script": _script,
    "noscript": _noscript,
    "input": _input,
    "iframe": _frame,
}
_LOOKED_AT: Final = tuple({*_READERS, *UNSEEN})
