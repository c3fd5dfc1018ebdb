"""Conditional requests: which stored validators may be sent, what a 304 leaves standing, when to come back.

A validator can lie. One that no longer moves answers 304 for ever, so none is relied on for longer than `RECHECK`
without a full answer, and a Last-Modified that cannot be a date of the document is not used at all.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from runtime.reading import Response, Validators
from runtime.sitemap.dates import parse_lastmod

RECHECK: Final = timedelta(days=28)
"""After this long without a full answer a request is unconditional."""

CLOCK_SKEW: Final = timedelta(minutes=5)
MAX_RETRY_AFTER: Final = timedelta(days=7)


def sendable(stored: Validators, now: datetime, fetched_at: datetime | None) -> Validators | None:
    """The validators to ask with, or None for an unconditional request.

    :param fetched_at: when the document last came in full.
    """
    if fetched_at is not None and not timedelta() <= now - fetched_at <= RECHECK:
        return None
    kept = _credible(stored, now)
    return kept or None


def storable(response: Response, now: datetime) -> Validators:
    """The validators of a full answer, without those that cannot be true (RFC 9110 8.8.2.1)."""
    validators = response.validators
    modified = parse_lastmod(validators.last_modified)
    if modified is not None and modified.start > now + CLOCK_SKEW:
        return _without_date(validators)
    return validators


def after_304(stored: Validators, response: Response) -> Validators:
    """What stays stored after "not modified": fields the answer repeats for the same entity tag replace the old ones.

    A 304 that names another entity tag is not about what we stored and changes nothing (RFC 9111 4.3.4).
    """
    fresh = response.validators
    if fresh.etag is not None and stored.etag is not None and _opaque(fresh.etag) != _opaque(stored.etag):
        return stored
    return Validators(fresh.etag or stored.etag, fresh.last_modified or stored.last_modified)


def retry_after(response: Response, now: datetime) -> datetime | None:
    """When a 429 or 503 asks us to come back, at most `MAX_RETRY_AFTER` away (RFC 9110 10.2.3)."""
    if response.status not in (429, 503):
        return None
    value = (response.header("retry-after") or "").strip()
    if value.isascii() and value.isdigit():
        seconds = min(int(value[:12]), int(MAX_RETRY_AFTER.total_seconds()))
        return now + timedelta(seconds=seconds)
    date = parse_lastmod(value)
    if date is None or date.start <= now:
        return None
    return min(date.start, now + MAX_RETRY_AFTER)


def _credible(validators: Validators, now: datetime) -> Validators:
    """Without a Last-Modified that is no date of a document: none at all, before the web, or in the future."""
    modified = parse_lastmod(validators.last_modified)
    if modified is not None and modified.start <= now:
        return validators
    return _without_date(validators)


def _without_date(validators: Validators) -> Validators:
    """Drop the date, and an entity tag that is nothing but the date in quotes."""
    etag, date = validators.etag, validators.last_modified
    return Validators(None if etag and date and date in etag else etag)


def _opaque(etag: str) -> str:
    """The opaque part, for the weak comparison that If-None-Match uses (RFC 9110 8.8.3.2)."""
    return etag.removeprefix("W/")
