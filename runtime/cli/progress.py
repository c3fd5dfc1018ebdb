"""The progress bar of a crawl, on stderr; silent when stderr is no terminal or JSON was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from runtime.crawl.visit import Progress as Report


@contextmanager
def crawl_progress(console: Console, title: str) -> Iterator[Report]:
    """A bar that follows a crawl; gives the function that the crawler reports to."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[url]}"),
    )
    with Progress(*columns, console=console, transient=False) as bar:
        task = bar.add_task(title, total=None, url="")

        def report(kept: int, wanted: int, url: str) -> None:
            bar.update(task, completed=kept, total=wanted, url=url[-60:])

        yield report
        finished = bar.tasks[0].completed
        bar.update(task, total=finished or 1, completed=finished or 1, url="")
