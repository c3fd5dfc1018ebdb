"""`python -m tests.safety DIR`: runs the safety rows of a folder through the product.

Prints every failing row with what was wrong and ends with `N passed, M failed`; exit code 1 if any failed. A suite is a
module here with `FILE`, the rows it reads, and `run(folder)`, which yields the id of each row and its problems. A
suite whose module or file is not there is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

SUITES = ("ssrf", "webhook")


def results(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The rows of every suite in turn: an id, and what was wrong with the product's answer (nothing: passed)."""
    for name in SUITES:
        if importlib.util.find_spec(f"tests.safety.{name}") is None:
            continue
        suite = importlib.import_module(f"tests.safety.{name}")
        if (folder / suite.FILE).is_file():
            yield from suite.run(folder)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m tests.safety DIR", file=sys.stderr)
        return 2
    passed = failed = 0
    for row, problems in results(Path(arguments[0])):
        if problems:
            failed += 1
            print(f"{row}: {'; '.join(problems)}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
