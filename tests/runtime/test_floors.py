"""The house: a file imports from floors below its own, or beside it; nothing in `runtime` knows `cdk`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

RUNTIME = Path(__file__).parents[2] / "runtime"

GROUND = {
    "models",
    "reading",
    "verdicts",
    "ports",
    "registry",
    "urls",
    "url_syntax",
    "globs",
    "errors",
    "settings",
    "metrics",
    "environment",
}
DOORS = {"handlers", "cli", "local", "wiring", "paid", "doctor", "__main__"}
ADAPTERS = {"web", "sites", "publish", "queues", "aws", "enhance"}
USE_CASES = {
    "judgement", "evidence", "commitment", "enhancement",
    "api", "live_crawl", "management", "enroll", "published", "budgeting", "dispatch", "work", "recrawl", "survey", "publishing", "versions", "notify",
    "crawl.crawler", "crawl.visit", "crawl.rules", "crawl.access", "crawl.twins", "sitemap.tree", "sitemap.conditional_read",
}  # fmt: skip
PURE_ADAPTER_ROOMS = {"web.gate", "web.addresses", "web.host"}
"""Pure parts of adapters that use cases may call directly: enrolment judges a URL by the gate's own rules."""


def floor(module: str) -> int:
    """The floor of a module named without `runtime.`: 1 ground, 2 logic, 3 adapters, 4 use cases, 5 doors."""
    room = module.split(".", maxsplit=1)[0]
    if room in DOORS:
        return 5
    if module in USE_CASES or room in USE_CASES:
        return 4
    if room in ADAPTERS:
        return 2 if module in PURE_ADAPTER_ROOMS else 3
    return 1 if room in GROUND else 2


def imports(path: Path) -> list[str]:
    """The modules of the product that a file imports, type-checking imports left out."""
    found: list[str] = []
    tree = ast.parse(path.read_text("utf-8"))
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [
                name if (RUNTIME.parent / (name.replace(".", "/") + ".py")).exists() else node.module
                for name in submodules
            ]
    return found


FILES = sorted(RUNTIME.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(RUNTIME)))
def test_a_file_imports_only_from_its_own_floor_or_below(path: Path) -> None:
    """No file reaches up: logic knows no adapter, an adapter no use case, a use case no door."""
    module = ".".join(path.relative_to(RUNTIME).with_suffix("").parts).removesuffix(".__init__")
    above = [
        name
        for name in imports(path)
        if name.startswith("runtime.") and floor(name.removeprefix("runtime.")) > floor(module)
    ]

    assert above == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(RUNTIME)))
def test_the_runtime_does_not_know_the_infrastructure(path: Path) -> None:
    """`runtime` runs anywhere; it never imports `cdk` or `aws_cdk`."""
    assert not [name for name in imports(path) if name.split(".")[0] in ("cdk", "aws_cdk")]


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if floor(".".join(path.relative_to(RUNTIME).with_suffix("").parts)) < 5],
    ids=lambda path: str(path.relative_to(RUNTIME)),
)
def test_nothing_below_the_doors_reads_the_clock_or_the_environment(path: Path) -> None:
    """`now` is an argument and settings are values; only doors ask the machine."""
    calls = [
        ast.unparse(node) for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Attribute)
    ]

    assert not {"datetime.now", "datetime.utcnow", "time.time", "os.environ", "os.getenv", "date.today"} & set(calls)
