"""Documentation that nobody here wrote, from Debian packages, behind a static web server on loopback.

`python -m tests.e2e.doc_sites` crawls each of them and prints what it cost.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate, parsedate_to_datetime
from hashlib import sha256
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class DocPackage:
    """A Debian package and the folder of its HTML."""

    name: str
    root: Path

    @property
    def installed(self) -> bool:
        return (self.root / "index.html").is_file()

    @property
    def why_missing(self) -> str:
        return (
            f"there is no {self.root}/index.html: install the Debian package {self.name} "
            "(and do not let dpkg exclude /usr/share/doc)"
        )


PACKAGES = (
    DocPackage("python3.11-doc", Path("/usr/share/doc/python3.11/html")),
    DocPackage("postgresql-doc-15", Path("/usr/share/doc/postgresql-doc-15/html")),
    DocPackage("sqlite3-doc", Path("/usr/share/doc/sqlite3")),
)


@dataclass(slots=True)
class DocSite:
    """A served folder. With `sitemap` it has a robots.txt and a sitemap.xml that is made from the files' dates."""

    root: Path
    sitemap: bool = False
    url: str = ""
    requests: list[tuple[str, int]] = field(default_factory=list)

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a path, as a static server would give them."""
        if self.sitemap and path == "/robots.txt":
            return _whole(f"User-agent: *\nAllow: /\nSitemap: {self.url}/sitemap.xml\n".encode(), "text/plain", 0)
        if self.sitemap and path == "/sitemap.xml":
            return self._sitemap()
        file = self.root / unquote(path).lstrip("/")
        if path.endswith("/"):
            file /= "index.html"
        if ".." in file.parts or not file.is_file():
            if file.is_dir():
                return 301, {"Location": f"{path}/", "Content-Length": "0"}, b""
            return 404, {"Content-Type": "text/html", "Content-Length": "9"}, b"Not found"
        return _whole(file.read_bytes(), guess_type(file.name)[0] or "application/octet-stream", file.stat().st_mtime)

    def _sitemap(self) -> tuple[int, dict[str, str], bytes]:
        entries = []
        for file in sorted(self.root.rglob("*.html")):
            place = quote(file.relative_to(self.root).as_posix().removesuffix("index.html"))
            date = datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="seconds")
            entries.append(f"<url><loc>{self.url}/{escape(place)}</loc><lastmod>{date}</lastmod></url>\n")
        xml = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{"".join(entries)}</urlset>\n'
        # It is made while it is asked for, so its bytes are its only validator.
        etag = f'"{sha256(xml.encode()).hexdigest()[:20]}"'
        return (
            200,
            {"Content-Type": "application/xml", "Content-Length": str(len(xml.encode())), "ETag": etag},
            xml.encode(),
        )


def _whole(body: bytes, content_type: str, modified: float) -> tuple[int, dict[str, str], bytes]:
    headers = {
        "Content-Type": content_type,
        "Content-Length": str(len(body)),
        "ETag": f'"{int(modified):x}-{len(body):x}"',
        "Last-Modified": formatdate(modified, usegmt=True),
    }
    return 200, headers, body


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error; anything else is printed."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(root: Path, *, sitemap: bool = False) -> Iterator[DocSite]:
    """Serve a folder on a free port of loopback until the end of the block."""
    site = DocSite(root, sitemap)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, headers, body = site.answer(urlsplit(self.path).path)
            if status == 200 and _is_current(headers, self.headers):
                status, body = 304, b""
                headers = {name: headers[name] for name in ("ETag", "Last-Modified") if name in headers}
            site.requests.append((self.path, status))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Requests are kept in `site.requests`."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()


def _is_current(headers: Mapping[str, str], request: Any) -> bool:
    """RFC 9110 13.2.2: If-None-Match decides alone when it is there."""
    if (tags := request.get("If-None-Match")) is not None:
        return headers["ETag"] in {tag.strip().removeprefix("W/") for tag in tags.split(",")}
    if (since := request.get("If-Modified-Since")) is not None and "Last-Modified" in headers:
        return parsedate_to_datetime(headers["Last-Modified"]) <= parsedate_to_datetime(since)
    return False


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished call of the command line."""

    code: int
    stdout: str
    stderr: str
    seconds: float
    peak_bytes: int

    @property
    def value(self) -> Any:
        """The JSON on stdout."""
        assert self.code == 0, self.stderr
        return json.loads(self.stdout)


def command_line(home: Path, *args: str, hash_seed: int = 0) -> Ran:
    """Run `python -m runtime` in a process of its own, without a limit on the rate: the server is ours."""
    command = [sys.executable, "-m", "runtime", "--home", str(home), "--allow-private", "--rate", "0", "--json", *args]
    out, err = home / "stdout", home / "stderr"
    home.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "NO_COLOR": "1"},
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Ran(
        process.returncode,
        out.read_text(encoding="utf-8"),
        err.read_text(encoding="utf-8"),
        time.monotonic() - started,
        usage.ru_maxrss * 1024,
    )


def measure(package: DocPackage, folder: Path) -> str:
    """One line of the table: pages a second, peak memory, and what a tick without changes asks for."""
    home = folder / package.name
    with serving(package.root, sitemap=True) as site:
        crawled = command_line(home, "crawl", site.url, "--max-pages", "500", "-o", str(home / "llms.txt"))
        pages, requests = crawled.value["counts"]["pages"], len(site.requests)
        command_line(home, "enroll", site.url, "--max-pages", "500")
        command_line(home, "pause", site.url)
        command_line(home, "resume", site.url)
        site.requests.clear()
        ticked = command_line(home, "tick")
        return (
            f"{package.name:18} {pages:4} pages {crawled.seconds:6.1f} s {pages / crawled.seconds:6.0f} pages/s "
            f"{requests:5} requests {crawled.peak_bytes / 2**20:5.0f} MB   unchanged tick: {len(site.requests)} requests, "
            f"{ticked.seconds:.1f} s, {ticked.value}"
        )


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        for each in PACKAGES:
            print(measure(each, Path(scratch)) if each.installed else each.why_missing)
