"""Where a command's result goes: standard output, or a file that readers see whole, the old one or the new one."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from runtime.errors import InputError

OPTION = "--output"


def use_utf8() -> None:
    """Write UTF-8 whatever the locale says: llms.txt is UTF-8, and so is JSON (RFC 8259 8.1)."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by whoever started us
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


def destination(path: Path | None) -> Path | None:
    """The place that was asked for, looked at before the work begins; None is standard output, and so is `-`.

    A link stays one: what it leads to is written.

    :raises InputError: there is no such folder, or it cannot be written.
    """
    if path is None or str(path) == "-":
        return None
    place = path.resolve()
    if not place.parent.is_dir():
        raise InputError(OPTION, f"there is no folder {place.parent}; make it, or choose another place")
    target = place.parent if _is_replaceable(place) else place
    if not os.access(target, os.W_OK):
        raise InputError(OPTION, f"{target} cannot be written by this user; choose another place")
    return place


def write_whole(path: Path, text: str) -> None:
    """Write a file in one step, with its folder if that is missing. What is no file (a pipe, a device) is written to.

    :raises InputError: the file cannot be written; the old one is untouched.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}") if _is_replaceable(path) else None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (draft or path).write_text(text, encoding="utf-8", newline="\n")
        if draft is not None:
            draft.replace(path)
    except OSError as error:
        if draft is not None:
            with suppress(OSError):  # where nothing could be written there may be nothing to remove
                draft.unlink()
        raise InputError(OPTION, f"{path} cannot be written ({error.strerror}); choose another place") from None


def _is_replaceable(path: Path) -> bool:
    return path.is_file() or not path.exists()
