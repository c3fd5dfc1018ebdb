"""Takes the safeguards out one at a time; a test has to fail each time.

python -m tests.mutation                every mutant; ends with `N killed, M survived`, and 1 unless M is 0
python -m tests.mutation fence pin      only those whose name has one of these words
python -m tests.mutation --write        every mutant, and the table into docs/reliability.md
python -m tests.mutation --new --write  only those that the page does not have yet, and their rows into its table
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.mutation.mutants import MUTANTS
from tests.mutation.page import HEADER, ROOT, origin, part, rows_of, write
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


def row(mutant: Mutant, verdict: Verdict) -> str:
    test = f"`{verdict.killed_by}`" if verdict.killed_by else verdict.problem or "**none**"
    return f"| {mutant.without} | `{mutant.path}` | {test.replace('|', '∣')} |"


def page_of(verdicts: dict[Mutant, Verdict], head: str, before: str) -> str:
    """The part of the page: what was found when and how, and a row a mutant; those without a verdict keep theirs."""
    kept = rows_of(before)
    table = [row(mutant, verdicts[mutant]) if mutant in verdicts else kept[mutant.without] for mutant in MUTANTS]
    heads = [line for line in before.splitlines() if line.startswith("Commit ")] if len(verdicts) < len(MUTANTS) else []
    return "\n\n".join([*heads, head, "\n".join([*HEADER, *table])])


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("words", nargs="*", help="only mutants whose name has one of these words")
    parser.add_argument("--new", action="store_true", help="only mutants that docs/reliability.md does not have yet")
    parser.add_argument("--write", action="store_true", help="write the table into docs/reliability.md")
    given = parser.parse_args(arguments)
    if given.write and given.words:
        parser.error("the table has every mutant: leave the words out")
    before = part("mutation")
    known = rows_of(before) if given.new else {}
    chosen = [mutant for mutant in MUTANTS if not given.words or any(word in mutant.without for word in given.words)]
    chosen = [mutant for mutant in chosen if mutant.without not in known]
    verdicts = judge(chosen)
    killed = sum(bool(verdict.killed_by) for verdict in verdicts.values())
    result = f"{killed} killed, {len(verdicts) - killed} survived"
    if given.write:
        seconds = sum(verdict.seconds for verdict in verdicts.values())
        command = "python -m tests.mutation --new --write" if given.new else "make mutation"
        head = f"{origin(command)} {result}, in {seconds / 60:.0f} minutes."
        write("mutation", page_of(verdicts, head, before))
    print(result)
    return 0 if killed == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
