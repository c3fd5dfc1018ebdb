"""Bad input: one sentence on stderr that says what and what to do, exit code 1 or 2, nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runtime.sample.server import SampleServer, serve_in_thread
from runtime.sample.site import Answer, SampleSite
from tests.runtime.cli.conftest import ROOT, Shell


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("crawl", "example.com"), 2, "https://example.com"),
        (("crawl", "ftp://example.com"), 2, "http"),
        (("enroll", "https://docs.example.com", "--interval", "0"), 2, "60 to 525600"),
        (("enroll", "https://docs.example.com", "--max-pages", "0"), 2, "1 to 10000"),
        (("show", "https://nobody.example.com"), 1, "is not enrolled"),
        (("show", "no-such-id"), 1, "python -m runtime sites"),
        (("crawl", "http://127.0.0.1:9/"), 1, "does not answer"),
        (("frobnicate",), 2, "No such command"),
        (("--rate", "nan", "sites"), 2, "0 (no limit) or a number from 0.001"),
        (("--rate", "0.0000001", "sites"), 2, "0 (no limit) or a number from 0.001"),
        (("--rate", "inf", "sites"), 2, "not in the range"),
        (("--base-url", "files.example.com", "sites"), 2, "an address such as https://files.example.com"),
        (("--base-url", "https://files.example.com/?a=b", "sites"), 2, "an address such as"),
        (("--base-url", "https://:99999", "sites"), 2, "an address such as"),
        (("--home", "", "sites"), 2, "name a folder"),
        (("show", "localhost:8000"), 1, "is not enrolled"),
        (("crawl", "https://db.internal/"), 1, "the host may not be fetched"),
        (("serve", "--host", "203.0.113.7"), 2, "--host: 203.0.113.7 is no address of this machine"),
        (("serve", "--host", "no such host"), 2, "is no address of this machine"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(shell: Shell, args: tuple[str, ...], code: int, says: str) -> None:
    """The sentence names the field or the address and what is allowed."""
    result = shell(*args)

    assert (result.code, result.stdout) == (code, "")
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_private_addresses_are_refused_unless_allowed(shell: Shell) -> None:
    """Without --allow-private nothing is sent to a loopback address."""
    result = shell("crawl", shell.server.url, private=False)

    assert result.code in (1, 2)
    assert shell.server.requests == []


def test_a_site_that_disallows_us_is_not_enrolled(tmp_path: Path) -> None:
    """robots.txt is obeyed, and the reason is said; no row is left behind."""

    class Closed(SampleSite):
        def answers(self, base_url: str) -> dict[str, Answer]:
            found = super().answers(base_url)
            robots = found["/robots.txt"]
            body = b"User-agent: *\nDisallow: /\n"
            found["/robots.txt"] = robots._replace(
                body=body, headers={"Content-Type": "text/plain", "Content-Length": str(len(body))}
            )
            return found

    with serve_in_thread(Closed()) as server:
        shell = Shell(tmp_path / "home", server)
        result = shell("enroll", server.url)

        assert result.code == 1
        assert "robots.txt does not allow" in result.stderr
        assert shell("sites", "--json").value == []
        assert {path for _, path, _ in server.requests} == {"/robots.txt"}


def test_a_damaged_database_is_named(shell: Shell) -> None:
    """A file that is no database ends the command with its path and a way out; the file is left alone."""
    shell.home.mkdir(parents=True)
    (shell.home / "sites.db").write_bytes(b"this is not a database" * 100)

    result = shell("sites")

    assert result.code == 1
    assert "sites.db" in result.stderr
    assert (shell.home / "sites.db").read_bytes().startswith(b"this is not")


def test_a_home_that_cannot_be_used_is_named(shell: Shell, tmp_path: Path) -> None:
    """A file where the folder should be is said so."""
    (tmp_path / "file").write_text("x")

    result = shell("sites", home=tmp_path / "file" / "home")

    assert result.code == 1
    assert "--home" in result.stderr


def test_an_output_that_cannot_be_written_is_named(shell: Shell) -> None:
    """A place that takes no file ends the crawl with the option's name."""
    result = shell("crawl", shell.server.url, "-o", "/dev/full/llms.txt")

    assert result.code == 2
    assert "--output: there is no folder /dev/full" in result.stderr
    assert shell.server.requests == [], "it is looked at before the crawl, whose result would be lost"


def test_a_full_disk_leaves_the_old_file(shell: Shell, sample: SampleSite) -> None:
    """When no file may grow any more the run fails with a sentence, and what was published stays whole."""
    assert shell("enroll", shell.server.url).code == 0
    before = shell("show", shell.server.url, "--file").stdout
    sample.retitle("/guide/retries/", "Retries, and when to give up")

    full = shell("recrawl", shell.server.url, file_bytes=4_096)

    assert full.code == 1
    assert "Traceback" not in full.stderr
    assert full.stderr.count("error:") == 1
    assert shell("show", shell.server.url, "--file").stdout == before
    assert shell("recrawl", shell.server.url).code == 0
    assert "when to give up" in shell("show", shell.server.url, "--file").stdout


def test_ctrl_c_ends_cleanly_and_the_next_run_continues(tmp_path: Path) -> None:
    """An interrupt gives the site back at once: the next run need not wait for the lease."""
    with serve_in_thread(SampleSite()) as server:
        shell = Shell(tmp_path / "home", server)
        assert shell("enroll", server.url).code == 0
        server.requests.clear()
        slow = [
            sys.executable, "-m", "runtime", "--home", str(shell.home), "--allow-private", "--rate", "2", "recrawl", server.url,
        ]  # fmt: skip
        process = subprocess.Popen(slow, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        _wait_for(server, process)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=20)

        assert process.returncode == 130
        assert "the next run continues" in stderr
        assert "Traceback" not in stderr
        assert shell("recrawl", server.url).code == 0


def _wait_for(server: SampleServer, process: subprocess.Popen[str]) -> None:
    """Until the crawl is under way: the server is a thread of ours, the client another process."""
    end = time.monotonic() + 20
    while len(server.requests) < 3 and time.monotonic() < end and process.poll() is None:
        os.sched_yield()
