"""The commands: what they print, for people and as JSON, and what they leave behind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from runtime.sample.server import serve_in_thread
from runtime.sample.site import SampleSite
from tests.runtime.cli.conftest import Shell


def test_crawl_writes_the_file_of_the_sample_site(shell: Shell, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """A one-off crawl gives the whole llms.txt and enrols nothing."""
    output = tmp_path / "llms.txt"

    result = shell("crawl", shell.server.url, "--max-pages", "100", "-o", str(output), "--json")

    assert result.code == 0, result.stderr
    assert shell.scrub(output.read_text("utf-8")) == snapshot(name="llms.txt")
    value = {name: found for name, found in result.value.items() if name not in ("llms_txt", "output")}
    assert shell.scrub(json.dumps(value, indent=1)) == snapshot(name="json")
    assert shell("sites", "--json").value == []


def test_the_life_of_a_site(shell: Shell, sample: SampleSite, snapshot: SnapshotAssertion) -> None:
    """Enrol, change the site, recrawl, compare, roll back, and see that the next run does not undo it."""
    enrolled = shell("enroll", shell.server.url, "--max-pages", "100", "--json")
    assert enrolled.code == 0, enrolled.stderr
    assert shell.scrub(enrolled.stdout) == snapshot(name="enroll")
    first = shell("show", shell.server.url, "--file").stdout

    sample.retitle("/guide/retries/", "Retries, and when to give up")
    sample.remove("/recipes/images/")
    assert "when to give up" in shell("preview", shell.server.url).stdout
    assert shell("show", shell.server.url, "--file").stdout == first

    recrawled = shell("recrawl", shell.server.url, "--json")
    assert shell.scrub(json.dumps(recrawled.value["changes"], indent=1)) == snapshot(name="change record")
    assert "+- [Retries, and when to give up]" in shell("diff", shell.server.url).stdout

    rolled_back = shell("rollback", shell.server.url, "--json")
    assert rolled_back.code == 0, rolled_back.stderr
    assert shell("show", shell.server.url, "--file").stdout == first
    again = shell("recrawl", shell.server.url, "--json").value
    assert (again["outcome"], shell("show", shell.server.url, "--file").stdout) == ("unchanged_content", first)

    sample.retitle("/guide/retries/", "Retries, once more")
    assert shell("recrawl", shell.server.url, "--json").value["outcome"] == "updated"
    assert "Retries, once more" in shell("show", shell.server.url, "--file").stdout
    assert shell.scrub(shell("runs", shell.server.url).stdout) == snapshot(name="runs")


def test_why_gives_a_reason_for_every_url_left_out(shell: Shell, snapshot: SnapshotAssertion) -> None:
    """Each URL that was met and is not listed has a reason that an owner understands."""
    shell("enroll", shell.server.url, "--max-pages", "100")

    assert shell.scrub(shell("why", shell.server.url, "--json").stdout) == snapshot
    listed = shell("why", shell.server.url, f"{shell.server.url}/guide/install/")
    assert "is listed" in listed.stdout


def test_tick_prints_a_summary_that_adds_up(shell: Shell, snapshot: SnapshotAssertion) -> None:
    """Paused sites are not looked at, resumed ones are due at once."""
    shell("enroll", shell.server.url)

    quiet = shell("tick", "--json").value
    shell("pause", shell.server.url)
    shell("resume", shell.server.url)
    due = shell("tick", "--json")

    assert quiet["total"] == 0
    assert due.value == snapshot
    assert due.value["total"] == sum(due.value[name] for name in ("updated", "unchanged", "held", "errors", "deferred"))


def test_pause_resume_and_unenroll(shell: Shell) -> None:
    """A paused site stays paused, a forgotten one is gone, its published file is not."""
    shell("enroll", shell.server.url)

    assert shell("pause", shell.server.url, "--json").value["status"] == "paused"
    assert shell("tick", "--json").value["total"] == 0
    assert shell("resume", shell.server.url, "--json").value["status"] == "active"
    assert shell("unenroll", shell.server.url, "--yes").code == 0
    assert shell("sites", "--json").value == []
    assert list((shell.home / "published").rglob("llms.txt"))


def test_a_new_secret_is_shown_once(shell: Shell) -> None:
    """`secret` rotates; no other command ever prints one."""
    enrolled = shell("enroll", shell.server.url, "--json").value["webhook_secret"]

    rotated = shell("secret", shell.server.url).stdout.strip()

    assert rotated.startswith("whsec_")
    assert rotated != enrolled
    assert "whsec_" not in shell("show", shell.server.url, "--json").stdout + shell("sites", "--json").stdout


def test_show_says_why_the_next_look_is_when_it_is(
    shell: Shell, sample: SampleSite, snapshot: SnapshotAssertion
) -> None:
    """Rate, confidence, signals and reason, for people and as JSON; a choice of schedule holds from the next run on."""
    shell("enroll", shell.server.url, "--max-pages", "100")
    assert "every 7 days, as chosen" in shell("show", shell.server.url).stdout
    edited = shell("edit", shell.server.url, "--schedule", "learned", "--weight", "3")
    assert edited.code == 0, edited.stderr
    sample.retitle("/guide/retries/", "Retries, and when to give up")
    assert shell("recrawl", shell.server.url).code == 0

    def without_numbers(text: str) -> str:
        """What is believed is for the policy's own tests; here is how it is said."""
        text = re.sub(r"[\d.]+( days| h| min| crawls)", r"N\1", shell.scrub(text))
        return re.sub(r'(": )\d+\.\d+', r"\1N", text)

    assert without_numbers(shell("show", shell.server.url).stdout) == snapshot(name="text")
    shown = shell("show", shell.server.url, "--json").value
    assert without_numbers(json.dumps(shown["outlook"], indent=1)) == snapshot(name="json")
    assert (shown["schedule"], shown["weight"], shown["maxPages"]) == ("learned", 3, 100)

    refused = shell("edit", shell.server.url, "--schedule", "daily")
    assert (refused.code, refused.stderr) == (2, "error: schedule: must be one of default, fixed, ewma, learned\n")


def test_a_budget_that_is_no_number_is_refused_by_name(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence with the variable and what it may be."""
    monkeypatch.setenv("LLMS_CRAWL_USD_PER_MONTH", "two")
    assert "LLMS_CRAWL_USD_PER_MONTH must be a positive number of dollars" in shell("sites").stderr
    monkeypatch.setenv("LLMS_CRAWL_USD_PER_MONTH", "2.50")
    monkeypatch.setenv("LLMS_SCHEDULE", "weekly")
    assert "LLMS_SCHEDULE must be one of fixed, ewma, learned, not 'weekly'" in shell("sites").stderr


def test_a_spent_budget_neither_loses_a_site_nor_its_secret(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second enrolment of a day with one crawl is kept for later; a recrawl is refused with the reason."""
    monkeypatch.setenv("LLMS_CRAWLS_PER_DAY", "1")
    with serve_in_thread(SampleSite()) as other:
        assert shell("enroll", other.url).code == 0
    enrolled = shell("enroll", shell.server.url, "--json")

    assert enrolled.code == 0, enrolled.stderr
    assert enrolled.value["outcome"] == "deferred"
    assert enrolled.value["webhook_secret"].startswith("whsec_")
    assert "1 of 1 crawls were used in the last 24 hours" in shell("show", shell.server.url).stdout
    assert "budget     1 of 1 crawls in the last 24 hours; 1 due wait for it" in shell("status").stdout
    refused = shell("recrawl", shell.server.url)
    assert (refused.code, "crawls of the last 24 hours are used up" in refused.stderr) == (1, True)
    assert shell("tick", "--json").value["total"] == 0
