"""Documents of the corpus, written by `runtime.document`."""

from __future__ import annotations

import random
from typing import Any

from runtime.document.build import build
from runtime.document.render import Rendered, render
from runtime.models import SiteOptions
from runtime.reading import Page
from tests.cases.corpus import Answer, Case, Op


def format_(case: Case) -> Answer:
    """The first page is the home page. `texts` are all runs: the pages in other orders, where the case asks for that."""
    pages = [_page(given) for given in case.input["pages"]]
    if not pages:
        return {"refused": True}  # the guard never lets a document without links replace anything
    home = pages[0].url
    orders = [pages]
    for seed in range(5):
        shuffled = pages[1:]
        random.Random(seed).shuffle(shuffled)
        orders.append([pages[0], *shuffled])
    texts = [_text(case, order, home) for order in orders]
    return {"text": texts[0], "texts": texts}


def _page(given: dict[str, Any]) -> Page:
    return Page(url=given["url"], title=given.get("title") or "", description=given.get("description") or "")


def _text(case: Case, pages: list[Page], home: str) -> str:
    options = SiteOptions()
    if case.input.get("desc_length") is not None:
        options = SiteOptions(desc_length=case.input["desc_length"])
    return _rendered(pages, case.input["base_url"], options, home).text


def _rendered(pages: list[Page], base_url: str, options: SiteOptions, home: str) -> Rendered:
    document = build(pages, base_url, options, home=home)
    return render(document, section_url=lambda slug: f"https://files.example/{slug}/llms.txt")


OPS: dict[str, Op] = {"format": format_}
