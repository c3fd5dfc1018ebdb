"""The group: options before the command, and how an error becomes one sentence and an exit code."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import click
import platformdirs

from runtime.cli import inspect, manage, read, schedule, serve
from runtime.cli.output import use_utf8
from runtime.cli.session import DEFAULT_BASE_URL, Session
from runtime.errors import InputError, Misconfigured, ServiceError

EPILOG = """\b
Examples:
  python -m runtime crawl https://docs.example.com -o llms.txt
  python -m runtime enroll https://docs.example.com --interval 1440
  python -m runtime tick
  python -m runtime serve

Exit codes: 0 done, 1 it did not work (the site, the network, the disk), 2 the call was wrong,
130 it was interrupted."""


RATE = click.FloatRange(min=0, max=10_000)
SLOWEST = 0.001
"""Requests a second. Slower than one in a quarter of an hour is a typing error, and no crawl would ever end."""


def checked_rate(rate: float | None) -> float | None:
    """:raises InputError: it is no number, or too little to be meant."""
    if rate is None or rate == 0 or rate >= SLOWEST:
        return rate
    raise InputError("--rate", f"must be 0 (no limit) or a number from {SLOWEST} to {RATE.max:,}")


def checked_base_url(text: str) -> str:
    """:raises InputError: readers could not be sent there."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment or not text.isprintable() or " " in text:
        raise InputError("--base-url", "must be an address such as https://files.example.com")
    return text.rstrip("/")


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--home", type=click.Path(file_okay=False), help="Folder for all state (default: per user).")
@click.option("--allow-private", is_flag=True, help="Let requests go to loopback and private networks.")
@click.option("--rate", type=RATE, help="Requests a second to one host (0: no limit; default 20).")
@click.option("--base-url", default=DEFAULT_BASE_URL, show_default=True, help="Where published files are served.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--verbose", "-v", is_flag=True, help="Log every step to stderr.")
@click.pass_context
def cli(
    context: click.Context,
    home: str | None,
    allow_private: bool,
    rate: float | None,
    base_url: str,
    as_json: bool,
    verbose: bool,
) -> None:
    """Keep the llms.txt of web sites in step with the sites."""
    if home == "":
        raise InputError("--home", "is empty: name a folder, or leave the option out")
    context.obj = Session(
        home=Path(home or platformdirs.user_data_dir("llms-txt-auto-updates")),
        allow_private=allow_private,
        rate=checked_rate(rate),
        base_url=checked_base_url(base_url),
        as_json=as_json,
        verbose=verbose,
    )


for command in (*read.COMMANDS, *manage.COMMANDS, *schedule.COMMANDS, *serve.COMMANDS, *inspect.COMMANDS):
    cli.add_command(command)


def run() -> None:
    """The process: every failure is one sentence on stderr and an exit code, nothing is left half-written."""
    use_utf8()
    args, trailing_json = _lift_json(sys.argv[1:])
    try:
        code = cli.main(args=[*trailing_json, *args], prog_name="python -m runtime", standalone_mode=False)
    except click.exceptions.Abort:
        code = _say("interrupted; the next run continues", 130)
    except KeyboardInterrupt:
        code = _say("interrupted; the next run continues", 130)
    except click.ClickException as error:
        error.show()
        code = 2
    except (InputError, Misconfigured) as error:
        code = _say(str(error), 2)
    except ServiceError as error:
        code = _say(str(error), 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _lift_json(args: list[str]) -> tuple[list[str], list[str]]:
    """`--json` may stand anywhere: after the command it reads more naturally."""
    return [arg for arg in args if arg != "--json"], ["--json"] if "--json" in args else []


def _say(sentence: str, code: int) -> int:
    click.echo(f"error: {sentence}", err=True)
    return code
