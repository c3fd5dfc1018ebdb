"""Every case of tests/data/web, through the product's own functions."""

from pathlib import Path

import pytest

from tests.cases.check import check
from tests.cases.corpus import Case, load, operations, run

ROOT = Path(__file__).parents[1] / "data" / "web"
OPS = operations()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in load(ROOT)])
def test_case(case: Case) -> None:
    """The product answers the case as its rule demands."""
    assert not check(case, run(case, OPS)), case.title
