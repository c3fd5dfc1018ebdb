"""Compare the lists of URLs in an answer with a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.cases.corpus import Answer, Case
from tests.cases.spelling import norm, norms

Check = Callable[[Case, str, Any, Answer], Iterator[str]]

_PAIRED_OPS = ("resolve", "same", "scope", "idempotent")


def equal_urls(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    if want is None:
        return
    if case.op in _PAIRED_OPS:
        rows = case.input.get("table") or [None] * len(want)
        answers = got.get(key) or [None] * len(want)
        for row, wanted, given in zip(rows, want, answers, strict=False):
            if norm(wanted) != norm(given):
                yield f"{row!r}: want {wanted!r} got {given!r}"
        return
    if case.op == "robots_url":
        if got.get(key) != want:
            yield f"{key}: want {want!r}, got {got.get(key)!r}"
        return
    wanted, given = norms(want), norms(got.get(key))
    if case.op == "page" and key == "links":  # a link to the page itself may be there or not
        own = norm(case.input["url"])
        wanted.discard(own)
        given.discard(own)
    if wanted != given:
        yield f"{key}: extra {_some(given - wanted)} missing {_some(wanted - given)}"


def _some(urls: set[str | None]) -> list[str]:
    return sorted(str(url) for url in urls)[:5]


def include(field: str) -> Check:
    def inner(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
        if missing := norms(want) - norms(got.get(field)):
            yield f"{key}: missing {_some(missing)}"

    return inner


def exclude(field: str) -> Check:
    def inner(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
        unwanted = norms(want if isinstance(want, list) else [want])
        if present := unwanted & norms(got.get(field)):
            yield f"{key}: present {_some(present)}"

    return inner


def distinct(field: str, *, normal: bool = False) -> Check:
    def inner(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
        values = got.get(field) or []
        if (count := len(norms(values) if normal else set(values))) != want:
            yield f"{key}: want {want}, got {count}"

    return inner


def at(place: int) -> Check:
    def inner(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
        url = (got.get("urls") or [None])[place]
        if norm(url) != norm(want):
            yield f"{key}: want {want!r}, got {url!r}"

    return inner


def prefix_length(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    if (count := len(got.get("urls") or [])) != want:
        yield f"{key}: want {want}, got {count}"
