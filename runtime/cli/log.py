"""Events as lines on stderr: a few sentences for a person, everything with `--verbose`."""

from __future__ import annotations

from typing import Any

from rich.console import Console

SENTENCES = {
    "state_unreadable": "the stored state of {base_url} cannot be read; starting from a full crawl",
    "message_failed": "site {site_id} could not be finished: {detail}",
    "message_dropped": "site {site_id} was skipped: {code}",
    "publish_failed": "{base_url}: {detail}",
    "configuration_failed": "{detail}",
    "own_fault": "{detail}; look at the network of this machine",
    "state_failed": "what was learned about {base_url} could not be stored: {detail}",
    "schedule_failed": "{detail}",
    "notification_failed": "the notification to {host} failed: {why}",
}


class ConsoleEvents:
    """The `Events` port of the command line."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console, self._verbose = console, verbose

    def event(self, name: str, **fields: Any) -> None:
        if name in SENTENCES:
            self._console.print(f"[yellow]warning[/]: {SENTENCES[name].format(**fields)}", highlight=False)
        elif self._verbose:
            pairs = " ".join(f"{key}={value}" for key, value in fields.items())
            self._console.print(f"[dim]{name} {pairs}[/]", highlight=False, markup=True)
        if name == "tick_completed":
            summary = {key: value for key, value in fields.items() if key != "tick_id"}
            self._console.print(f"\\[RECRAWL] Completed: {summary}", highlight=False)
