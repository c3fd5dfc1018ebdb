"""What a site lets us fetch: its robots.txt, read over the web and turned into rules (RFC 9309 2.3)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from runtime import conditional, urls
from runtime.crawl.robots import Robots
from runtime.errors import FetchFailed, Refused
from runtime.ports import Web
from runtime.reading import DocumentState, Response, Validators, stamp
from runtime.settings import CrawlLimits
from runtime.sitemap.dates import parse_lastmod

ACCEPT: Final = "text/plain, */*;q=0.5"
MAX_KEPT_TEXT: Final = 65_536
"""A larger file is asked for in full every time."""

Status = Literal["read", "absent", "unreachable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What may be fetched from one origin.

    `read`: rules were found. `absent`: there is no file (any 4xx, or redirects that lead nowhere), everything is
    allowed. `unreachable`: the server is in trouble or asks for patience (5xx, 429, no answer); nothing may be fetched
    now, `robots` disallows everything, and `retry_after` is when the server wants to be asked again, if it said so.
    """

    robots: Robots
    status: Status
    retry_after: datetime | None = None
    document: DocumentState | None = None
    reason: str = ""
    code: str = ""
    """Why nobody answered: the code of `FetchFailed`."""


def robots_url(url: str) -> str:
    """The robots.txt that governs a URL: same scheme, host and port, never with user name or password (2.3).

    :raises InputError: not an absolute http(s) URL.
    """
    return f"{urls.origin(url)}/robots.txt"


async def read_access(
    web: Web,
    base_url: str,
    limits: CrawlLimits,
    *,
    previous: DocumentState | None = None,
    now: datetime | None = None,
) -> Access:
    """Read the robots.txt that governs `base_url`. Redirects are followed, to other hosts too (2.3.1.2).

    :param previous: `Access.document` of the last time, for a conditional request.
    :param now: for Retry-After in seconds and the age of what is stored; without it the answer's own Date counts, and
        the request is unconditional.
    """
    url = robots_url(base_url)
    asked = _asked(previous, url, now)
    try:
        response = await web.get(url, max_bytes=limits.robots_bytes, accept=ACCEPT, validators=asked)
        if response.status == 304 and (previous is None or asked is None or response.url != previous.final_url):
            response = await web.get(url, max_bytes=limits.robots_bytes, accept=ACCEPT)
    except FetchFailed as error:
        if error.code in ("redirect_loop", "redirect_limit"):
            return Access(robots=Robots.ALLOW_ALL, status="absent", reason=str(error))
        return Access(robots=Robots.DISALLOW_ALL, status="unreachable", reason=str(error), code=error.code)
    except Refused as error:  # the file itself is out of bounds: there is none that we may read
        return Access(robots=Robots.ALLOW_ALL, status="absent", reason=str(error))
    return _judge(response, url, previous, now)


def _asked(previous: DocumentState | None, url: str, now: datetime | None) -> Validators | None:
    if previous is None or previous.text is None or now is None or previous.url != url:
        return None
    return conditional.sendable(previous.validators, now, previous.fetched)


def _judge(response: Response, url: str, previous: DocumentState | None, now: datetime | None) -> Access:
    status = response.status
    now = now or _date(response)
    if status == 304 and previous is not None and previous.text is not None:
        kept = replace(previous, validators=conditional.after_304(previous.validators, response))
        return Access(robots=Robots.parse(previous.text.encode(), url), status="read", document=kept)
    if 200 <= status < 300:
        return Access(robots=Robots.parse(response.body, url), status="read", document=_document(response, url, now))
    if status in (304, 429) or status >= 500:
        return Access(
            robots=Robots.DISALLOW_ALL,
            status="unreachable",
            retry_after=conditional.retry_after(response, now) if now else None,
            reason=f"robots.txt answers {status}",
        )
    return Access(robots=Robots.ALLOW_ALL, status="absent", reason=f"robots.txt answers {status}")


def _document(response: Response, url: str, now: datetime | None) -> DocumentState:
    """What the next reading needs for a conditional request; a text that is cut or large is not kept for one."""
    text = None
    if response.complete and len(response.body) <= MAX_KEPT_TEXT:
        try:
            text = response.body.decode()
        except UnicodeDecodeError:
            text = None
    return DocumentState(
        url=url,
        final_url=response.url,
        validators=conditional.storable(response, now) if now else response.validators,
        sha256=hashlib.sha256(response.body).hexdigest(),
        kind="robots",
        complete=response.complete,
        fetched_at=stamp(now) if now and text is not None else "",
        text=text,
    )


def _date(response: Response) -> datetime | None:
    """The server's own clock (RFC 9110 6.6.1)."""
    date = parse_lastmod(response.header("date"))
    return None if date is None else date.start
