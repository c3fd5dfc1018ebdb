"""Notifications that could not be delivered within their run: kept, and tried again later under the same id.

A kept letter is the message as it was, without address and secrets: those are looked up when it is tried again, so that
an owner who mends or removes the address is obeyed, and nothing secret lies in a queue. The receiver gets the same
`webhook-id` each time, under a fresh signature, because a signature is good for five minutes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from runtime.errors import InputError
from runtime.notice import Kind

VERSION = 1
FIELDS = ("v", "site_id", "role", "id", "kind", "body")


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """`role` is who it is for, `site` or `service`; `id` and `body` are the message's, `kind` its type."""

    site_id: str
    role: str
    id: str
    kind: str
    body: str

    @property
    def name(self) -> str:
        """One text a letter: a run tells each addressee at most once."""
        return f"{self.id}-{self.role}"


def to_json(letter: Letter) -> str:
    return json.dumps({"v": VERSION, **{name: getattr(letter, name) for name in FIELDS[1:]}}, separators=(",", ":"))


def from_json(text: str) -> Letter:
    """The letter of a text that `to_json` wrote.

    :raises InputError: anything else. Reading it again will not help.
    """
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or set(value) != set(FIELDS) or value["v"] != VERSION:
        raise InputError("letter", f"an object with exactly {', '.join(FIELDS)} of version {VERSION} is expected")
    given = {name: value[name] for name in FIELDS[1:]}
    if not all(isinstance(text, str) for text in given.values()):
        raise InputError("letter", "its fields are texts")
    if given["kind"] not in set(Kind):
        raise InputError("letter", f"its kind is one of {', '.join(Kind)}")
    return Letter(**given)
