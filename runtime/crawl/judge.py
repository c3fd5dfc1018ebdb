"""What an answer means for the list: listed, or left out with a reason. Pure."""

from __future__ import annotations

from runtime.reading import Left, PageReading, Response

STATUSES = {
    401: Left.LOGIN,  # RFC 9110 15.5.2: credentials would help
    407: Left.LOGIN,
    403: Left.FORBIDDEN,  # 15.5.4: they would not; mostly a refusal of us
    404: Left.NOT_FOUND,
    410: Left.GONE,
    429: Left.RATE_LIMITED,
    503: Left.UNAVAILABLE,
}

LOGIN_CHARS = 600
"""A page with more text than this beside its login form is a page."""


def judge_status(response: Response, *, cap: int) -> tuple[Left, str] | None:
    """What status, type and size alone decide; None means: read the page."""
    status = response.status
    if status in STATUSES:
        return STATUSES[status], str(status)
    if status in (204, 205) or (status == 200 and not response.body.strip()):
        return Left.EMPTY, str(status)
    if 300 <= status < 400:
        return Left.NOT_A_PAGE, f"{status} without a usable Location"
    if status != 200:
        return Left.HTTP_ERROR, str(status)
    if not response.complete and len(response.body) < cap:
        # Cut by the server, not by our cap: the next reading may be whole.
        return Left.TRUNCATED, "the body ended early"
    return None


def judge_page(reading: PageReading, *, redirected: bool) -> tuple[Left, str] | None:
    """What the page itself decides; None means: it is listed. Decided from markup, never from words such as
    "cloudflare" in the text (a page about captchas is a page).
    """
    if reading.challenge:
        return Left.BLOCKED, "a challenge page was served"
    if reading.script_shell:
        return Left.NEEDS_RENDERING, "the page is an empty shell without scripts"
    if not reading.indexable:
        return Left.NOINDEX, "noindex"
    if reading.password_form and (redirected or reading.visible_chars < LOGIN_CHARS):
        return Left.LOGIN, "a login form was served"
    if reading.is_error_title:
        return Left.SOFT_404, reading.title[:80]
    if not reading.title and not reading.h1 and reading.visible_chars == 0:
        return Left.EMPTY, "no title and no text"
    return None


def entry_problem(reason: Left, detail: str) -> str:
    """The sentence an operator reads when a site cannot be entered. A 403 is a refusal of us, mostly of a bot wall's
    making, and 429 and 503 pass: none of them says that the site wants a login, or that it has changed.
    """
    sentences = {
        Left.ROBOTS: "robots.txt does not allow us to read the entry page",
        Left.OFF_SITE: f"the entry page leads to another site ({detail})",
        Left.LOGIN: f"the entry page asks for a login ({detail})",
        Left.FORBIDDEN: f"the site refuses our crawler ({detail}); its file stays as it is",
        Left.RATE_LIMITED: f"the site finds our requests too many ({detail}); its file stays as it is",
        Left.UNAVAILABLE: f"the site is not available now ({detail}); its file stays as it is",
        Left.BLOCKED: f"a bot wall answers instead of the site ({detail}); its file stays as it is",
        Left.UNREACHABLE: f"the site does not answer ({detail})",
        Left.REFUSED: f"the address of the site is not allowed ({detail})",
    }
    return sentences.get(reason, f"the entry page cannot be read ({detail or reason})")
