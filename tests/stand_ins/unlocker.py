"""Bright Data's Web Unlocker (POST /request with zone, url and format) in front of a dictionary of rendered pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.stand_ins.vendor import Call, Reply, Vendor, running_vendor

ZONE = "unlocker_zone_17"


def rendered(html: bytes) -> Reply:
    """A page as `format: raw` brings it."""
    return Reply(200, html, {"Content-Type": "text/html; charset=utf-8"})


def not_unlocked(code: str, status: int = 200) -> Reply:
    """What went wrong behind the API is in its headers."""
    return Reply(status, b"", {"x-brd-error-code": code, "x-brd-error": f"zone {ZONE}: {code}"})


@contextmanager
def running_unlocker(pages: Mapping[str, bytes]) -> Iterator[Vendor]:
    """What is not in `pages` cannot be unlocked."""

    def answer(call: Call) -> Reply:
        if call.path != "/request" or call.body.keys() != {"zone", "url", "format"} or call.body["format"] != "raw":
            return Reply.of({"error": "zone, url and format are required"}, 400)
        if call.body["zone"] != ZONE:
            return Reply.of({"error": "zone not found"}, 400)
        html = pages.get(call.body["url"])
        return not_unlocked("target_40001", 502) if html is None else rendered(html)

    with running_vendor(answer) as server:
        yield server
