"""Compare an answer with a case: `check(case, got)` is a list of differences, empty when the answer is right.

The keys of `got` per op are in `tests/data/web/README.md`. An answer is right when it meets `case.expect`, or any one
of the complete alternatives in `case.accept`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from tests.cases.check_format import check_format
from tests.cases.corpus import Answer, Case
from tests.cases.spelling import instant, norm, norms, text

Check = Callable[[Case, str, Any, Answer], Iterator[str]]

_PAIRED_OPS = ("resolve", "same", "scope", "idempotent")


def check(case: Case, got: Answer) -> list[str]:
    """The differences from `expect`; none when `expect` or an alternative is met."""
    if got.get("exception"):
        return [f"raised {got['exception']}"]
    differences = _differences(case, case.expect, got)
    if any(not _differences(case, other, got) for other in case.accept):
        return []
    return differences


def _differences(case: Case, expect: dict[str, Any], got: Answer) -> list[str]:
    found: list[str] = []
    rest: dict[str, Any] = {}
    for key, want in expect.items():
        if key in _CHECKS and not (case.op == "format" and key in _FORMAT_MEANS_OTHERWISE):
            found += _CHECKS[key](case, key, want, got)
        else:
            rest[key] = want
    if case.op == "format":
        found += check_format(rest, got)
    else:
        found += [f"unknown expectation {key}" for key in rest]
    return found


def _whole(case: Case, got: Answer) -> str:
    if case.op == "format":
        return got.get("text") or ""
    return json.dumps(got, ensure_ascii=False, default=str)


def _say(key: str, want: Any, got: Answer) -> Iterator[str]:
    yield f"{key}: want {want!r}, got {got.get(key)!r}"


def _equal(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    if got.get(key) != want:
        yield from _say(key, want, got)


def _equal_url(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    if norm(got.get(key)) != norm(want):
        yield from _say(key, want, got)


def _equal_text(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    if text(got.get(key)) != text(want):
        yield from _say(key, want, got)


def _equal_urls(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
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
        yield from _equal(case, key, want, got)
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


def _include(field: str) -> Check:
    def inner(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
        if missing := norms(want) - norms(got.get(field)):
            yield f"{key}: missing {_some(missing)}"

    return inner


def _exclude(field: str) -> Check:
    def inner(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
        unwanted = norms(want if isinstance(want, list) else [want])
        if present := unwanted & norms(got.get(field)):
            yield f"{key}: present {_some(present)}"

    return inner


def _distinct(field: str, *, normal: bool = False) -> Check:
    def inner(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
        values = got.get(field) or []
        if (count := len(norms(values) if normal else set(values))) != want:
            yield f"{key}: want {want}, got {count}"

    return inner


def _at(place: int) -> Check:
    def inner(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
        url = (got.get("urls") or [None])[place]
        if norm(url) != norm(want):
            yield f"{key}: want {want!r}, got {url!r}"

    return inner


def _prefix_length(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    if (count := len(got.get("urls") or [])) != want:
        yield f"{key}: want {want}, got {count}"


def _equal_instant(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    try:
        same = instant(got.get(key)) == instant(want)
    except ValueError:
        same = False
    if not same:
        yield from _say(key, want, got)


def _not_before(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    given, wanted = instant(got.get(key)), instant(want)
    if given is None or wanted is None or given < wanted:
        yield from _say(key, want, got)


def _at_most(field: str) -> Check:
    def inner(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
        value = got.get(field)
        if value is not None and value > want:
            yield f"{key}: {value} > {want}"

    return inner


def _description(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    value: str = got.get("description") or ""
    right = {
        "description_max": isinstance(want, int) and len(value) <= want,
        "description_min": isinstance(want, int) and len(value) >= want,
        "description_prefix": isinstance(want, str) and value.startswith(want),
        "description_not_ending": isinstance(want, list) and not any(value.rstrip(".… ").endswith(end) for end in want),
    }[key]
    if not right:
        yield f"{key}: want {want!r}, got {len(value)} characters, {value[-40:]!r}"


def _encodable(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    value = _whole(case, got) if key == "utf8" else got.get("description") or ""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        yield f"{key}: not encodable as UTF-8"


def _must_not_contain(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    whole = _whole(case, got)
    yield from (f"{key}: found {word!r}" for word in want if word in whole)


def _fetches_per_url(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    fetched = got.get("fetched") or []
    yield from (f"{key}: {url} {count} times" for url in sorted(set(fetched)) if (count := fetched.count(url)) > want)


def _max_pages(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    if (count := len(got.get("pages") or [])) > want:
        yield f"{key}: {count} > {want}"


def _repeated_segment(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    for url in got.get("pages") or []:
        segments = urlsplit(url).path.split("/")
        if any(seg and segments[i : i + want] == [seg] * want for i, seg in enumerate(segments)):
            yield f"{key}: trap page kept: {url}"
            return


def _titles(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    titles = got.get("titles") or {}
    for url, title in want.items():
        if text(titles.get(url)) != text(title):
            yield f"{key}: {url}: want {title!r}, got {titles.get(url)!r}"


def _allowed(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    answers = got.get(key) or {}
    for row in want:
        given = answers.get((row["agent"], row["url"]))
        if given is not row["allowed"]:
            yield f"{row['agent']} {row['url'][:90]}: want {row['allowed']}, got {given}"


def _each(case: Case, key: str, want: Any, got: Answer) -> Iterator[str]:
    given = got.get(key) or {}
    for name, value in want.items():
        if given.get(name) != value:
            yield f"{key} {name}: want {value!r}, got {given.get(name)!r}"


_FORMAT_MEANS_OTHERWISE = frozenset({"urls_include", "links_include"})

_CHECKS: dict[str, Check] = (
    dict.fromkeys(("type", "changed", "granularity", "complete", "allowed", "indexable", "follow"), _equal)
    | dict.fromkeys(("delays", "idempotent", "same", "in_scope", "fetches"), _equal)
    | dict.fromkeys(("sitemap_url", "canonical", "redirect"), _equal_url)
    | dict.fromkeys(("title", "description"), _equal_text)
    | dict.fromkeys(("urls", "sitemaps", "links", "pages", "robots_urls"), _equal_urls)
    | dict.fromkeys(
        ("description_max", "description_min", "description_prefix", "description_not_ending"), _description
    )
    | dict.fromkeys(("description_utf8", "utf8"), _encodable)
    | {f"{field}_include": _include(field) for field in ("urls", "links", "pages")}
    | {f"{field}_exclude": _exclude(field) for field in ("links", "pages", "fetched")}
    | {"urls_absent": _exclude("urls"), "must_not_emit": _exclude("urls"), "must_not_fetch": _exclude("fetched")}
    | {"url_count": _distinct("urls"), "link_count": _distinct("links"), "count": _distinct("pages", normal=True)}
    | {"first_url": _at(0), "last_whole_url": _at(-1), "urls_prefix_of_length": _prefix_length}
    | {f"max_{field}": _at_most(field) for field in ("seconds", "rss_growth_mb", "fetches", "requests", "bytes_read")}
    | {"max_fetches_per_url": _fetches_per_url, "max_pages": _max_pages, "max_repeated_segment": _repeated_segment}
    | {"newest_lastmod": _equal_instant, "not_before": _not_before, "must_not_contain": _must_not_contain}
    | {"titles": _titles, "checks": _allowed, "request_headers": _each, "state": _each}
    | {
        "type_any": lambda case, key, want, got: iter(
            [] if got.get("type") in want else [f"{key}: want one of {want}, got {got.get('type')!r}"]
        ),
        "refused": lambda case, key, want, got: iter(
            [] if bool(got.get("refused")) == want else [f"{key}: want {want}, got {got.get('refused')!r}"]
        ),
    }
)
