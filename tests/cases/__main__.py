"""Run a folder of cases through the product: `python -m tests.cases tests/data/web [ID ...]`.

Prints each failing id with its differences and ends with `N passed, M failed`; the exit code is 1 if any failed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cases.check import check
from tests.cases.corpus import load, operations, run


def main(arguments: list[str]) -> int:
    if not arguments or not (Path(arguments[0]) / "cases.jsonl").is_file():
        print("usage: python -m tests.cases DIR [ID ...]   (DIR holds cases.jsonl)", file=sys.stderr)
        return 2
    folder, wanted = arguments[0], set(arguments[1:])
    ops = operations()
    passed = failed = 0
    for case in load(folder):
        if wanted and case.id not in wanted:
            continue
        if differences := check(case, run(case, ops)):
            failed += 1
            print(f"{case.id} ({case.op}): {case.title}")
            for difference in differences:
                print(f"    {difference[:400]}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
