"""docs/scheduling.md shows what the benchmark makes: the same tables, every policy, every plot."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks.freshness.compare import OTHERS, compare
from benchmarks.freshness.report import months, plot, table
from benchmarks.freshness.workload import WORKLOADS
from cdk.made import part_of, replace_part

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "scheduling.md"


def part(name: str) -> str:
    return part_of(PAGE.read_text("utf-8"), name)


def shape(text: str) -> list[tuple[str, int]]:
    """The tables' rows without their figures: the first cell, and how many there are."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [(re.sub(r"[\d,]+", "0", cells[0]).strip(), len(cells)) for cells in rows]


@pytest.mark.parametrize("workload", list(WORKLOADS))
def test_the_page_has_the_tables_that_the_report_makes(workload: str) -> None:
    """The same rows in the same order, whatever the figures; and the sentence with the shares."""
    said: list[str] = []
    made = compare(workload, 20, 8.0, 7, said.append)
    text = table(made)

    assert shape(part(workload)) == shape(text)
    assert "At the same crawls `learned` reaches" in part(workload)
    assert len(said) > len(OTHERS) * 2
    assert set(months(made)) == {"fixed 7 days", "learned, at one price", "oracle"}


def test_the_plots_that_the_page_shows_are_there() -> None:
    """Well-formed SVG, and none that no page shows."""
    shown = set(re.findall(r"\]\((scheduling[\w-]*\.svg)\)", PAGE.read_text("utf-8")))

    assert shown == {path.name for path in DOCS.glob("scheduling*.svg")}
    assert len(shown) == 2 * len(WORKLOADS)
    for name in shown:
        assert ET.parse(DOCS / name).getroot().tag.endswith("svg")  # noqa: S314 - a file of ours


def test_a_plot_has_a_line_for_each_series() -> None:
    """Named, drawn inside the frame."""
    svg = plot("Title", "across", {"one": [(0, 0.5), (2, 0.9)], "oracle": [(1, 0.7)]})
    drawn = ET.fromstring(svg)  # noqa: S314 - made here
    texts = [element.text for element in drawn.iter() if element.tag.endswith("text")]

    assert {"Title", "across", "one", "oracle"} <= set(texts)
    assert sum(element.tag.endswith("polyline") for element in drawn.iter()) == 2


def test_a_part_is_replaced_and_nothing_else() -> None:
    """A page without the part is an error."""
    page = "a\n<!-- made: x -->\nold\n<!-- end -->\nb\n<!-- made: y -->\n<!-- end -->"

    assert replace_part(page, "x", r"n\1w") == page.replace("\nold\n", "\n\nn\\1w\n\n")
    with pytest.raises(ValueError, match="no part"):
        replace_part(page, "z", "new")
