"""The request and the response that every door translates into: a Lambda event, an ASGI scope, a test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import parse_qs

from runtime.errors import ServiceError

MAX_BODY_BYTES = 1_048_576
"""What a door has to read of a body: enough for a site's options, two lists of a hundred escaped globs included."""

OPEN_BODY_BYTES = 16_384
"""What anybody may send, before they have shown that they know a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request. Header names are lower case; `body` is the raw bytes, any base64 of the door undone.

    Headers, query and body may hold secrets and are left out of the repr.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    query: str = field(default="", repr=False)
    id: str = ""

    def parameter(self, name: str) -> str | None:
        """The last value of a query parameter; None when it is not there, or empty."""
        return parse_qs(self.query).get(name, [None])[-1]


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a JSON body and extra headers."""

    status: int
    body: Mapping[str, Any] = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        return json.dumps(self.body, ensure_ascii=False).encode()


class HttpError(ServiceError):
    """Ends a request with a fixed text and a machine code."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail, code=code)
        self.status, self.headers = status, dict(headers or {})


def parse_object(request: Request, *, max_bytes: int = OPEN_BODY_BYTES) -> dict[str, Any]:
    """The body as a JSON object, whatever its content type says: `curl -d` names another one.

    :raises HttpError: 400 (no JSON object, not UTF-8, a lone surrogate), 413, 415.
    """
    if request.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise HttpError(415, "unsupported_encoding", "send the body without a content-encoding")
    if len(request.body) > max_bytes:
        raise HttpError(413, "too_large", f"the body may have {max_bytes} bytes")
    if not request.body:
        raise HttpError(400, "bad_request", "send a JSON object")
    try:
        value = json.loads(request.body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        # A BOM, another encoding, NaN, endless nesting: none of it is JSON (RFC 8259 6, 8.1) that we read.
        raise HttpError(400, "bad_json", "the body is not JSON") from None
    if not isinstance(value, dict) or not _encodable(value):
        raise HttpError(400, "bad_request", "send a JSON object")
    return value


def _no_constant(_: str) -> NoReturn:
    raise ValueError


def _encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True
