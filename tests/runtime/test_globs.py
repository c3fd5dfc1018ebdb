"""Owners' patterns: which pages they cover."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.urls import matches


@pytest.mark.parametrize("path", ["/docs", "/docs/", "/docs/a/b", "https://example.com/docs/a?x=/blog"])
def test_a_directory_pattern_covers_the_directory_and_all_below(path: str) -> None:
    """X13: `docs/**` also covers the directory's own page, with and without its slash."""
    assert matches("docs/**", path)
    assert matches("/docs/**", path)
    assert matches("docs/", path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/feed", "/feedback"),
        ("/feed", "/feed/atom"),
        ("docs/**", "/docs-old/a"),
        ("docs/**", "/en/docs/a"),
        ("docs/**", "/DOCS/a"),
        ("pkg/*", "/pkg"),
        ("pkg/*", "/pkg/"),
        ("pkg/*", "/pkg/a/b"),
        ("/", "/a"),
        ("a?c", "/a/c"),
        ("a.b", "/axb"),
        ("api/**", "https://api.example.com/x"),
    ],
)
def test_a_pattern_covers_nothing_beside_it(pattern: str, path: str) -> None:
    """D-49, D22, U25: whole segments from the root, never substrings."""
    assert not matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/feed", "/feed/"),
        ("pkg/*", "/pkg/a/"),
        ("Section/**/*.md", "/Section/a.md"),
        ("Section/**/*.md", "/Section/b/c/a.md"),
        ("**/draft-*", "/draft-1"),
        ("**/draft-*", "/x/y/draft-1"),
        ("**", "/"),
        ("/", "/"),
        ("a?c", "/abc"),
        ("docs/über/**", "/docs/%C3%BCber/x"),
        ("docs/%c3%bcber/**", "https://example.com/docs/über/x"),
        ("https://example.com/docs/**", "/docs/x"),
        ("*/reference/**/*-api", "/v2/reference/x/y/http-api"),
        ("/blog/*/*", "/blog/2024/x"),
        ("/go", "/go?to=https://example.net/a"),
    ],
)
def test_stars_cover_what_the_rules_say(pattern: str, path: str) -> None:
    """U24: `**` matches no level too; escapes are compared decoded."""
    assert matches(pattern, path)


@given(st.text(alphabet="ab*?/", max_size=12), st.text(alphabet="ab/", max_size=12))
@settings(deadline=None, max_examples=300)
def test_a_trailing_slash_of_the_page_never_matters(pattern: str, path: str) -> None:
    """`/a` and `/a/` are covered by the same patterns."""
    assert matches(pattern, f"/{path}") == matches(pattern, f"/{path}/")


def test_a_hostile_pattern_is_answered_at_once() -> None:
    """No pattern of many stars takes exponential time."""
    started = time.process_time()
    assert not matches("*a" * 60 + "b", "/" + "a" * 2_000)
    assert not matches("**/a/" * 40 + "b", "/a" * 800)
    assert time.process_time() - started < 2
