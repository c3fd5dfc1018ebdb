"""Commands for whoever looks after the service."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from lxml import html

from runtime.sample.site import SampleSite
from tests.runtime.cli.conftest import Shell


def test_status_says_whether_it_is_fine(shell: Shell) -> None:
    """It counts sites by state and names those that need attention."""
    shell("enroll", shell.server.url)

    view = shell("status", "--json").value

    assert (view["sites"], view["by_status"], view["due"], view["attention"]) == (1, {"active": 1}, 0, [])
    assert "attention  nothing" in shell("status").stdout


def test_status_names_a_held_site(shell: Shell, sample: SampleSite) -> None:
    """A site whose result is held is listed with the reason."""
    shell("enroll", shell.server.url, "--max-pages", "100")
    for path in [path for path in sample.pages if path != "/"]:
        sample.remove(path)

    shell("recrawl", shell.server.url)

    attention = shell("status", "--json").value["attention"]
    assert [item["outcome"] for item in attention] == ["held"]
    assert "held" in attention[0]["error"]


def test_the_report_is_one_page_about_every_site(shell: Shell, tmp_path: Path) -> None:
    """It loads nothing, has both plots, and lists every site and change."""
    shell("enroll", shell.server.url)
    output = tmp_path / "report.html"

    assert shell("report", "-o", str(output)).code == 0

    tree = html.fromstring(output.read_text("utf-8"))
    assert len(tree.findall(".//svg")) == 2
    assert not tree.xpath("//script | //link[@rel='stylesheet'] | //img | //*[@src]")
    assert shell.server.url in output.read_text("utf-8")
    assert "the first file of the site" in output.read_text("utf-8")


def test_the_report_renders_in_a_browser(shell: Shell, tmp_path: Path) -> None:
    """Headless Chromium lays the page out with all of its parts."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("the Debian package chromium is not installed")
    shell("enroll", shell.server.url)
    output = tmp_path / "report.html"
    shell("report", "-o", str(output))

    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    picture = tmp_path / "report.png"
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    ran = subprocess.run(
        [browser, *flags, profile, "--window-size=1100,1000", f"--screenshot={picture}", output.as_uri()],
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000


def test_doctor_finds_nothing_wrong_with_a_fresh_home(shell: Shell) -> None:
    """Every part is probed for real, and has one line."""
    ran = shell("doctor", "--json")

    assert ran.code == 0, ran.stdout
    assert {item["part"]: item["ok"] for item in ran.value} == dict.fromkeys(
        ("store", "clock", "public", "private"), True
    )


def test_migrate_says_what_is_wrong_with_the_address(shell: Shell) -> None:
    """A database that does not answer ends with a sentence, not a stack trace, and shows no password."""
    ran = shell("migrate", "--database-url", "postgresql://postgres:hunter2@127.0.0.1:9/postgres")

    assert ran.code in (1, 2)
    assert "Traceback" not in ran.stderr
    assert "hunter2" not in ran.stderr
