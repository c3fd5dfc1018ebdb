"""robots.txt: what it allows, to whom, how fast, and which sitemaps it names (RFC 9309)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.crawl.robots import Robots

URL = "https://example.com/robots.txt"


def robots(text: str | bytes) -> Robots:
    return Robots.parse(text if isinstance(text, bytes) else text.encode(), URL)


def allowed(rules: str, path: str, agent: str = "ExampleBot") -> bool:
    return robots(f"User-agent: *\n{rules}").allowed(f"https://example.com{path}", agent)


@settings(deadline=None)
@given(st.binary(max_size=400), st.text(max_size=60), st.text(max_size=20))
def test_no_file_url_or_agent_makes_the_reader_raise(body: bytes, url: str, agent: str) -> None:
    """Any bytes are rules or none; every question has an answer."""
    found = Robots.parse(b"User-agent: *\nDisallow: " + body, URL)
    assert found.allowed(f"https://example.com/{url}", agent) in (True, False)
    assert found.crawl_delay(agent) is None or found.crawl_delay(agent) >= 0  # type: ignore[operator]
    assert all(sitemap.startswith("http") for sitemap in Robots.parse(b"Sitemap: " + body, URL).sitemaps)


@pytest.mark.parametrize(
    ("rules", "path", "verdict"),
    [
        ("Disallow: /a", "/abc", False),
        ("Disallow: /a", "/A", True),
        ("Disallow:", "/a", True),
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("Allow: /a\nDisallow: /a", "/a", True),
        ("Disallow: /a$", "/a", False),
        ("Disallow: /a$", "/ab", True),
        ("Disallow: /a$b", "/a$b/c", False),
        ("Disallow: /a$b", "/a%24b", False),
        ("Disallow: /a*b", "/a/x/b/c", False),
        ("Disallow: /a*b$", "/a/b/b", False),
        ("Disallow: /a*b$", "/a/b/c", True),
        ("Disallow: /ab*b$", "/ab", True),
        ("Allow: /ab\nDisallow: /a*", "/ab", True),
        ("Disallow: /ab\nAllow: /a*", "/ab", True),
        ("Disallow: /a*c\nAllow: /abc", "/abc", True),
        ("Disallow: *", "/a", False),
        ("Disallow: *$", "/a", False),
        ("Disallow: /*/", "/a", True),
        ("Disallow: /a**b", "/ab", False),
        ("Allow: /p*$\nDisallow: /page", "/page", False),
        ("Disallow: /%7Ejoe", "/~joe/x", False),
        ("Disallow: /~joe", "/%7ejoe/x", False),
        ("Disallow: /a%3cd", "/a<d", False),
        ("Disallow: /a%2fb", "/a/b", True),
        ("Disallow: /a%2fb", "/a%2Fb", False),
        ("Disallow: /%28x%29", "/(x)", False),
        ("Disallow: /100%", "/100%25/x", False),
        ("Disallow: /ä", "/%c3%a4", False),
        ("Disallow: /with space", "/with%20space", False),
        ("Disallow: /*?", "/a?", False),
        ("Disallow: /?", "?x", False),
        ("Disallow: /a#b", "/a", False),
        ("Disallow: /#top", "/", False),
    ],
)
def test_the_longest_matching_rule_decides(rules: str, path: str, verdict: bool) -> None:
    """Octets are compared in one form of percent-encoding; `*` and a final `$` are signs; allow wins a tie."""
    assert allowed(rules, path) is verdict


@pytest.mark.parametrize(
    "line",
    [
        *("Disallow: /x", "disallow:/x", " DISALLOW : /x ", "Disallow /x", "Disalow: /x", "Disallow: /x # why"),
        *("Disallow: /x\r", "Disallow:\t/x"),
    ],
)
def test_a_rule_is_recognised_in_the_spellings_that_large_crawlers_accept(line: str) -> None:
    """Case, white space, comments, missing colons and common typos do not lose a rule."""
    assert not allowed(line, "/x/y")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_end_with_cr_or_lf_and_nothing_else(end: str) -> None:
    """U+2028 or a form feed inside a comment ends no line; a file of bare CRs has lines."""
    text = end.join(("# \u2028Disallow: /a\x0cDisallow: /b", "User-agent: *", "Disallow: /c"))
    assert [robots(text).allowed(f"https://example.com/{path}") for path in "abc"] == [True, True, False]


def test_groups_are_found_by_product_token_and_combined() -> None:
    """The token is compared whole, without case and version; our group wins over `*`; groups of one token add up."""
    found = robots(
        "User-agent: LlmsTxtBot/2.0\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\nUser-agent: llmstxtbot\nDisallow: /b\n"
    )
    assert [found.allowed(f"https://example.com/{path}") for path in "abc"] == [False, False, True]
    assert not found.allowed("https://example.com/c", "LlmsTxtBotX")
    assert not found.allowed("https://example.com/c", "Llms")


def test_only_a_rule_ends_a_run_of_agents() -> None:
    """Sitemaps, delays, unknown records and blank lines between user-agent lines leave them one group."""
    found = robots("User-agent: a\nSitemap: /s.xml\nFoo: bar\nCrawl-delay: 3\n\nUser-agent: b\nDisallow: /x\n")
    assert not found.allowed("https://example.com/x", "a")
    assert not found.allowed("https://example.com/x", "b")


def test_robots_txt_itself_is_always_allowed() -> None:
    """RFC 9309 2.2.2; another file of that name is not."""
    assert Robots.DISALLOW_ALL.allowed(URL)
    assert not Robots.DISALLOW_ALL.allowed("https://example.com/sub/robots.txt")
    assert Robots.ALLOW_ALL.allowed("https://example.com/a")


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        ("Crawl-delay: 2.5", 2.5),
        ("Crawl-delay: .5", 0.5),
        ("Crawl-delay: 0", 0.0),
        ("Crawl-delay: 10 # ten", 10.0),
        ("Crawl-delay: 3\nCrawl-delay: 7", 7.0),
        ("Crawl-delay: 10s", None),
        ("Crawl-delay: -1", None),
        ("Crawl-delay: nan", None),
        ("Crawl-delay: 1e9", None),
        ("Crawl-delay: " + "9" * 400, None),
        ("Crawl-delay:", None),
    ],
)
def test_a_crawl_delay_is_a_number_of_seconds_or_nothing(lines: str, seconds: float | None) -> None:
    """Words, units, signs and infinity are ignored; of two delays the longer is kept."""
    assert robots(f"User-agent: *\n{lines}").crawl_delay("ExampleBot") == seconds


def test_a_crawl_delay_is_for_the_agents_named_since_the_last_one() -> None:
    """Files that only set delays, agent by agent, mean each on its own."""
    found = robots(
        "User-agent: a\nUser-agent: b\nCrawl-delay: 1\nUser-agent: c\nCrawl-delay: 5\nUser-agent: *\nDisallow: /x"
    )
    assert [found.crawl_delay(agent) for agent in ("a", "b", "c", "other")] == [1.0, 1.0, 5.0, None]


def test_sitemaps_are_absolute_distinct_and_independent_of_groups() -> None:
    """In file order, wherever they stand; relative ones are resolved, others than http(s) and broken ones dropped."""
    text = (
        "\ufeffSitemap: /a.xml\nUser-agent: other\nDisallow: /\nsitemap:https://example.com/b.xml # b\nSitemap: /a.xml\n"
        "Sitemap: example.com/c.xml\nSitemap: ftp://example.com/d.xml\nSitemap:\nSitemap https://cdn.example.net/e.xml\n"
    )
    assert robots(text.encode() + b"Sitemap: https://example.com/\xff.xml\nSitemap: /f.xml").sitemaps == (
        "https://example.com/a.xml",
        "https://example.com/b.xml",
        "https://example.com/c.xml",
        "https://cdn.example.net/e.xml",
        "https://example.com/f.xml",
    )


def test_a_utf_16_file_with_a_mark_is_read() -> None:
    """Editors save such files; their rules count."""
    assert not robots("User-agent: *\nDisallow: /x".encode("utf-16")).allowed("https://example.com/x")


def test_a_file_over_the_limit_loses_its_last_half_line() -> None:
    """Half a million bytes are read; a rule cut in the middle would forbid more than was meant."""
    filler = b"#" * 1_000 + b"\n"
    body = b"User-agent: *\nDisallow: /x\n" + filler * 523
    body += b"#" * (524_288 - len(body) - len(b"\nDisallow: /pri")) + b"\nDisallow: /private/\n"
    assert body[:524_288].endswith(b"\nDisallow: /pri")
    found = robots(body)
    assert not found.allowed("https://example.com/x")
    assert found.allowed("https://example.com/pricing")


def test_hostile_patterns_and_crowds_of_agents_take_no_time() -> None:
    """Stars do not backtrack, and many agents times many rules are not multiplied out."""
    stars = b"User-agent: *\nDisallow: /" + b"*a" * 500 + b"b$\n"
    crowd = (
        b"".join(b"User-agent: bot%d\n" % number for number in range(10_000))
        + b"Disallow: /x\nCrawl-delay: 1\n" * 5_000
    )
    started = time.process_time()
    assert robots(stars).allowed("https://example.com/" + "a" * 2_000)
    found = robots(crowd)
    assert not found.allowed("https://example.com/x", "bot9999")
    assert found.crawl_delay("bot0") == 1.0
    assert time.process_time() - started < 5
