"""Lastmods as sitemaps and feeds write them."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.sitemap.dates import FIRST_YEAR, Granularity, format_lastmod, parse_lastmod


def utc(*fields: int) -> datetime:
    return datetime(*fields, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2025", utc(2025, 1, 1), utc(2026, 1, 1)),
        ("2025-12", utc(2025, 12, 1), utc(2026, 1, 1)),
        ("2025-12-02", utc(2025, 12, 2), utc(2025, 12, 3)),
        ("2025-12-02T08:00Z", utc(2025, 12, 2, 8), utc(2025, 12, 2, 8, 1)),
        ("2025-12-02T08:00:00+09:00", utc(2025, 12, 1, 23), utc(2025, 12, 1, 23)),
        ("2025-12-02T08:00:00.45-08:00", utc(2025, 12, 2, 16, 0, 0, 450_000), utc(2025, 12, 2, 16, 0, 0, 450_000)),
    ],
)
def test_every_w3c_granularity_is_its_span_in_utc(text: str, start: datetime, end: datetime) -> None:
    """A year, month, day or minute covers its whole span; a finer time is a point; both are UTC."""
    found = parse_lastmod(text)
    assert found is not None
    assert (found.start, found.end, found.raw) == (start, end, text)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("  2024-05-01T10:00:00Z\n", utc(2024, 5, 1, 10)),
        ("\u200b2024-05-01\u00a0", utc(2024, 5, 1)),
        ("2024-05-01t10:00:00z", utc(2024, 5, 1, 10)),
        ("2024-05-01 10:00:00", utc(2024, 5, 1, 10)),
        ("2024-05-01 10:00:00 +0200", utc(2024, 5, 1, 8)),
        ("2024-05-01T10:00:00+02", utc(2024, 5, 1, 8)),
        ("2024-05-01T10:00:00+00:00Z", utc(2024, 5, 1, 10)),
        ("2024-05-01T10:00:00 UTC", utc(2024, 5, 1, 10)),
        ("2024-05-01T10:00:00.123456789Z", utc(2024, 5, 1, 10, 0, 0, 123_456)),
        ("2024-05-01T10:00:00,5Z", utc(2024, 5, 1, 10, 0, 0, 500_000)),
        ("2024-05-01T23:59:60Z", utc(2024, 5, 2)),
        ("2024/5/1", utc(2024, 5, 1)),
        ("20240501", utc(2024, 5, 1)),
        ("20240501T100000Z", utc(2024, 5, 1, 10)),
        ("Wed, 01 May 2024 10:00:00 GMT", utc(2024, 5, 1, 10)),
        ("Wednesday, 01-May-24 10:00:00 GMT", utc(2024, 5, 1, 10)),
        ("1 Jan 50 00:00 EST", None),
        ("5 Jan 17 04:34:55 PST", utc(2017, 1, 5, 12, 34, 55)),
        ("Wed May  1 10:00:00 2024", utc(2024, 5, 1, 10)),
        ("Wed May 01 2024 10:00:00 GMT+0200 (Central European Summer Time)", utc(2024, 5, 1, 8)),
        ("May 1st, 2024", utc(2024, 5, 1)),
        ("2024-05-01+02:00", utc(2024, 4, 30, 22)),
        ("2024-05-01-12:00", utc(2024, 5, 1, 12)),
        ("2024-05-01T24:00:00Z", utc(2024, 5, 2)),
        ("2024-05-08 08:53:11 p.m.", utc(2024, 5, 8, 20, 53, 11)),
        ("2024-05-01 10:00:00.5 +0200 +0200 m=+0.01", utc(2024, 5, 1, 8, 0, 0, 500_000)),
        ("Wed, 01 May 2024 10:00:00 +0200 (CEST)", utc(2024, 5, 1, 8)),
    ],
)
def test_what_real_files_hold_has_one_reading(text: str, start: datetime | None) -> None:
    """Dates that are not W3C but can only mean one thing are read."""
    found = parse_lastmod(text)
    assert (found and found.start) == start


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "soon", "yesterday", "05/04/2024", "2024-13-01", "2024-02-30", "2024-00", "2024-05-00", "24:00"),
        *("2021-06-18T112:13:04+00:00", "2020-02-04T18:09:12-00:14400", "2024-05-01T10:00:00+19:00", "2024-W18-3"),
        *("2024-05-01T24:00:01Z", "2015-10-08T07:18:53Z 2015-06-15T15:33:55Z", "1714557600", "-0001-11-30T00:00:00Z"),
        *("0000-00-00", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31", "2024-05/01", "٢٠٢٤"),
        *("32 May 2024", "1 Mai 2024", "2024-05-01T10:00:00+05:75"),
    ],
)
def test_what_is_no_date_of_a_page_is_none(text: str) -> None:
    """Garbage, ambiguity, impossible fields and generators' "no date" values give None, never an exception."""
    assert parse_lastmod(text) is None


def test_a_day_is_over_when_it_is_over_everywhere() -> None:
    """A date without a zone can still be going on twelve hours after midnight UTC; a point in time cannot."""
    day, point = parse_lastmod("2024-05-01"), parse_lastmod("2024-05-01T10:00:00Z")
    assert day is not None
    assert point is not None
    assert day.over == utc(2024, 5, 2, 12)
    assert point.over == point.start


@settings(deadline=None)
@given(
    moment=st.datetimes(
        min_value=utc(FIRST_YEAR, 1, 2).replace(tzinfo=None),
        max_value=utc(9990, 1, 1).replace(tzinfo=None),
        timezones=st.just(UTC),
    ),
    granularity=st.sampled_from(Granularity),
    offset=st.integers(min_value=-14 * 60, max_value=14 * 60),
)
def test_writing_a_lastmod_and_reading_it_back_gives_the_same_span(
    moment: datetime, granularity: Granularity, offset: int
) -> None:
    """`format_lastmod` is the inverse of `parse_lastmod`, in every granularity and from every zone."""
    zone = timezone(timedelta(minutes=offset))
    local = moment.astimezone(zone)
    clock = local.strftime("%z")
    written = {
        Granularity.YEAR: f"{local:%Y}",
        Granularity.MONTH: f"{local:%Y-%m}",
        Granularity.DAY: f"{local:%Y-%m-%d}",
        Granularity.MINUTE: f"{local:%Y-%m-%dT%H:%M}{clock}",
        Granularity.SECOND: f"{local:%Y-%m-%dT%H:%M:%S}{clock[:3]}:{clock[3:]}",
        Granularity.FRACTION: f"{local:%Y-%m-%dT%H:%M:%S.%f}{clock}",
    }[granularity]
    first = parse_lastmod(written)
    assert first is not None
    again = parse_lastmod(format_lastmod(first))
    assert again is not None
    assert (again.start, again.end, again.granularity) == (first.start, first.end, granularity)
    assert format_lastmod(again) == format_lastmod(first)
    if granularity is Granularity.FRACTION:
        assert first.start == moment


@settings(deadline=None)
@given(st.text() | st.from_regex(r"\d{2,4}[-/. ]\d{1,2}[-/. ]\d{1,4}[T ]?[\d:.,]*[ +\-A-Za-z\d:]*", fullmatch=True))
def test_reading_a_lastmod_never_raises(text: str) -> None:
    """Any text gives a span in UTC or None."""
    found = parse_lastmod(text)
    assert found is None or (found.start <= found.end and found.start.tzinfo is UTC)


@given(st.dates(min_value=utc(1991, 1, 2).date()).filter(lambda day: day.year < 9_999), st.integers(-14 * 60, 14 * 60))
def test_a_day_in_a_zone_is_read_back_as_the_same_span(day: date, minutes: int) -> None:
    """xsd:date may have a zone; written again the day begins and ends when it did."""
    sign, size = "+-"[minutes < 0], abs(minutes)
    found = parse_lastmod(f"{day}{sign}{size // 60:02}:{size % 60:02}")
    assert found is not None
    again = parse_lastmod(format_lastmod(found))
    assert again is not None
    assert (again.start, again.end, again.granularity) == (found.start, found.end, Granularity.DAY)
