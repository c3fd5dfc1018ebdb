"""The first lines of the file: what the site is called, and what it is in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from runtime.document.descriptions import described, says_something, shortened
from runtime.document.excerpt import excerpt
from runtime.document.paths import below, directories, host_of
from runtime.document.text import folded, heading
from runtime.document.titles import MAX_TITLE, Affixes, is_generic
from runtime.reading import Page

DETAILS = (
    "Each link below is a page of the site, followed by a short description where there is one. "
    "The file is kept in step with the site automatically."
)
"""Always there: without a line of details the reference parsers lose the summary."""


def site_title(front: Page | None, pages: Sequence[Page], affixes: Affixes, base_url: str) -> str:
    """The H1: the site's declared name, else the name its titles repeat, else the home page's title, else the host.

    Without a home page only what most pages agree on counts; no single page gives its title to the site.
    """
    declared = _declared(front, pages)
    if declared:
        return excerpt(declared, MAX_TITLE)
    own = heading(front.title) if front else ""
    for name in affixes.names:
        if is_generic(name):
            continue
        if front is None or is_generic(own) or folded(name) in folded(own) or folded(own) in folded(name):
            return excerpt(name, MAX_TITLE)
    if not is_generic(own):
        return excerpt(own, MAX_TITLE)
    return _address(base_url)


def site_summary(front: Page | None, title: str, base_url: str, limit: int) -> str:
    """The blockquote: the home page's description; a sentence that names the site where there is none."""
    text = shortened(described(front.description), limit) if front else ""
    if text and says_something(text, title):
        return text
    host = host_of(base_url)
    return f"The pages of {title}." if folded(title) == folded(host) or not host else f"The pages of {title} ({host})."


def _declared(front: Page | None, pages: Sequence[Page]) -> str:
    """The name in the home page's og:site_name, or without a home page the one that half of the pages declare."""
    if front is not None:
        name = heading(front.site_name)
        return "" if is_generic(name) else name
    names = Counter(heading(page.site_name) for page in pages)
    name, times = max(names.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    return name if times * 2 > len(pages) and not is_generic(name) else ""


def _address(base_url: str) -> str:
    """`docs.example.com`, `example.com/docs`: what a person would call a site without a name."""
    path = "/".join(below((), directories(base_url)))
    return excerpt("/".join(part for part in (host_of(base_url), path) if part), MAX_TITLE) or "Site"
