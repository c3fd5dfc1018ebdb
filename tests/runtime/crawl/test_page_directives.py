"""Which pages may be listed, and which links followed."""

from __future__ import annotations

import pytest

from runtime.crawl.indexing import parse_date
from tests.runtime.crawl.pages import html, read

LINK = "<a href=/a>x</a>"


@pytest.mark.parametrize(
    ("metas", "indexable", "follow"),
    [
        ("", True, True),
        ("<meta name=robots content=noindex>", False, True),
        ("<meta name=ROBOTS content='NoFollow'>", True, False),
        ("<meta name=robots content=none>", False, False),
        ("<meta name=robots content='all'>", True, True),
        ("<meta name=robots content=index><meta name=robots content=noindex>", False, True),
        ("<meta name=robots content='noindex;nofollow'>", False, False),
        ("<meta name=robots content='noindexed, nosnippet, max-snippet:-1'>", True, True),
        ("<meta name=googlebot content=noindex>", True, True),
        ("<meta name=LlmsTxtBot content=noindex><meta name=robots content=index>", False, True),
        ("<meta name=robots content='unavailable_after: 2020-09-21'>", False, True),
        ("<meta name=robots content='unavailable_after: Wed, 25 Jun 2031 15:00:00 GMT, nofollow'>", True, False),
        ("<meta name=robots content='unavailable_after: soon'>", True, True),
    ],
)
def test_meta_tags_for_everybody_and_for_us_are_obeyed(metas: str, indexable: bool, follow: bool) -> None:
    """X1, D-58: the most restrictive of several holds; what another bot is told says nothing to us."""
    reading = read(html(metas, LINK))
    assert (reading.indexable, reading.follow) == (indexable, follow)
    assert bool(reading.links) is follow


@pytest.mark.parametrize(
    ("lines", "indexable", "follow"),
    [
        (["noindex"], False, True),
        (["NONE"], False, False),
        (["googlebot: noindex"], True, True),
        (["googlebot: noindex, nofollow", "nofollow"], True, False),
        (["googlebot: noindex, llmstxtbot: nofollow"], True, False),
        (["LLMSTXTBOT/1.0: noindex"], False, True),
        (["max-snippet: -1, noindex"], False, True),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST"], False, True),
        (["unavailable_after: Wednesday, 25-Jun-31 15:00:00 GMT"], True, True),
        (["unavailable_after: Sat, 25 Jun 2011 15:00:00 GMT, nofollow"], False, False),
        (["otherbot: unavailable_after: 2020-01-01"], True, True),
    ],
)
def test_header_lines_are_obeyed_line_by_line(lines: list[str], indexable: bool, follow: bool) -> None:
    """X1: a bot's name limits the rest of its own line; a date's comma and colon are not separators."""
    reading = read(html("", LINK), *(("x-robots-tag", line) for line in lines))
    assert (reading.indexable, reading.follow) == (indexable, follow)


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("Wed, 25 Jun 2031 15:00:00 GMT", "2031-06-25T15:00:00+00:00"),
        ("25-Jun-2031 15:00:00 EST", "2031-06-25T15:00:00-05:00"),
        ("2031-06-25T15:00:00-05:00", "2031-06-25T15:00:00-05:00"),
        ("25 Jun 2031", "2031-06-25T00:00:00+00:00"),
        ("2031-06-25", "2031-06-25T00:00:00+00:00"),
        ("next week", None),
        ("", None),
    ],
)
def test_every_documented_form_of_a_date_is_an_instant(text: str, iso: str | None) -> None:
    """RFC 822, RFC 850 and ISO 8601; UTC where no zone is given."""
    parsed = parse_date(text)
    assert (parsed.isoformat() if parsed else None) == iso
