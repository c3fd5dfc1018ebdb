"""Dates as sitemaps and feeds write them.

W3C NOTE-datetime has six granularities: YYYY, YYYY-MM, YYYY-MM-DD, and a time with minutes, seconds or a fraction,
which needs a zone. Real files also hold SQL time stamps, missing zones, one-digit months, RFC 5322 mail dates and what
`date` and JavaScript print: each has one reading, so each is read. What has two ("05/04/2024") or none is no date.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

FIRST_YEAR: Final = 1990
"""There was no page to modify before: years 1, 1970 and 1980 are generators' and archives' ways to say "no date"."""

ANYWHERE: Final = timedelta(hours=12)
"""A day without a zone is over everywhere 12 hours after it is over in UTC (UTC-12)."""

MAX_LENGTH: Final = 100
MAX_OFFSET: Final = timedelta(hours=14)


class Granularity(StrEnum):
    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    MINUTE = "minute"
    SECOND = "second"
    FRACTION = "fraction"


@dataclass(frozen=True, slots=True)
class Lastmod:
    """A lastmod as a span of time in UTC: a year, month, day or minute is `[start, end)`, anything finer a point.

    `raw` is the text as it was written.
    """

    start: datetime
    end: datetime
    granularity: Granularity
    raw: str

    @property
    def over(self) -> datetime:
        """When the span is past wherever the writer lives: an edit after this moment cannot carry this lastmod."""
        dated = self.granularity in (Granularity.YEAR, Granularity.MONTH, Granularity.DAY)
        return self.end + ANYWHERE if dated else self.end


# A name may follow an offset (Go, RFC 5322 comments, RFC 9557): +0200 CEST, +0200 (CEST), +02:00[Europe/Berlin].
_ZONE = (
    r"(?P<zone>[A-Za-z]{1,5}(?:[+-]\d{1,2}(?::?\d{2})?)?|[+-]\d{1,2}(?::?\d{2})?Z?)"
    r"(?:\s+(?:[A-Z]{2,5}|[+-]\d{2,4}|\([^()]*\))|\[[^\[\]]*\])?"
)
_TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\b\.?)?"
)
_NAME = r"(?P<name>[A-Za-z]{3,9})\.?"
_DAY = r"(?P<day>\d{1,2})"
_YEAR = r"(?P<year>\d{4})"

_FORMS: Final = tuple(
    re.compile(form, re.ASCII)
    for form in (
        # W3C NOTE-datetime, and the same with other punctuation, a space for the T, or no zone; Go's clock reading
        rf"{_YEAR}(?:-(?P<month>\d{{1,2}}))?",
        (
            rf"{_YEAR}(?P<dash>[-/.])(?P<month>\d{{1,2}})(?P=dash){_DAY}"
            rf"(?:(?:[Tt]|\s+){_TIME}\s*(?:{_ZONE})?(?:\s+m=[+-][\d.]+)?)?"
        ),
        # xsd:date with a zone: 2024-05-01Z, 2024-05-01+02:00
        rf"{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)(?P<zone>Z|[+-]\d\d:\d\d)",
        # ISO 8601 basic: 20240501, 20240501T100000Z
        rf"{_YEAR}(?P<month>\d\d)(?P<day>\d\d)(?:T(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)?(?:{_ZONE})?)?",
        # RFC 5322, RFC 850 and their relatives: Wed, 01 May 2024 10:00:00 GMT; Wednesday, 01-May-24 10:00:00 GMT
        rf"(?:[A-Za-z]{{3,9}},?\s+)?{_DAY}[\s-]+{_NAME}[\s-]+(?P<year>\d{{4}}|\d{{2}})(?:,?\s+{_TIME}\s*(?:{_ZONE})?)?",
        # May 1, 2024; Wednesday, May 1, 2024
        rf"(?:[A-Za-z]{{3,9}},?\s+)?{_NAME}\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}(?:,?\s+{_TIME}\s*(?:{_ZONE})?)?",
        # asctime and date(1): Wed May  1 10:00:00 UTC 2024
        rf"[A-Za-z]{{3}}\s+{_NAME}\s+{_DAY}\s+{_TIME}\s+(?:{_ZONE}\s+)?{_YEAR}",
        # Date.prototype.toString: Wed May 01 2024 10:00:00 GMT+0200 (Central European Summer Time)
        rf"[A-Za-z]{{3}}\s+{_NAME}\s+{_DAY}\s+{_YEAR}\s+{_TIME}\s+{_ZONE}",
    )
)

_COMMON: Final = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:[0-5]\d(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d)", re.ASCII)
"""What most files hold; the standard library reads it ten times faster."""

_MONTHS: Final = {
    name: number
    for number, full in enumerate(
        ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
         "december"), start=1
    )
    for name in (full, full[:3], full[:4])
}  # fmt: skip
_NAMED_ZONES: Final = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
_MINUS: Final = {0x2010: "-", 0x2011: "-", 0x2212: "-"}
"""Hyphens and the minus sign of ISO 8601 3.2.2."""

_SPACES: Final = "\u200b\u200c\u200d\u2060\ufeff"


def parse_lastmod(text: str | None) -> Lastmod | None:
    """Read a lastmod, or None when it is empty, ambiguous, impossible or before `FIRST_YEAR`. Never raises.

    A time without a zone is UTC, the usual assumption. A fraction is cut at microseconds.
    """
    if not text or len(text) > MAX_LENGTH:
        return None
    value = text.strip().strip(_SPACES).strip().translate(_MINUS)
    if _COMMON.fullmatch(value):
        return _read_common(value, text)
    for form in _FORMS:
        if found := form.fullmatch(value):
            try:
                return _read(found.groupdict(), text)
            except (ValueError, OverflowError):
                return None
    return None


def format_lastmod(lastmod: Lastmod) -> str:
    """The W3C form, in UTC and in the same granularity: `parse_lastmod` reads it back as the same span."""
    start = lastmod.start
    match lastmod.granularity:
        case Granularity.YEAR:
            return f"{start:%Y}"
        case Granularity.MONTH:
            return f"{start:%Y-%m}"
        case Granularity.DAY:
            return _format_day(start)
        case Granularity.MINUTE:
            return f"{start:%Y-%m-%dT%H:%MZ}"
        case Granularity.SECOND:
            return f"{start:%Y-%m-%dT%H:%M:%SZ}"
        case Granularity.FRACTION:
            return f"{start:%Y-%m-%dT%H:%M:%S.%fZ}"


def _read(part: dict[str, str | None], raw: str) -> Lastmod | None:
    """:raises ValueError, OverflowError: a field is out of its range."""
    year, month, day = _year(part["year"]), _month(part), part.get("day")
    if year < FIRST_YEAR:
        return None
    hour = part.get("hour")
    if hour is None:
        start = datetime(year, 1 if month is None else month, int(day or 1), tzinfo=UTC)
        if month is None:
            return Lastmod(start, datetime(year + 1, 1, 1, tzinfo=UTC), Granularity.YEAR, raw)
        if day is None:
            end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
            return Lastmod(start, end, Granularity.MONTH, raw)
        start -= _offset(part.get("zone"))
        return Lastmod(start, start + timedelta(days=1), Granularity.DAY, raw)
    assert month is not None, "every form with a time has a month"
    assert day is not None, "every form with a time has a day"
    second, fraction = int(part.get("second") or 0), (part.get("fraction") or "")[:6]
    leap = second == 60  # RFC 3339 5.6 allows it; no clock of ours has it
    minute, micros, midnight = int(part["minute"] or 0), int(fraction.ljust(6, "0")), timedelta()
    hours = _hours(hour, part.get("half"))
    if hours == 24 and not (minute or second or micros):  # XML Schema 3.2.7: the first instant of the next day
        hours, midnight = 0, timedelta(days=1)
    moment = datetime(year, month, int(day), hours, minute, 59 if leap else second, micros, tzinfo=UTC)
    start = moment - _offset(part.get("zone")) + timedelta(seconds=leap) + midnight
    if part.get("second") is None:
        return Lastmod(start, start + timedelta(minutes=1), Granularity.MINUTE, raw)
    return Lastmod(start, start, Granularity.FRACTION if fraction else Granularity.SECOND, raw)


def _read_common(value: str, raw: str) -> Lastmod | None:
    try:
        moment = datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return Lastmod(moment, moment, Granularity.SECOND, raw) if int(value[:4]) >= FIRST_YEAR else None


def _hours(text: str, half: str | None) -> int:
    """:raises ValueError: no hour of a twelve-hour clock."""
    hours = int(text)
    if half is None:
        return hours
    if not 1 <= hours <= 12:
        raise ValueError(text)
    return hours % 12 + 12 * (half in "Pp")


def _format_day(start: datetime) -> str:
    """A day that begins at midnight in UTC, or in the zone that fits (xsd:date)."""
    east = timedelta(days=1) - (start - start.replace(hour=0, minute=0))
    if east == timedelta(days=1):
        return f"{start:%Y-%m-%d}"
    west = timedelta(days=1) - east
    sign, offset = ("-", west) if west <= timedelta(hours=12) else ("+", east)
    day = start if sign == "-" else start + east
    return f"{day:%Y-%m-%d}{sign}{offset.seconds // 3600:02}:{offset.seconds // 60 % 60:02}"


def _year(text: str | None) -> int:
    assert text is not None, "every form has a year"
    year = int(text)
    if len(text) == 2:  # RFC 5322 4.3
        return year + (2000 if year < 50 else 1900)
    return year


def _month(part: dict[str, str | None]) -> int | None:
    if name := part.get("name"):
        month = _MONTHS.get(name.lower())
        if month is None:
            raise ValueError(name)
        return month
    month_text = part.get("month")
    return None if month_text is None else int(month_text)


def _offset(zone: str | None) -> timedelta:
    """The distance from UTC; a zone name that says nothing is UTC (RFC 5322 4.3).

    :raises ValueError: an offset that no place on Earth has.
    """
    if not zone:
        return timedelta()
    found = re.search(r"([+-])(\d{1,2}):?(\d{2})?Z?$", zone)
    if found is None:
        return timedelta(hours=_NAMED_ZONES.get(zone.upper(), 0))
    offset = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    if offset > MAX_OFFSET or int(found[3] or 0) > 59:
        raise ValueError(zone)
    return -offset if found[1] == "-" else offset
