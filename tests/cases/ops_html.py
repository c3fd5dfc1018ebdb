"""Pages and URLs of the corpus, answered by `runtime.urls` and `runtime.crawl.page`."""

from __future__ import annotations

from runtime import urls
from tests.cases.corpus import Answer, Case, Op


def resolve(case: Case) -> Answer:
    return {"urls": [urls.resolve(row["base"], row["href"]) for row in case.input["table"]]}


def same(case: Case) -> Answer:
    return {"same": [urls.same(a, b) for a, b in case.input["pairs"]]}


def scope(case: Case) -> Answer:
    return {"in_scope": [urls.in_scope(case.input["site"], url) for url in case.input["urls"]]}


def idempotent(case: Case) -> Answer:
    once = [urls.normalize(url) for url in case.input["urls"]]
    return {"idempotent": [urls.normalize(url) for url in once] == once}


OPS: dict[str, Op] = {"resolve": resolve, "same": same, "scope": scope, "idempotent": idempotent}
