"""What a good file is: each rule with a file that breaks it."""

from __future__ import annotations

import pytest

from runtime.document.validate import is_private, validate

GOOD = "# Acme\n\n> Widgets for all.\n\nDetails.\n\n## Docs\n\n- [A](https://a.example/): One.\n\n## Optional\n\n- [B](https://b.example/)\n"


def test_a_good_file_has_no_problems() -> None:
    """The safe shape passes every rule."""
    assert validate(GOOD, url="https://files.example.com/acme/llms.txt", public_only=True) == []


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        ("S2", "# Acme", "Acme"),
        ("S2", "# Acme", "Intro\n\n# Acme"),
        ("S2", "# Acme", "# "),
        ("S2", "Details.", "# Again"),
        ("S3", "> Widgets for all.\n\nDetails.", "Details.\n\n> Widgets for all."),
        ("S4", "> Widgets for all.\n\n", ""),
        ("S4", "Widgets for all.", "No description available"),
        ("S4", "> Widgets for all.", "> One.\n> Two."),
        ("S4", ": One.", ": undefined"),
        ("S5", "Details.", "### Details"),
        ("S6", "## Docs", "## Docs\n\nProse."),
        ("S6", "## Docs", "## Empty\n\n## Docs"),
        ("S6", "## Docs", "## Docs\n\n### Deep"),
        ("S6", "## Docs", "## Docs\n\n---"),
        ("S6", "## Docs", "## Docs\n\n<!-- note -->"),
        ("S7", "- [A]", "* [A]"),
        ("S7", ": One.", " - One."),
        ("S7", ": One.", " : One."),
        ("S7", "[A]", "[]"),
        ("S7", "https://a.example/", "https://a.example/(x)"),
        ("S7", "- [A]", "  - [A]"),
        ("S8", "## Optional", "## optional"),
        ("S8", "## Docs\n\n- [A](https://a.example/): One.\n\n", ""),
        ("S8", "## Docs", "## Optional\n\n- [C](https://c.example/)\n\n## Docs"),
        ("parser", "# Acme", "\ufeff# Acme"),
        ("parser", "\n## Docs\n", "\r\n## Docs\r\n"),
        ("parser", "Details.\n\n", ""),
        ("parser", "## Optional", "## docs"),
        ("parser", "One.", "One\x00."),
        ("relative", "https://a.example/", "/a"),
        ("duplicate", "https://b.example/", "https://a.example/"),
        ("private", "https://b.example/", "http://localhost:3000/"),
        ("size", "One.", "One. " * 10_000),
    ],
)
def test_each_rule_finds_what_breaks_it(rule: str, old: str, new: str) -> None:
    """One thing wrong in a good file, and the rule that says so."""
    assert old in GOOD
    broken = GOOD.replace(old, new, 1)

    assert rule in {problem.rule for problem in validate(broken, public_only=True)}


@pytest.mark.parametrize("text", ["", "x", "# T\n", "# T\n\n> S\n\nD\n", "## A\n\n- x\n"])
def test_lighthouses_three_rules(text: str) -> None:
    """A title, a link, fifty characters."""
    assert "lighthouse" in {problem.rule for problem in validate(text)}


def test_s1_the_file_is_called_llms_txt() -> None:
    """At the root or below a path, but never by another name."""
    assert [p.rule for p in validate(GOOD, url="https://x.example/a/index.txt")] == ["S1"]


def test_u15_private_links_are_a_problem_only_where_asked() -> None:
    """A service on a private network may list its own hosts."""
    text = GOOD.replace("https://b.example/", "http://10.0.0.1/")

    assert validate(text) == []
    assert [problem.line for problem in validate(text, public_only=True)] == [13]


@pytest.mark.parametrize(
    ("url", "want"),
    [
        ("http://127.0.0.1/", True), ("http://[::1]/", True), ("http://192.168.1.1:8080/", True),
        ("http://169.254.169.254/", True), ("http://localhost/", True), ("http://intranet/", True),
        ("http://app.localhost/", True), ("http://db.internal/", True), ("http://[::ffff:10.0.0.1]/", True),
        ("https://example.com/", False), ("https://8.8.8.8/", False), ("https://[2606:4700::1111]/", False),
        ("http://[bad/", True),
    ],
)  # fmt: skip
def test_private_hosts_are_known(url: str, want: bool) -> None:
    """Loopback, private and link-local addresses, names without a public suffix, and what cannot be read."""
    assert is_private(url) is want
