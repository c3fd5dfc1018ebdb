r"""The pages of the sample site, read from `tidewater.txt` beside this file.

A page is a line `@@ path`, header lines `name: value`, an empty line, and text: paragraphs, `## headings`, `- lists`,
code indented by four spaces, and inline `code` and [links](/path/). `\n` in a header is a line break.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("tidewater.txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePage:
    """One path of the site.

    `twin` is how its Markdown version is found: named by the page (`alternate`), only by asking (`probe`, `html`), or
    not at all although something answers (`false`). `kind` is `index` for a page that lists its section, `login` for
    one with a password form. A page with a `location` is a redirect. `listed` pages are in a sitemap.
    """

    path: str
    title: str = ""
    description: str = ""
    og_description: str = ""
    text: str = ""
    lastmod: str = ""
    canonical: str = ""
    robots: str = ""
    x_robots_tag: str = ""
    twin: str = ""
    kind: str = ""
    status: int = 200
    location: str = ""
    listed: bool = True

    @property
    def section(self) -> str:
        """The first segment of the path, as in `guide`; empty for the home page."""
        return self.path.split("/")[1]


@cache
def sample_pages() -> tuple[SamplePage, ...]:
    """All pages, in the order of the file. They are read once; the values are immutable."""
    return tuple(_parse(SOURCE.read_text(encoding="utf-8")))


def _parse(source: str) -> Iterator[SamplePage]:
    for record in source.split("@@ ")[1:]:
        head, _, text = record.partition("\n\n")
        path, *lines = head.strip().split("\n")
        headers = dict(line.split(": ", 1) for line in lines)
        yield SamplePage(
            path=path,
            title=headers.get("title", "").replace("\\n", "\n"),
            description=headers.get("description", ""),
            og_description=headers.get("og", ""),
            text=text.strip("\n"),
            lastmod=headers.get("lastmod", ""),
            canonical=headers.get("canonical", ""),
            robots=headers.get("robots", ""),
            x_robots_tag=headers.get("x-robots-tag", ""),
            twin=headers.get("twin", ""),
            kind=headers.get("kind", ""),
            status=int(headers.get("status", "200")),
            location=headers.get("location", ""),
            listed=headers.get("sitemap") != "no",
        )
