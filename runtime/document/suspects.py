"""Pages that answer 200 and are not the site: bot checks, parked domains, a web server's welcome, maintenance."""

from __future__ import annotations

import re

from runtime.document.model import Document

FEW = 3
"""A real site may have a page called "Access denied"; one that consists of three pages or fewer may not."""

_STATUS = (
    r"(?:400|401|403|404|429|500|502|503|504)\b.{0,30}(?:bad request|unauthori[sz]ed|forbidden|not found"
    r"|too many requests|error|bad gateway|unavailable|time-?out)"
)
_PHRASES = (
    r"just a moment|attention required|checking your browser|verify (?:that )?you are (?:a )?human",
    r"are you (?:a )?robot",
    r"access (?:to this page has been )?denied|request (?:blocked|rejected)|pardon our interruption|ddos.guard",
    r"^(?:captcha|security check|forbidden|not found|bad gateway|service unavailable|internal server error|error)\W*$",
    r"domain (?:name )?(?:is |may be )?(?:parked|for sale|has expired|expired|available)|buy this domain",
    r"parked (?:free|domain|page)|account suspended",
    r"this (?:web ?site|site|account) (?:is |has been )?(?:suspended|expired|disabled)",
    r"welcome to nginx|apache2? .*default page|iis windows server|test page for|default web ?site page|^it works\W*$",
    r"(?:site|website|page) (?:is )?(?:under|down for) (?:construction|maintenance)",
    r"^(?:scheduled )?maintenance(?: mode)?\W*$|^(?:sign|log) ?in\W*$|^(?:we'll be|be right) back\b",
    _STATUS,
)
_NOT_THE_SITE = re.compile("|".join(_PHRASES), re.IGNORECASE)


def not_the_site(document: Document) -> str:
    """The title that gives it away, or the empty text.

    Looked for in a file of a few pages, and in a larger one where most of its pages say it.
    """
    titles = [document.title, *(link.title for link in document.links())]
    found = [title for title in titles if _NOT_THE_SITE.search(title)]
    if found and (len(titles) - 1 <= FEW or len(found) * 2 > len(titles)):
        return found[0]
    return ""
