"""Pages and URLs of the corpus, answered by `runtime.urls` and `runtime.crawl.page`."""

from __future__ import annotations

from datetime import datetime

from runtime import urls
from runtime.crawl.page import read_page
from runtime.document.excerpt import excerpt
from runtime.models import ROBOTS_TOKEN
from tests.cases.corpus import Answer, Case, Op


def page(case: Case) -> Answer:
    given = case.input
    headers = [
        (name.lower(), value)
        for name, values in given.get("headers", {}).items()
        for value in (values if isinstance(values, list) else [values])
    ]
    reading = read_page(
        case.read(given["file"]),
        given["url"],
        headers,
        agent=given.get("agent", ROBOTS_TOKEN),
        now=datetime.fromisoformat(given["now"]) if "now" in given else None,
    )
    description = reading.description
    return {
        "title": reading.title,
        "description": excerpt(description, given["desc_length"]) if "desc_length" in given else description,
        "links": list(reading.links),
        "indexable": reading.indexable,
        "follow": reading.follow,
        "canonical": reading.canonical,
        "redirect": reading.redirect,
    }


def resolve(case: Case) -> Answer:
    return {"urls": [urls.resolve(row["base"], row["href"]) for row in case.input["table"]]}


def same(case: Case) -> Answer:
    return {"same": [urls.same(a, b) for a, b in case.input["pairs"]]}


def scope(case: Case) -> Answer:
    return {"in_scope": [urls.in_scope(case.input["site"], url) for url in case.input["urls"]]}


def idempotent(case: Case) -> Answer:
    once = [urls.normalize(url) for url in case.input["urls"]]
    return {"idempotent": [urls.normalize(url) for url in once] == once}


OPS: dict[str, Op] = {"page": page, "resolve": resolve, "same": same, "scope": scope, "idempotent": idempotent}
