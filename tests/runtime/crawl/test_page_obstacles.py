"""Bot walls, empty shells, login forms and soft 404s; and the pages that only talk about them."""

from __future__ import annotations

import pytest

from tests.runtime.crawl.pages import PROSE, html, read

SCRIPT = "<script src=/app.js></script>"


@pytest.mark.parametrize(
    ("markup", "headers"),
    [
        (html("<title>Just a moment...</title>", "<script>window._cf_chl_opt={cType:'managed'}</script>"), []),
        (html("", "<form id=challenge-form></form>"), []),
        (html("", "<script>window.gokuProps = {}</script><script src=https://x.awswaf.com/challenge.js></script>"), []),
        (html("", "<script src=https://ct.captcha-delivery.com/c.js></script>"), []),
        (html("", "<div id=px-captcha></div>"), []),
        (html("", "<iframe src='/_Incapsula_Resource?x=1'></iframe>"), []),
        (html("", f"<p>{PROSE}</p>"), [("cf-mitigated", "challenge")]),
        (html("", f"<p>{PROSE}</p>"), [("X-Amzn-Waf-Action", "captcha")]),
    ],
)
def test_a_bot_wall_is_known_by_its_markup_or_headers(markup: str, headers: list[tuple[str, str]]) -> None:
    """D-48: the vendors' own marks."""
    assert read(markup, *headers).challenge


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>Cloudflare captcha: access denied?</h1><p>Blocked: please verify you are human. {PROSE}</p>",
        "<pre>window._cf_chl_opt = {}</pre><p>robot or human, security check</p>",
        "<form><div class=g-recaptcha></div><script src=https://www.google.com/recaptcha/api.js></script></form>Hello",
        f"<script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script><p>{PROSE}</p>",
        f"<p>{'{{ template }}'} {'{% if %}'}</p>",
    ],
)
def test_a_page_that_talks_about_walls_is_a_page(body: str) -> None:
    """D-48: words, forms with a captcha, and a vendor's script on an ordinary page decide nothing."""
    assert not read(html("", body)).challenge


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("", f"<div id=root></div>{SCRIPT}"),
        ("", f"<div id='__next'><p>Loading</p></div>{SCRIPT}"),
        ("", f"<app-root></app-root><script type=module>boot()</script><p>{'x' * 100}</p>"),
        ("", f"<noscript>You need to enable JavaScript to run this app.</noscript><div id=whatever></div>{SCRIPT}"),
        (SCRIPT, "<div class=nothing></div>"),
    ],
)
def test_an_empty_frame_for_scripts_is_a_shell(head: str, body: str) -> None:
    """X10: under 200 visible characters, scripts, and a place or a warning left for them."""
    assert read(html(head, body)).script_shell


@pytest.mark.parametrize(
    "body",
    [
        f"<p>Short.</p>{SCRIPT}",
        "<div id=root></div>",
        f"<div id=root>{PROSE * 3}</div>{SCRIPT}",
        "<div id=root></div><script type=application/ld+json>{}</script><p>A short page with structured data.</p>",
        f"<a href=/a>a</a>{SCRIPT}",
        "",
    ],
)
def test_a_short_page_is_not_a_shell(body: str) -> None:
    """Without scripts that run, or with content of its own, a short page is just short."""
    assert not read(html("", body)).script_shell


def test_a_password_field_is_seen() -> None:
    """X9: a login wall has one."""
    assert read(html("", "<form><input TYPE=Password></form>")).password_form
    assert not read(html("", "<form><input type=text value=password></form>")).password_form


@pytest.mark.parametrize(
    ("title", "h1"),
    [
        ("Page not found", ""),
        ("Page Not Found | Acme", ""),
        ("Acme – 404", ""),
        ("404 Not Found", ""),
        ("404: This page could not be found.", ""),
        ("Error 404 (Not Found)", ""),
        ("Acme", "Oops! That page can’t be found."),
        ("Acme", "We couldn't find the page you were looking for"),
        ("Acme", "Sorry, this page doesn't exist"),
        ("Seite nicht gefunden", ""),
        ("ページが見つかりません", ""),
        ("500 Internal Server Error", ""),
    ],
)
def test_a_short_page_that_calls_itself_missing_is_an_error_page(title: str, h1: str) -> None:
    """X2: decided from the title's parts and the heading."""
    assert read(html(f"<title>{title}</title>", f"<h1>{h1}</h1><nav>{PROSE * 20}</nav><p>Go home.</p>")).is_error_title


@pytest.mark.parametrize(
    "title",
    [
        "Page",
        "Found",
        "Lost and found",
        "Page found",
        "404 ways to cook",
        "How to fix “page not found” errors",
        "Error handling",
        "Content",
        "The not-found file convention",
        "Chapter 404",
        "Not found in the wild: rare birds",
        "",
    ],
)
def test_a_page_about_errors_is_a_page(title: str) -> None:
    """Only a whole part of the title counts."""
    assert not read(html(f"<title>{title} | Acme</title>", "<p>Short.</p>")).is_error_title


def test_a_long_article_with_the_title_of_an_error_is_a_page() -> None:
    """An encyclopedia's page on status 404 has that very title."""
    assert not read(
        html("<title>404 Not Found - HTTP | Docs</title>", f"<main><p>{PROSE * 12}</p></main>")
    ).is_error_title
