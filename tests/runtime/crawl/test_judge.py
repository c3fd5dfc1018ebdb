"""What an operator reads of a site that cannot be entered."""

from __future__ import annotations

import pytest

from runtime.crawl.judge import entry_problem
from runtime.reading import Left, LeftOut


@pytest.mark.parametrize(
    ("reason", "detail", "said"),
    [
        (Left.FORBIDDEN, "403", "the site refuses our crawler (403)"),
        (Left.RATE_LIMITED, "429", "the site finds our requests too many (429)"),
        (Left.UNAVAILABLE, "503", "the site is not available now (503)"),
        (Left.BLOCKED, "a challenge page was served", "a bot wall answers instead of the site"),
        (Left.LOGIN, "401", "the entry page asks for a login (401)"),
        (Left.LOGIN, "a login form was served", "the entry page asks for a login (a login form was served)"),
        (Left.HTTP_ERROR, "500", "the entry page cannot be read (500)"),
    ],
)
def test_a_wall_is_not_called_a_login(reason: Left, detail: str, said: str) -> None:
    """A refusal is said to be one; a login is what asks for one."""
    assert entry_problem(reason, detail).startswith(said)


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ((Left.FORBIDDEN, "403"), "blocked (403)"),
        ((Left.RATE_LIMITED, "429"), "rate limited (429)"),
        ((Left.UNAVAILABLE, "503"), "unavailable (503)"),
        ((Left.LOGIN, "401"), "login wall (401)"),
        ((Left.BLOCKED, "a challenge page was served"), "bot wall (a challenge page was served)"),
        ((Left.NOINDEX, ""), "noindex"),
        ((Left.OLD_VERSION, "2.0"), "old version (2.0)"),
    ],
)
def test_a_reason_is_told_in_words(left: tuple[Left, str], said: str) -> None:
    """An operator reads what stood in the way and the status that said so."""
    assert LeftOut("https://docs.example.com/a", *left).words == said
