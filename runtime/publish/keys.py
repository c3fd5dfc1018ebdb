"""Which object keys are allowed, and the public URL of one."""

from __future__ import annotations

import unicodedata
from urllib.parse import quote

from runtime.errors import InputError

MAX_KEY_BYTES = 1024
"""The longest key of S3 and R2, in UTF-8 bytes."""

MAX_SEGMENT_BYTES = 255
"""The longest file name of the usual file systems: one key works in every store."""


def checked_key(key: str) -> str:
    """The key itself, when it names an object below the root in every store.

    Refused are: an empty or too long key, `.`, `..` and empty segments (a leading, trailing or doubled slash),
    backslashes, and control or unpaired surrogate characters.

    :raises InputError: the key is not allowed.
    """
    if any(unicodedata.category(character) in {"Cc", "Cs"} or character == "\\" for character in key):
        raise InputError("key", "an object key has no control characters and no backslash")
    if not key or len(key.encode()) > MAX_KEY_BYTES:
        raise InputError("key", f"an object key has 1 to {MAX_KEY_BYTES} bytes")
    for segment in key.split("/"):
        if segment in {"", ".", ".."}:
            raise InputError("key", "an object key has no empty, '.' or '..' segment")
        if len(segment.encode()) > MAX_SEGMENT_BYTES:
            raise InputError("key", f"a segment of an object key has at most {MAX_SEGMENT_BYTES} bytes")
    return key


def checked_name(name: str) -> str:
    """A key of one segment that does not begin with a dot, such as a site id.

    :raises InputError: the name is not allowed.
    """
    if "/" in name or name.startswith("."):
        raise InputError("key", "a site's state is kept under a plain name, without '/' and leading '.'")
    return checked_key(name)


def public_url(base_url: str, key: str) -> str:
    """`base_url` and the key, percent-encoded so that the server decodes it to the very same key."""
    return f"{base_url.rstrip('/')}/{quote(checked_key(key), safe='/:@~')}"
