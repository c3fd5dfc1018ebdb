"""Compare an answer with a case: `check(case, got)` is a list of differences, empty when the answer is right.

The keys of `got` per op are in `tests/data/web/README.md`. An answer is right when it meets `case.expect`, or any one
of the complete alternatives in `case.accept`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from tests.cases.check_format import check_format
from tests.cases.check_urls import Check, at, distinct, equal_urls, exclude, include, prefix_length
from tests.cases.corpus import Answer, Case
from tests.cases.spelling import instant, norm, text


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
    | dict.fromkeys(("urls", "sitemaps", "links", "pages", "robots_urls"), equal_urls)
    | dict.fromkeys(
        ("description_max", "description_min", "description_prefix", "description_not_ending"), _description
    )
    | dict.fromkeys(("description_utf8", "utf8"), _encodable)
    | {f"{field}_include": include(field) for field in ("urls", "links", "pages")}
    | {f"{field}_exclude": exclude(field) for field in ("links", "pages", "fetched")}
    | {"urls_absent": exclude("urls"), "must_not_emit": exclude("urls"), "must_not_fetch": exclude("fetched")}
    | {"url_count": distinct("urls"), "link_count": distinct("links"), "count": distinct("pages", normal=True)}
    | {"first_url": at(0), "last_whole_url": at(-1), "urls_prefix_of_length": prefix_length}
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
