"""Addresses as sitemaps and robots files give them."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime.sitemap.location import read_location
from runtime.urls import normalize, resolve

BASE = "https://example.com/docs/sitemap.xml"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.com/a", "https://example.com/a"),
        ("  \n https://example.com/a\u00a0\u200b", "https://example.com/a"),
        ("HTTPS://EXAMPLE.com:443/a/../b#c", "https://example.com/b"),
        ("https://example.com", "https://example.com/"),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
        ("/about", "https://example.com/about"),
        ("team.html", "https://example.com/docs/team.html"),
        ("?page=2", "https://example.com/docs/sitemap.xml?page=2"),
        ("//cdn.example.com/a", "https://cdn.example.com/a"),
        ("www.example.com/catalog?item=1", "https://www.example.com/catalog?item=1"),
        ("example.com:8443/a", "https://example.com:8443/a"),
        ("https//example.com/a", "https://example.com/a"),
        ("https:example.com/a", "https://example.com/a"),
        ("http/a.html", "https://example.com/docs/http/a.html"),
        ("", None),
        ("mailto:a@example.com", None),
        ("javascript:alert(1)", None),
        ("https://", None),
        ("https://example.com/" + "a" * 2_100, None),
    ],
)
def test_an_address_is_absolute_and_normal_or_nothing(text: str, url: str | None) -> None:
    """Relative addresses are resolved, hosts without a scheme are hosts, what cannot be crawled is None."""
    assert read_location(text, BASE) == url


@settings(deadline=None)
@given(
    st.from_regex(r"https?://[a-z0-9.-]{1,20}\.[a-z]{2,5}(/[A-Za-z0-9_.~%-]{0,6}){0,5}", fullmatch=True)
    | st.from_regex(r"https?://[^\s]{0,30}", fullmatch=True)
)
@example("https://example.com/a/../b")
@example("https://example.com/a/.hidden")
@example("https://a--b.example.com/")
@example("https://-a.example.com/")
def test_the_short_way_agrees_with_the_url_standard(text: str) -> None:
    """A plain URL that is passed through as it is would have come out of the full normaliser the same."""
    resolved = resolve(BASE, text)
    found = read_location(text, BASE)
    assert found == (None if resolved is None else normalize(resolved))
