"""What docs/ says about alarms, rights, money and bad days is what the code says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cdk import documents, prices
from cdk.config import STAGES, StageConfig, camel_case
from cdk.cost import FLEETS, Habits, month, sizes
from cdk.made import replace_part
from tests.cdk.conftest import ROOT, Synth
from tests.cdk.scenarios import played

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def body(synth: Synth) -> dict[str, Any]:
    return synth("prod")


@pytest.mark.parametrize("name", ["alarms.md", "security.md", "cost.md"])
def test_made_pages_are_up_to_date(body: dict[str, Any], synth: Synth, name: str) -> None:
    """`python -m cdk.documents` writes them."""
    assert (DOCS / name).read_text() == documents.pages(body, synth("prod", liveCrawl="true"))[DOCS / name]


def test_the_table_of_bad_days_is_up_to_date() -> None:
    """`python -m tests.cdk.scenarios` writes it."""
    text = (DOCS / "operations.md").read_text()
    assert text == replace_part(text, "scenarios", played())


def test_a_page_without_its_block_is_refused() -> None:
    with pytest.raises(ValueError, match="no part 'iam'"):
        replace_part("# page", "iam", "table")


def test_every_right_has_a_reason(body: dict[str, Any]) -> None:
    """A new action makes the generation fail until somebody says why."""
    body = {"Resources": {**body["Resources"]}}
    statement = {"Action": "s3:DeleteBucket", "Resource": "*"}
    body["Resources"]["WorkerX"] = {
        "Type": "AWS::IAM::Policy",
        "Properties": {"PolicyDocument": {"Statement": [statement]}},
    }
    with pytest.raises(KeyError, match="DeleteBucket"):
        documents.iam_table(body)


def test_the_cost_of_a_month_is_the_sum_by_hand(body: dict[str, Any]) -> None:
    """The workers' share of a large fleet, computed again from the template's numbers alone."""
    size, habits = sizes(body, STAGES["prod"].cadence_seconds), Habits()
    assert (size.worker_gb, size.batch, size.architecture) == (1.0, 10, "arm64")
    batches = 100_000 * 30.4 / 7 / 10
    seconds = 2 + (1 - 0.7**10) * 38
    assert month(100_000, size, habits)["workers"] == pytest.approx(batches * seconds * prices.GB_SECOND["arm64"])
    standing = ("secrets and key", "alarms and dashboard", "custom metrics")
    assert all(month(FLEETS[0], size, habits)[name] == month(FLEETS[-1], size, habits)[name] for name in standing)


def test_more_of_anything_costs_more(body: dict[str, Any]) -> None:
    """Sites, memory and slow sites: no term has the wrong sign."""
    size = sizes(body, STAGES["prod"].cadence_seconds)
    bill = sum(month(1_000, size, Habits()).values())
    assert sum(month(2_000, size, Habits()).values()) > bill
    assert sum(month(1_000, size, Habits(crawl_seconds=80)).values()) > bill
    bigger = type(size)(**{name: getattr(size, name) for name in size.__slots__} | {"worker_gb": 2.0})
    assert sum(month(1_000, bigger, Habits()).values()) > bill


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """The page exists, and so does the heading."""
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text()):
        name, _, anchor = target.partition("#")
        other = (page.parent / name).resolve() if name else page
        assert other.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", other.read_text(), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, target


def test_the_settings_that_the_pages_name_exist() -> None:
    """`-c key=` in any page is a key of the configuration."""
    known = {camel_case(name) for name in StageConfig.__slots__}
    for page in DOCS.rglob("*.md"):
        named = set(re.findall(r"-c (\w+)=", page.read_text()))
        assert named <= known, page


def test_the_stage_table_of_the_deploy_page_is_true() -> None:
    """The numbers that people choose a stage by."""
    text = (DOCS / "deploy.md").read_text()
    rows = {
        cells[0]: cells[1:]
        for line in text.splitlines()
        if line.startswith("| ") and len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 5
    }
    order = ("dev", "staging", "prod", "local")
    configs = [STAGES[stage] for stage in order]
    assert rows["workers at once"] == [str(config.worker_max_concurrency) for config in configs]
    assert rows["logs kept"] == [f"{c.log_retention_days} day{'s' * (c.log_retention_days > 1)}" for c in configs]
    assert rows["low alarms"] == ["yes" if config.low_severity_alarms else "no" for config in configs]
    assert rows["termination protection"] == ["yes" if config.termination_protection else "no" for config in configs]
    schedules = [config.schedule.removeprefix("rate(").removesuffix(")") for config in configs]
    assert rows["schedule"] == schedules
