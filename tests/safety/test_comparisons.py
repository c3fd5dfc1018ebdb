"""Every secret is compared in constant time: there is one comparison, and no file compares in another way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "runtime").rglob("*.py"))
JUDGES = {
    "runtime/api.py",
    "runtime/webhook.py",
    "runtime/live_token.py",
    "runtime/handlers/live.py",
    "runtime/cli/live.py",
}
"""The files that judge what a caller gives: the cron secret, API keys, webhook secrets, signatures, live tokens."""

SECRET = {"secret", "secrets", "signature", "signatures", "password"}
GIVEN = SECRET | {"key", "keys", "token", "tokens", "given", "candidate", "expected", "signed"}
OURS = {
    "runtime/live_crawl.py: site.webhook_secret == secret",
    "runtime/management.py: site.webhook_secret == secret",
    "runtime/sites/transitions.py: row['webhook_secret'] == secret",
}
"""Both sides are ours: whether the row took the secret that was just made for it."""


def words(node: ast.expr) -> set[str]:
    """The words that an expression is named by: `self._api_key` and `row["api_key"]` have api and key."""
    if isinstance(node, ast.Call):
        return words(node.func)
    if isinstance(node, ast.Subscript):
        place = node.slice
        own = place.value if isinstance(place, ast.Constant) and isinstance(place.value, str) else ""
        return words(node.value) | set(own.split("_"))
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return set(name.strip("_").split("_"))


def comparisons(tree: ast.AST, named: set[str]) -> Iterator[str]:
    """Comparisons by value of something that is named as a secret with something that is no constant."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        by_value = any(isinstance(kind, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for kind in node.ops)
        sides = [node.left, *node.comparators]
        with_constant = any(isinstance(side, ast.Constant) for side in sides)
        if by_value and not with_constant and any(words(side) & named for side in sides):
            yield ast.unparse(node)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("if given == key: ...", True),
        ("if self._cron_secret() != sent: ...", True),
        ("if sent in secrets: ...", True),
        ("if row['webhook_secret'] == sent: ...", True),
        ("if signature == '': ...", False),
        ("if secret is None: ...", False),
        ("if equal(given, key): ...", False),
    ],
)
def test_a_comparison_is_seen(code: str, found: bool) -> None:
    """The check itself: what compares a secret by value is found, what does not is left alone."""
    assert bool(list(comparisons(ast.parse(code), GIVEN))) is found


def test_no_secret_is_compared_by_value() -> None:
    """`==` ends at the first byte that differs, which tells a caller how much of a guess was right."""
    found = set()
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        named = GIVEN if name in JUDGES else SECRET
        found |= {f"{name}: {code}" for code in comparisons(ast.parse(path.read_text("utf-8")), named)}

    assert found == OURS


def test_there_is_one_comparison() -> None:
    """All judges of secrets call `webhook.equal`, and it alone compares."""
    digests = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8").count("compare_digest(") for path in FILES}
    callers = {
        path.relative_to(ROOT).as_posix()
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and words(node.func) >= {"equal"}
    }

    assert {name: count for name, count in digests.items() if count} == {"runtime/webhook.py": 1}
    assert callers == JUDGES
