"""The hrefs of a page, resolved: with a cache as without one, whatever was asked before."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.crawl import targets
from runtime.crawl.targets import Targets
from runtime.url_syntax import document_base, resolve

PIECES = (
    "/",
    "/",
    "..",
    "../",
    "../",
    ".",
    "./",
    "a",
    "b",
    "a.b",
    "%2e",
    "%2E%2e",
    "?q=1",
    "#f",
    "\\",
    "\t",
    "//",
    ":",
)
WIDER = (*PIECES, "é", "?é", " ", "https://example.com", "http://other.example", "//h.example", "@", "\n", "mailto:")
HREFS = st.lists(st.sampled_from(WIDER), max_size=8).map("".join)
PATHS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
BASES = st.builds("{}/{}".format, st.sampled_from(("https://example.com", "http://other.example:81")), PATHS).map(
    lambda written: document_base(written, "")
)


@given(st.lists(st.tuples(BASES, st.sampled_from(("utf-8", "cp1252")), st.lists(HREFS, max_size=12)), max_size=6))
@settings(deadline=None, max_examples=400)
def test_a_cache_changes_no_target(pages: list[tuple[str, str, list[str]]]) -> None:
    """Pages of any folders, hosts and encodings share one cache, and each has the links it has alone, in order."""
    cache: dict[str, str | None] = {}
    for base, encoding, hrefs in pages:
        plain = [resolve(base, href.partition("#")[0], encoding=encoding) for href in hrefs]
        expected = tuple(dict.fromkeys(url for url in plain if url is not None))
        for _ in range(2):
            assert Targets(base, encoding=encoding, cache=cache).all(hrefs, 50) == expected
            assert Targets(base, encoding=encoding, cache=cache).all(hrefs, 2) == expected[:2]
    assert all(resolve("https://elsewhere.example/x/", key) == url for key, url in cache.items())


def test_what_folders_call_differently_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """`../a/` from two folders, `/a/` and the whole address are one entry of the cache."""
    asked: list[str] = []

    def counting(base: str, href: str, *, encoding: str = "utf-8") -> str | None:
        asked.append(href)
        return resolve(base, href, encoding=encoding)

    monkeypatch.setattr(targets, "resolve", counting)
    cache: dict[str, str | None] = {}
    for folder in ("one/", "two/", "deep/er/"):
        up = "../" * folder.count("/")
        page = Targets(f"https://example.com/{folder}", cache=cache)
        assert page.all([f"{up}a/", "/a/", "https://example.com/a/"], 10) == ("https://example.com/a/",)
    assert asked == ["../a/"]


def test_a_page_of_useless_links_is_given_up() -> None:
    """Five times the limit of links that lead nowhere are enough; known ones further down are free."""
    hrefs = [*(f"javascript:{number}" for number in range(60)), "/known", "/new"]
    assert Targets("https://example.com/", cache={}).all(hrefs, 10) == ()
    cache: dict[str, str | None] = {}
    Targets("https://example.com/", cache=cache).all(["/known"], 10)
    found = Targets("https://example.com/", cache=cache).all(["/known", *hrefs], 10)
    assert found == ("https://example.com/known",)
