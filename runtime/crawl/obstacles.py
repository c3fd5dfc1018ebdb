"""What stands between a reader and a page: bot walls, empty shells, login forms, "not found" with status 200.

Told by headers and markup. A page that talks about captchas, Cloudflare or status codes is a page: words in the text
never decide, but for the titles that servers give their own "not found" pages, and those only on a short page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

from lxml.etree import _Element

from runtime.crawl.text import length_of

SHELL_CHARS: Final = 200
"""Fewer visible characters than this, with scripts that would bring more, make a shell."""

BLANK_CHARS: Final = 20
"""Fewer than this, outside of paragraphs and headings, is no more than "Loading"."""

CHALLENGE_CHARS: Final = 1_000
ERROR_PAGE_CHARS: Final = 800

_CHALLENGE_HEADERS: Final = {
    "cf-mitigated": re.compile("challenge"),  # Cloudflare
    "x-amzn-waf-action": re.compile("challenge|captcha"),  # AWS WAF
    "x-vercel-mitigated": re.compile("challenge|deny"),
}
_CHALLENGE_SCRIPT: Final = re.compile(
    r"_cf_chl_opt|/cdn-cgi/challenge-platform/h/[a-z]/orchestrate"  # Cloudflare; its /scripts/jsd/ is on ordinary pages
    r"|window\.gokuProps"  # AWS WAF
    r"|(?:geo|ct)\.captcha-delivery\.com"  # DataDome
    r"|sucuri_cloudproxy_js"
    r"|/_sec/cp_challenge/"  # Akamai
    r"|/\.within\.website/x/cmd/anubis/"
    r"|/\.well-known/ddos-guard/js-challenge"
)
_CHALLENGE_IDS: Final = frozenset(
    {"challenge-form", "challenge-running", "challenge-error-title", "cf-challenge-running", "px-captcha"}
    | {"sec-if-cpt-container", "anubis_challenge"}
)
_CHALLENGE_FRAME: Final = "/_incapsula_resource"

_ROOT_IDS: Final = frozenset(
    {"root", "app", "__next", "__nuxt", "___gatsby", "main-app", "app-root", "react-root", "app-mount", "svelte"}
    | {"mount", "application", "q-app"}
)
MAX_LOOKED_AT: Final = 2_000

_PROSE: Final = ("p", "h1", "h2", "h3", "li", "td", "pre")
_TITLE_PARTS: Final = re.compile(r"\s+[-–—|·•:»«/]\s+|\s*[|–—]\s*")
_SORRY: Final = r"(?:sorry |oops |whoops |uh oh |error |http |status )*"
_NOUN: Final = r"(?:(?:the |this |that |your |requested )*(?:page|file|document|url|content|article|resource) )?"
_ABSENT: Final = (
    r"(?:you(?:.re| are| were)? (?:requested|looking for) )?"
    r"(?:not found|(?:was|is|could|can) ?not (?:be )?found|(?:wasn|isn|couldn|can).t (?:be )?found"
    r"|does(?: not|n.t) exist|no longer exists?|is (?:missing|gone))(?: any ?more| here)?(?: error)?"
)
_ERROR_TITLE: Final = re.compile(
    rf"{_SORRY}(?:404|410)(?: error| page)*"
    rf"|{_SORRY}(?:(?:404|410)(?: error)? )?{_NOUN}{_ABSENT}(?: (?:error )?(?:404|410))?"
    rf"|{_SORRY}we (?:can.?t|cannot|couldn.t|could not) find (?:the|that|this|your) page.*"
    r"|(?:error )?50[0234] (?:internal server error|bad gateway|service (?:temporarily )?unavailable|gateway time ?out)"
    r"|(?:die )?seite (?:wurde )?nicht gefunden|page (?:non trouvée|introuvable)|página no encontrada"
    r"|página não encontrada|pagina non trovata|pagina niet gevonden|страница не найдена|nie znaleziono strony"
    r"|sidan (?:hittades inte|kunde inte hittas)|siden blev ikke fundet|stránka nenalezena|sayfa bulunamadı"
    r"|(?:お探しの)?ページ(?:が|は)見つかりません(?:でした)?|(?:页面|頁面)(?:未找到|不存在)|페이지를 찾을 수 없습니다",
    re.IGNORECASE,
)
_PUNCTUATION: Final = re.compile(r"[^\w'’]+")


def is_challenge(
    headers: Iterable[tuple[str, str]],
    body: _Element | None,
    scripts: Iterable[str],
    frames: Iterable[str],
    visible_chars: int,
) -> bool:
    """Whether a bot wall answered instead of the site.

    :param scripts: source URLs and inline texts of the page's scripts.
    :param frames: source URLs of its iframes.
    """
    for name, value in headers:
        known = _CHALLENGE_HEADERS.get(name.lower())
        if known is not None and known.search(value.lower()):
            return True
    if visible_chars >= CHALLENGE_CHARS:
        return False
    if any(_CHALLENGE_SCRIPT.search(script) for script in scripts):
        return True
    if any(_CHALLENGE_FRAME in frame.lower() for frame in frames):
        return True
    if body is None:
        return False
    return any(node.get("id") in _CHALLENGE_IDS for node in islice(body.iter(), MAX_LOOKED_AT))


def is_script_shell(
    body: _Element | None, scripts: int, noscripts: Iterable[str], visible_chars: int, links: int
) -> bool:
    """Whether scripts would bring the content: little text, and a place or a warning left for them.

    :param body: the page without scripts and noscript.
    :param scripts: number of scripts that can run.
    :param noscripts: texts of the `noscript` elements.
    """
    if body is None or not scripts or visible_chars >= SHELL_CHARS:
        return False
    if any("javascript" in text.lower() for text in noscripts):
        return True
    for node in islice(body.iter(), MAX_LOOKED_AT):
        name, ident = str(node.tag), (node.get("id") or "").lower()
        if (ident in _ROOT_IDS or "-" in name) and 2 * length_of(node) <= SHELL_CHARS:
            return True
    if visible_chars >= BLANK_CHARS or links:
        return False
    return not any(length_of(node) for node in islice(body.iter(*_PROSE), MAX_LOOKED_AT))


def is_error_title(title: str, h1: str, body: _Element | None) -> bool:
    """Whether a short page calls itself "not found" in a part of its title or in its heading."""
    if not any(_says_error(part) for part in {*_TITLE_PARTS.split(title), h1}):
        return False
    return body is None or _content_chars(body) <= ERROR_PAGE_CHARS


def _says_error(text: str) -> bool:
    plain = _PUNCTUATION.sub(" ", text).strip()
    return len(plain) <= 80 and _ERROR_TITLE.fullmatch(plain) is not None


def _content_chars(body: _Element) -> int:
    """The text outside of the frame that every page of the site has."""
    main = next(body.iter("main"), None)
    total = length_of(body if main is None else main)
    if main is None:
        total -= sum(length_of(frame) for frame in islice(body.iter("nav", "header", "footer", "aside"), 20))
    return total
