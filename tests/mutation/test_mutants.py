"""The mutants are in step with the code and the page; that each of them is killed is shown by `make mutation`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.__main__ import page_of
from tests.mutation.mutants import MUTANTS
from tests.mutation.page import ROOT, part, rows_of
from tests.mutation.workshop import Mutant, Verdict, workshop


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.without)
def test_an_edit_still_applies(mutant: Mutant) -> None:
    """Each safeguard is still where the mutant looks for it, and the tests that should notice are there."""
    text = (ROOT / mutant.path).read_text("utf-8")

    assert mutant.applied(text) != text
    assert [test for test in mutant.tests if not (ROOT / test).exists()] == []


def test_every_mutant_has_a_name_of_its_own() -> None:
    """Rows of the table are told apart by what was taken out."""
    assert len({mutant.without for mutant in MUTANTS}) == len(MUTANTS)


def test_an_edit_that_does_not_match_once_is_an_error() -> None:
    """A mutant that has been left behind by the code is no proof of anything."""
    mutant = Mutant("a guard", "x.py", "guard()", "pass", ())

    with pytest.raises(ValueError, match="matches 0 times"):
        mutant.applied("other()")
    with pytest.raises(ValueError, match="matches 2 times"):
        mutant.applied("guard(); guard()")


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        ("def test_it(): assert 1 + 1 == 2", Verdict()),
        ("def test_it(): assert 1 + 1 == 3", Verdict(killed_by="test_it.py::test_it")),
        ("import nothing_of_that_name", Verdict(problem="broken")),
        ("", Verdict(problem="no test")),
    ],
    ids=["pass", "failure", "import error", "no test"],
)
def test_only_a_failed_test_kills(test: str, verdict: Verdict) -> None:
    """An import that breaks, or a file without tests, is a problem and no proof."""
    with workshop(ROOT) as shop:
        (shop.folder / "test_it.py").write_text(test)
        said = shop.run(["test_it.py"])

    assert (said.killed_by, bool(said.problem)) == (verdict.killed_by, bool(verdict.problem))


def test_a_copy_is_whole_again_after_a_mutant(tmp_path: Path) -> None:
    """The next mutant starts from the tree as it is, and the tree itself is never touched."""
    mutant = MUTANTS[0]
    before = (ROOT / mutant.path).read_text("utf-8")
    with workshop(ROOT) as shop:
        with shop.without(mutant):
            assert (shop.folder / mutant.path).read_text("utf-8") != before
        assert (shop.folder / mutant.path).read_text("utf-8") == before
    assert (ROOT / mutant.path).read_text("utf-8") == before


def test_the_table_names_every_mutant() -> None:
    """docs/reliability.md has one row a mutant, in order."""
    assert list(rows_of(part("mutation"))) == [mutant.without for mutant in MUTANTS]


def test_new_rows_come_between_those_that_are_there() -> None:
    """A mutant that was judged alone gets its row at its place; the others keep theirs, and where they came from."""
    before = page_of(dict.fromkeys(MUTANTS, Verdict(killed_by="old")), "Commit 1.", "")
    new = {MUTANTS[1]: Verdict(killed_by="new")}
    after = page_of(new, "Commit 2.", before)

    assert after.startswith("Commit 1.\n\nCommit 2.\n\n| taken out")
    assert list(rows_of(after)) == [mutant.without for mutant in MUTANTS]
    changed = [name for name, row in rows_of(after).items() if row != rows_of(before)[name]]
    assert changed == [MUTANTS[1].without]
