"""Takes the safeguards out one at a time; a test has to fail each time.

python -m tests.mutation                every mutant; ends with `N killed, M survived`, and 1 unless M is 0
python -m tests.mutation fence pin      only those whose name has one of these words
python -m tests.mutation --write        every mutant, and the table into docs/reliability.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.mutation.mutants import MUTANTS
from tests.mutation.page import ROOT, origin, write
from tests.mutation.workshop import Mutant, Verdict, workshop


def judge(mutants: Sequence[Mutant]) -> dict[Mutant, Verdict]:
    """The verdict on each. The whole tree passes the same tests first: else a failure would prove nothing."""
    verdicts: dict[Mutant, Verdict] = {}
    with workshop(ROOT) as shop:
        sound = shop.run(sorted({test for mutant in mutants for test in mutant.tests}), limit_seconds=1_800)
        if not sound.survived:
            raise SystemExit(f"the tree itself does not pass: {sound.killed_by or sound.problem}")
        print(f"the tree itself passes in {sound.seconds:.0f} s", flush=True)
        for mutant in mutants:
            with shop.without(mutant):
                verdict = verdicts[mutant] = shop.run(mutant.tests)
            found = verdict.killed_by or verdict.problem or "SURVIVED"
            print(f"{verdict.seconds:5.1f} s  without {mutant.without}: {found}", flush=True)
    return verdicts


def table(verdicts: dict[Mutant, Verdict]) -> str:
    rows = ["| taken out | in | the test that fails first |", "|---|---|---|"]
    for mutant, verdict in verdicts.items():
        test = f"`{verdict.killed_by}`" if verdict.killed_by else verdict.problem or "**none**"
        rows.append(f"| {mutant.without} | `{mutant.path}` | {test.replace('|', '∣')} |")
    return "\n".join(rows)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("words", nargs="*", help="only mutants whose name has one of these words")
    parser.add_argument("--write", action="store_true", help="write the table into docs/reliability.md")
    given = parser.parse_args(arguments)
    if given.write and given.words:
        parser.error("the table has every mutant: leave the words out")
    chosen = [mutant for mutant in MUTANTS if not given.words or any(word in mutant.without for word in given.words)]
    verdicts = judge(chosen)
    killed = sum(bool(verdict.killed_by) for verdict in verdicts.values())
    result = f"{killed} killed, {len(verdicts) - killed} survived"
    if given.write:
        seconds = sum(verdict.seconds for verdict in verdicts.values())
        head = f"{origin('make mutation')} {result}, in {seconds / 60:.0f} minutes."
        write("mutation", f"{head}\n\n{table(verdicts)}")
    print(result)
    return 0 if killed == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
