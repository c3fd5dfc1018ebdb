"""Sites without an end: the traps that a case names as its `generator`."""

from __future__ import annotations

import re
from collections.abc import Iterator

HTML = {"content-type": "text/html; charset=utf-8"}

Answered = tuple[int, dict[str, str], bytes | Iterator[bytes]]


def _page(title: str, *hrefs: str) -> bytes:
    links = "".join(f'<p><a href="{href}">{href}</a></p>' for href in hrefs)
    return f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{links}</body></html>".encode()


def _month(number: int) -> str:
    return f"/cal/{number // 12:04d}/{number % 12 + 1:02d}"


def _forever() -> Iterator[bytes]:
    yield b"<html><head><title>Endless</title></head><body>"
    while True:
        yield b"<p>more</p>" * 5000


def generated(name: str, url: str, hits: int = 0) -> Answered | None:
    """The answer of the endless site `name` (calendar, grow, session, endless), or None for a 404."""
    path = re.sub(r"^https?://[^/]+", "", url) or "/"
    if name == "calendar":
        if month := re.fullmatch(r"/cal/(\d{1,6})/(\d\d)", path):
            number = int(month[1]) * 12 + int(month[2]) - 1
            days = [f"{path}/day/{day}" for day in range(1, 29)]
            title = f"Calendar {month[1]}-{month[2]}"
            return 200, HTML, _page(title, _month(number + 1), _month(max(0, number - 1)), *days)
        if day := re.fullmatch(r"/cal/(\d+)/(\d\d)/day/(\d+)", path):
            return 200, HTML, _page(f"No events on {day[1]}-{day[2]}-{day[3]}", f"/cal/{day[1]}/{day[2]}")
    if name == "grow" and path.startswith("/a/"):
        return 200, HTML, _page("Section A", "x/", "x/y.html", "/b")
    if name == "session" and (place := re.fullmatch(r"(/[abc]?)(;jsessionid=\w+)?", path)):
        session = f";jsessionid={0xA0000000 + hits:08X}"
        hrefs = [f"/{letter}{session}" for letter in ("", "a", "b", "c")]
        return 200, HTML, _page(f"Page {place[1].strip('/') or 'home'}", *hrefs)
    if name == "endless" and path == "/endless":
        return 200, HTML, _forever()
    return None
