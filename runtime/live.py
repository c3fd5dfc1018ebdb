"""The live crawl's protocol: one message in, frames out, over whatever carries them. Pure.

The message is the specification's crawl request as one JSON object; a frame is `{"type": …, "content": …}`:

- `log`: a line for people; `progress`: pages listed so far, with `pages`, `of` and `url`;
- `result`: the llms.txt; `url`: where it is published, if it is;
- `error`: what went wrong, in one sentence, with its `code` and, of a bad field, the `field`;
- `done`: the last frame, always; an enrolment that was asked for has its row in `site`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from runtime.errors import InputError, NotFound, Refused, ServiceError, StaleClaim, Transient

MAX_MESSAGE_BYTES = 16_384
FIRST_MESSAGE_SECONDS = 30.0
"""How long a client may take until it says what it wants."""

AT_ONCE = 2
"""Live crawls that the holders of one key may have under way."""

PATH = "/ws/crawl"
ENABLED = "Auto-update enabled for this site"

STEPS: Mapping[str, str] = {
    "claimed": "Starting",
    "robots_read": "robots.txt read",
    "sitemaps_read": "Sitemaps read",
    "crawled": "Crawl complete",
    "version_stored": "Version stored",
    "published": "Upload complete",
    "committed": "Saved",
}
"""The steps of a run that a person is told of."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message to the client."""

    type: str
    content: str
    more: Mapping[str, Any] = field(default_factory=dict)

    def encoded(self) -> str:
        return json.dumps({"type": self.type, "content": self.content, **self.more}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a client asked for. `fields` are those of an enrolment, not checked yet."""

    fields: Mapping[str, Any]
    enroll: bool


def parse(text: str | bytes | None) -> Wanted:
    """The client's message.

    :raises InputError: it is no JSON object in text, or `enableAutoUpdate` is no flag; `field` names what is wrong.
    """
    if not isinstance(text, str):
        raise InputError("message", "send the request as one text message of JSON", code="bad_message")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_MESSAGE_BYTES:
        raise InputError("message", f"may have {MAX_MESSAGE_BYTES} bytes", code="too_large")
    try:
        value = json.loads(text, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise InputError("message", "is not JSON", code="bad_json") from None
    if not isinstance(value, dict):
        raise InputError("message", "send a JSON object", code="bad_message")
    wish = value.get("enableAutoUpdate", False)
    if not isinstance(wish, bool):
        raise InputError("enableAutoUpdate", "must be true or false")
    return Wanted({**value, "enableAutoUpdate": True}, wish)


def log(text: str) -> Frame:
    return Frame("log", text)


def progress(pages: int, of: int, url: str) -> Frame:
    return Frame("progress", f"Visiting: {url}", {"pages": pages, "of": of, "url": url})


def done(site: Mapping[str, Any] | None = None) -> Frame:
    return Frame("done", "done" if site is None else "enrolled", {} if site is None else {"site": site})


def busy() -> Frame:
    """The refusal of one crawl too many."""
    return _error(
        f"{AT_ONCE} live crawls of your API key are under way: wait until one is done, then ask again", "busy"
    )


def refusal(error: Exception) -> Frame:
    """The error as a client may see it: sentences of ours, never a text from elsewhere."""
    if isinstance(error, InputError):
        return _error(str(error), error.code, field=error.field)
    if isinstance(error, Refused):
        return _error(f"url: {error}", error.code, field="url")
    if isinstance(error, StaleClaim):
        return _error("the site is being crawled; try again in a few minutes", "busy")
    if isinstance(error, Transient):
        return _error("the service cannot do it now; try again later", "unavailable")
    if isinstance(error, NotFound):
        return _error("the site was removed meanwhile", error.code)
    if isinstance(error, ServiceError):
        return _error("the service is not set up correctly", error.code)
    return _error("an internal error; it was logged", "internal")


def problem(text: str, code: str) -> Frame:
    """Something that ended the crawl and is nobody's bad input."""
    return _error(text, code)


def _error(text: str, code: str, **more: Any) -> Frame:
    return Frame("error", text, {"code": code, **more})


def _no_constant(_: str) -> NoReturn:
    raise ValueError
