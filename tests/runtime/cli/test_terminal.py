"""What surrounds a command: a reader that has seen enough, a full disk, an odd locale, a taken port, Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.sample.site import SampleSite
from tests.runtime.cli.conftest import ROOT, Result, Shell

ODD = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


def piped(shell: Shell, command: str, **environment: str) -> Result:
    """A line of the shell in which $RUN stands for the program."""
    run = f"{sys.executable} -m runtime --home {shell.home} --allow-private --rate 0"
    ran = subprocess.run(
        ["/bin/bash", "-c", f"set -o pipefail; {command}"],
        cwd=ROOT, capture_output=True, timeout=60, check=False, env={**os.environ, "RUN": run, **environment},
    )  # fmt: skip
    return Result(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


@pytest.fixture
def enrolled(shell: Shell) -> Shell:
    assert shell("enroll", shell.server.url, "--max-pages", "5").code == 0
    return shell


@pytest.mark.parametrize("command", ["sites", "why {url}", "--json why {url}", "show {url}", "crawl {url}", "--help"])
def test_a_reader_that_has_seen_enough_ends_it_without_a_word(enrolled: Shell, command: str) -> None:
    """As `| head` does: exit code 1, no error and no traceback."""
    result = piped(enrolled, f"$RUN {command.format(url=enrolled.server.url)} | true")

    assert result.code in (0, 1), "0 where all of it was written before the reader had gone"
    assert "error" not in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", ["sites", "--json sites", "show {url} --file", "crawl {url} --max-pages 2"])
def test_a_result_that_does_not_fit_on_the_disk_is_one_sentence(enrolled: Shell, command: str) -> None:
    """Exit code 1, what and why; the work itself is done."""
    result = piped(enrolled, f"$RUN {command.format(url=enrolled.server.url)} > /dev/full")

    assert result.code == 1
    assert result.stderr.splitlines()[-1].startswith("error: the result cannot be written (No space left on device)")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("environment", [ODD, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}], ids=str)
def test_the_file_is_utf_8_whatever_the_locale(
    shell: Shell, sample: SampleSite, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Printed, redirected or written: the same bytes, and nothing that no terminal could show ends the command."""
    sample.retitle("/", "Größe, 説明 and \N{GRINNING FACE}")
    place = tmp_path / "llms.txt"
    printed = piped(shell, f"$RUN crawl {shell.server.url} --max-pages 3", **environment)
    written = piped(shell, f"$RUN crawl {shell.server.url} --max-pages 3 -o {place}", **environment)

    assert (printed.code, written.code) == (0, 0), printed.stderr
    assert "Größe, 説明 and \N{GRINNING FACE}" in printed.stdout
    assert place.read_text("utf-8") == printed.stdout


def test_an_output_that_is_no_file_is_written_to_and_not_replaced(shell: Shell, tmp_path: Path) -> None:
    """A pipe stays a pipe, a link a link; a dash is standard output."""
    pipe, link, file = tmp_path / "pipe", tmp_path / "link", tmp_path / "file"
    os.mkfifo(pipe)
    link.symlink_to(file)
    crawl = f"$RUN crawl {shell.server.url} --max-pages 2 -o"
    plain = piped(shell, f"{crawl} -").stdout
    from_pipe = piped(shell, f"cat {pipe} & {crawl} {pipe}; wait").stdout
    assert piped(shell, f"{crawl} {link}").code == 0

    assert plain.startswith("# ")
    assert from_pipe == plain
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert file.read_text("utf-8") == plain
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(".")) == []
    assert not (ROOT / "-").exists()


def test_an_http_site_is_found_without_its_scheme(enrolled: Shell) -> None:
    """A person names it as it is written in the list, or without what stands before the host."""
    named = enrolled("show", enrolled.server.url.removeprefix("http://"))

    assert (named.code, enrolled.server.url in named.stdout) == (0, True)


def test_an_edit_of_nothing_is_a_wrong_call(enrolled: Shell) -> None:
    """It says what could be given, and the site is as it was."""
    before = enrolled("--json", "show", enrolled.server.url).value
    result = enrolled("edit", enrolled.server.url)

    assert (result.code, "nothing to change: give an option such as" in result.stderr) == (2, True)
    assert enrolled("--json", "show", enrolled.server.url).value == before


def test_a_port_that_is_taken_is_named_in_one_sentence(shell: Shell) -> None:
    """By the option that chooses another one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = shell("serve", "--no-schedule", "--port", str(port))

    assert result.code == 2
    assert result.stderr == (
        f"error: --port: {port} is in use by another program on 127.0.0.1: stop it, or choose another port\n"
    )


@pytest.mark.parametrize("command", ["crawl", "serve"])
def test_ctrl_c_ends_it_with_a_sentence_or_none(shell: Shell, command: str) -> None:
    """A crawl that is under way says that it was interrupted; a server that is told to end simply ends."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    args = ["--rate", "1", command, shell.server.url] if command == "crawl" else [command, "--port", port]
    process = subprocess.Popen(
        [sys.executable, "-m", "runtime", "--home", str(shell.home), "--allow-private", *args],
        cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    if command == "serve":
        assert "Ctrl-C ends" in process.stderr.readline()
    else:
        while len(shell.server.requests) < 2:
            assert process.poll() is None
            os.sched_yield()
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=30)

    assert "Traceback" not in rest
    assert process.returncode in (0, 130)
    assert process.returncode == 0 or "interrupted" in rest
