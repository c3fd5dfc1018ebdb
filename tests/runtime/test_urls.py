"""URLs: resolving, normalising, scope, the identity of a site."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime import urls
from runtime.errors import InputError
from runtime.url_syntax import document_base

PAGE = "https://example.com/dir/page.html"

HREFS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="/.:?#%&;=@[]\\ \t\nab09-_~()'|\u00fc\ud800(S", max_size=40),
    st.builds("https://{}/{}".format, st.text(max_size=12), st.text(max_size=30)),
    st.builds("/a{}b?{}".format, st.text(max_size=20), st.text(max_size=20)),
)


@given(HREFS, st.sampled_from(["utf-8", "cp1251", "cp932", "iso2022_jp", "no-such-codec"]))
@settings(deadline=None, max_examples=400)
def test_resolving_never_raises_and_its_answer_stands(href: str, encoding: str) -> None:
    """Any text as href gives None or an http(s) URL without fragment that resolves to itself."""
    url = urls.resolve(PAGE, href, encoding=encoding)
    if url is not None:
        assert url.startswith(("http://", "https://"))
        assert "#" not in url
        assert url.isascii()
        assert len(url) <= urls.MAX_URL_LENGTH
        assert urls.resolve(PAGE, url) == url


@given(HREFS)
@settings(deadline=None, max_examples=400)
def test_normalising_twice_changes_nothing(href: str) -> None:
    """A normal form is its own normal form."""
    url = urls.resolve(PAGE, href)
    if url is not None:
        once = urls.normalize(url)
        assert urls.normalize(once) == once


@given(st.text(max_size=50), st.text(max_size=50))
@settings(deadline=None, max_examples=200)
def test_questions_about_any_two_texts_have_an_answer(a: str, b: str) -> None:
    """Same, site, scope and pattern questions never raise, whatever they are asked about."""
    assert urls.same(a, a)
    assert isinstance(urls.same(a, b), bool)
    assert isinstance(urls.same_site(a, b), bool)
    assert isinstance(urls.in_scope(a, b), bool)
    assert isinstance(urls.matches(a, b), bool)


@pytest.mark.parametrize("base", ["", "mailto:a@b.c", "not a url", "https://"])
def test_a_base_that_is_no_url_resolves_nothing_relative(base: str) -> None:
    """Without a usable base a relative link leads nowhere."""
    assert urls.resolve(base, "a") is None


def test_the_query_of_a_link_is_written_in_the_encoding_of_the_page() -> None:
    """Path in UTF-8, query in the page's encoding, and a reference for what that encoding lacks, as browsers do."""
    assert urls.resolve(PAGE, "/п?q=тест", encoding="cp1251") == "https://example.com/%D0%BF?q=%F2%E5%F1%F2"
    assert urls.resolve(PAGE, "/?q=日", encoding="cp1251") == "https://example.com/?q=%26%2326085%3B"


def test_an_over_long_link_is_not_crawlable() -> None:
    """2,048 characters are the most, before and after escaping."""
    assert urls.resolve(PAGE, "/" + "a" * 2_000) is not None
    assert urls.resolve(PAGE, "/" + "a" * 2_048) is None
    assert urls.resolve(PAGE, "/" + "ü" * 500) is None


@pytest.mark.parametrize(
    ("href", "base"),
    [
        (None, PAGE),
        ("/v2/", "https://example.com/v2/"),
        ("javascript:void(0)", PAGE),
        ("data:text/html,x", PAGE),
        ("http://[", PAGE),
        ("//cdn.example.net/s/", "https://cdn.example.net/s/"),
        ("a" * 5_000, PAGE),
    ],
)
def test_a_base_element_counts_only_if_it_is_usable(href: str | None, base: str) -> None:
    """A base that does not parse, is no place, or is absurdly long is as good as none."""
    assert document_base(PAGE, href) == base


def test_normalising_refuses_what_is_no_web_address() -> None:
    """Other schemes and relative texts are an InputError, not a ValueError."""
    for text in ("ftp://example.com/", "/a", "", "https://", "javascript:1"):
        with pytest.raises(InputError):
            urls.normalize(text)


def test_session_ids_that_leave_dot_segments_do_not_survive() -> None:
    """Dropping `;jsessionid=…` may uncover "..", which is then resolved too."""
    assert urls.normalize("https://example.com/a/..;jsessionid=1/b") == "https://example.com/b"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("HTTP://EXAMPLE.com:80/%7Ea/./b/../c", "http://example.com/~a/c"),
        ("https://example.com", "https://example.com/#top"),
        ("https://bücher.de/ü?ü", "https://xn--bcher-kva.de/%c3%bc?%C3%BC"),
        ("https://example.com/Foo_(bar)", "https://example.com/Foo_%28bar%29"),
        ("https://u:p@example.com/", "https://example.com/"),
        ("https://example.com/a?PHPSESSID=1&x=2", "https://example.com/a?x=2"),
    ],
)
def test_spellings_of_one_address_are_the_same(a: str, b: str) -> None:
    """RFC 3986 6.2.2 and 6.2.3, IDNA, and session ids."""
    assert urls.same(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("https://example.com/a", "https://example.com/A"),
        ("https://example.com/a%2Fb", "https://example.com/a/b"),
        ("https://example.com/a?b=c%26d", "https://example.com/a?b=c&d"),
        ("https://example.com/%2525", "https://example.com/%25"),
        ("https://example.com/a+b", "https://example.com/a%20b"),
        ("https://example.com:8443/", "https://example.com/"),
        ("https://faß.de/", "https://fass.de/"),
        ("https://example.com/a?sid=1", "https://example.com/a?sid=2"),
    ],
)
def test_what_may_be_two_pages_stays_two(a: str, b: str) -> None:
    """Nothing is merged on a guess."""
    assert not urls.same(a, b)


def test_one_site_is_both_schemes_and_the_name_with_and_without_www() -> None:
    """D21: apex and www, http and https are one site; another port, sub-domain or suffix is not."""
    site = "https://example.com"
    for url in ("http://example.com/a", "https://www.example.com/", "http://WWW.example.com./b"):
        assert urls.same_site(site, url)
        assert urls.in_scope(site, url)
    for url in ("https://docs.example.com/", "https://example.com:8443/", "https://example.com.evil.net/", "nonsense"):
        assert not urls.same_site(site, url)
        assert not urls.in_scope(site, url)


def test_scope_ends_at_a_slash() -> None:
    """D-51: the path is compared segment by segment after dot segments are resolved."""
    assert urls.in_scope("https://example.com/docs", "http://www.example.com/docs/a?b")
    assert urls.in_scope("https://example.com/docs/index.html", "https://example.com/docs/a")
    assert not urls.in_scope("https://example.com/docs", "https://example.com/docs-old/a")
    assert not urls.in_scope("https://example.com/docs", "https://example.com/docs/../secret")


def test_a_scheme_never_becomes_a_path_segment() -> None:
    """D-51: paths are parsed, not cut out of the text of the base URL."""
    assert urls.path_segments("https://example.com/guide/Intro%20x/") == ("guide", "Intro%20x")
    assert urls.path_segments("http://example.com") == ()


def test_a_page_is_put_on_the_origin_that_answered() -> None:
    """Links to http or www land on the site's own scheme and host, session ids dropped."""
    home = "https://www.example.com/"
    assert urls.on_origin(home, "http://example.com/a;jsessionid=1?b#c") == "https://www.example.com/a?b"


@pytest.mark.parametrize(
    "text",
    [
        "https://Example.COM",
        "https://example.com/",
        "HTTPS://example.com:443",
        " https://example.com/?q=1#f ",
        "https://example.com./",
        "https://example.com/a/..",
        "https://ＥＸＡＭＰＬＥ.com",
    ],
)
def test_one_site_is_stored_under_one_name(text: str) -> None:
    """D-41, D28: case, port, slash, query, fragment and dot segments make no second row."""
    assert urls.canonical_base_url(text) == "https://example.com"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("example.com/docs", "write https://example.com/docs"),
        ("localhost:3000", "write https://localhost:3000"),
        ("//example.com", "write https://example.com"),
        ("", "is empty"),
        ("ftp://example.com", "only http:// and https://"),
        ("javascript:alert(1)", "only http:// and https://"),
        ("https://user:secret@example.com", "user name or password"),
        ("https://exa mple.com", "spaces"),
        ("https://example.com\\@evil.net", "backslashes"),
        ("https://exa%6Dple.com", "escapes"),
        ("http://0x7f.1/", "host"),
        ("http://2130706433/", "host"),
        ("https://", "host"),
        ("https://a..b", "host"),
        ("https://example.com:99999", "port"),
        ("https://example.com/" + "a" * 600, "too long"),
    ],
)
def test_a_refused_base_url_is_told_what_to_write(text: str, told: str) -> None:
    """The sentence names the mistake, never repeats a password, and names the field."""
    with pytest.raises(InputError, match="url: ") as caught:
        urls.canonical_base_url(text)
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.field == "url"


BASES = [
    "https://example.com",
    "http://example.com",
    "https://example.com:8443",
    "http://example.com:8443",
    "https://example.com/docs",
    "https://example.com/Docs",
    "https://example.com/docs/v1",
    "https://example.com/a%2Fb",
    "https://example.com/a/b",
    "https://example.com/a//b",
    "https://example.com/a!2Fb",
    "https://example.com/llms.txt",
    "https://example.com/versions",
    "https://www.example.com",
    "http://[::1]:8000",
    "http://127.0.0.1:8000",
]


def test_no_two_sites_share_a_key_and_no_key_hides_a_file() -> None:
    """Keys are distinct, and safe in a folder and in a bucket beside `llms.txt` and `versions/`."""
    keys = {urls.site_key(base) for base in BASES}
    assert len(keys) == len(BASES)
    for key in keys:
        assert all(character.isalnum() or character in "!._-/" for character in key)
        assert not any(part in ("", ".", "..", "llms.txt", "versions") for part in key.split("/"))
    assert urls.site_key("https://docs.example.com") == "docs.example.com"
    assert urls.site_key("https://example.com/docs") == "example.com/docs"


@given(
    st.lists(st.text(alphabet="ab/.%2F_!-~üA", max_size=12).map(lambda path: f"https://example.com/{path}"), min_size=2)
)
@settings(deadline=None, max_examples=200)
def test_keys_are_as_distinct_as_the_base_urls(texts: list[str]) -> None:
    """Different canonical base URLs have different keys, whatever is in the path; canonical forms stand."""
    bases = set()
    for text in texts:
        try:
            bases.add(urls.canonical_base_url(text))
        except InputError:
            continue
    assert all(urls.canonical_base_url(base) == base for base in bases)
    assert len({urls.site_key(base) for base in bases}) == len(bases)


@pytest.mark.parametrize(
    ("base", "landed", "scope"),
    [
        ("https://example.com", "https://www.example.com/en/", "https://www.example.com"),
        ("http://example.com/docs", "https://example.com/docs/latest/", "https://example.com/docs"),
        ("https://example.com/start", "https://example.com/en/home", "https://example.com/en"),
        ("https://example.com/docs", "https://example.com/docs-2/", "https://example.com/docs-2"),
    ],
)
def test_the_scope_follows_the_entry_page(base: str, landed: str, scope: str) -> None:
    """The base path is kept on the origin that answered; an entry page that left it takes the scope along."""
    assert urls.adopted_base(base, landed) == scope
    assert urls.in_scope(scope, landed)
    assert urls.entry_url("https://example.com") == "https://example.com/"
