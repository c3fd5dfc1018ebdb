"""Every case of tests/data/web and tests/data/web-more, through the product's own functions."""

from pathlib import Path

import pytest

from tests.cases.check import check
from tests.cases.corpus import Case, load, operations, run

DATA = Path(__file__).parents[1] / "data"
ROOTS = (DATA / "web", DATA / "web-more")
OPS = operations()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for root in ROOTS for case in load(root)])
def test_case(case: Case) -> None:
    """The product answers the case as its rule demands."""
    assert not check(case, run(case, OPS)), case.title
