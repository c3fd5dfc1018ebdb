"""What a page says it is about."""

from __future__ import annotations

import pytest

from tests.runtime.crawl.pages import PROSE, html, read

META = "<meta name=description content='From meta'>"
OG = "<meta property=og:description content='From OG'>"
TWITTER = "<meta name=twitter:description content='From Twitter'>"


@pytest.mark.parametrize(
    ("head", "text", "source"),
    [
        (TWITTER + OG + META, "From meta", "meta"),
        (TWITTER + OG, "From OG", "og"),
        ("<meta name=description content=' '>" + TWITTER, "From Twitter", "twitter"),
        ("", PROSE, "paragraph"),
    ],
)
def test_descriptions_come_from_the_first_source_that_has_one(head: str, text: str, source: str) -> None:
    """U45: meta, Open Graph, Twitter, then the first good paragraph."""
    reading = read(html(head, f"<p>{PROSE}</p>"))
    assert (reading.description, reading.description_source) == (text, source)


@pytest.mark.parametrize(
    "content",
    [
        "No description available",
        "undefined",
        "null",
        "Description",
        "[object Object]",
        "Install the widgets!",
        "Acme",
        "Please enable JavaScript to continue.",
        "You need to enable JavaScript to run this app.",
    ],
)
def test_a_placeholder_or_a_repeated_title_is_no_description(content: str) -> None:
    """U44, U47: nothing is better than the title again."""
    head = f"<title>Install the widgets</title><meta property=og:site_name content=Acme><meta name=description content='{content}'>"
    reading = read(html(head))
    assert (reading.description, reading.description_source) == ("", "")


def test_a_description_is_one_line_however_it_was_written() -> None:
    """F3: pasted Markdown loses its lines, not its words."""
    assert read(html("<meta name=description content='# A\n\n- b\t c\u2028d'>")).description == "# A - b c d"


@pytest.mark.parametrize(
    "before",
    [
        "<div class='cookie-banner'><p>We and our partners use small files to make your visit here more pleasant.</p></div>",
        "<p>This website uses cookies to improve your experience and to count its visitors.</p>",
        "<p>Your browser is old and does not support the features of this site, please upgrade.</p>",
        "<noscript><p>This page needs scripts, so please turn them on in the settings of your browser.</p></noscript>",
        "<nav><p>Home, products, documentation, support, and the rest of our long navigation bar.</p></nav>",
        "<header><p>The leading vendor of widgets in the northern hemisphere since a long time ago.</p></header>",
        "<div class='admonition warning'><p>This version of the documentation is no longer the newest.</p></div>",
        "<aside><p>Subscribe to the letter that we send to all of our friends every now and then.</p></aside>",
        "<p><a href=/a>One link and then another link</a> <a href=/b>and yet another link to click</a></p>",
        "<p>Too short to say anything.</p>",
        "<p>The following parts of the widget are described in the list below this line:</p>",
        "<p>0000 1111 2222 3333 4444 5555 6666 7777 8888 9999 0000 1111 2222</p>",
        "<p>© 2026 Acme Incorporated and its many affiliates, to whom all of it belongs.</p>",
        "<p>You are viewing the documentation for an old version of the widgets library.</p>",
        "<p hidden>A paragraph that no reader of this page will ever see, since it is hidden.</p>",
        "<script>var p = '<p>A paragraph in a script that is long enough to be one, but is code.</p>'</script>",
    ],
)
def test_a_banner_is_never_the_description(before: str) -> None:
    """U46, U47: navigation, notices, consent and code are not what a page is about."""
    assert read(html("", f"{before}<p>{PROSE}</p>")).description == PROSE


def test_the_main_content_is_asked_before_the_rest() -> None:
    """A teaser above the article is not the article."""
    teaser = "<div><p>A teaser that stands above and is a perfectly good sentence of its own.</p></div>"
    assert read(html("", f"{teaser}<main><p>{PROSE}</p></main>")).description == PROSE
    assert read(html("", f"{teaser}<div role=main><header><p>{PROSE}</p></header></div>")).description == PROSE


def test_a_page_about_cookies_or_scripts_keeps_its_own_description() -> None:
    """D-48: words do not make a banner of what the author wrote as the description."""
    text = "How to set cookies and enable JavaScript in the embedded browser"
    assert read(html(f"<meta name=description content='{text}'>")).description == text


def test_lines_of_a_paragraph_are_words_apart() -> None:
    """A line break separates words; emphasis does not."""
    assert read(html("", f"<p>Wid<b>gets</b> and<br>more. {PROSE}</p>")).description == f"Widgets and more. {PROSE}"


def test_japanese_needs_fewer_characters() -> None:
    """Twenty characters of Japanese are a sentence."""
    text = "この文書は、ウェブサイトの概要と主な機能についての説明です。"
    assert read(html("", f"<p>{text}</p>")).description == text
