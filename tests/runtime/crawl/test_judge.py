"""What an operator reads of a site that cannot be entered."""

from __future__ import annotations

import pytest

from runtime.crawl.judge import entry_problem
from runtime.reading import Left


@pytest.mark.parametrize(
    ("reason", "detail", "said"),
    [
        (Left.LOGIN, "403", "the site refuses our crawler (403)"),
        (Left.HTTP_ERROR, "429", "the site finds our requests too many (429)"),
        (Left.HTTP_ERROR, "503", "the site is not available now (503)"),
        (Left.BLOCKED, "a challenge page was served", "a bot wall answers instead of the site"),
        (Left.LOGIN, "401", "the entry page asks for a login (401)"),
        (Left.LOGIN, "a login form was served", "the entry page asks for a login (a login form was served)"),
        (Left.HTTP_ERROR, "500", "the entry page cannot be read (500)"),
    ],
)
def test_a_wall_is_not_called_a_login(reason: Left, detail: str, said: str) -> None:
    """A refusal is said to be one; a login is what asks for one."""
    assert entry_problem(reason, detail).startswith(said)
