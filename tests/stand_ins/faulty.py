"""An HTTP server between us and an API that does to each request what its script says, and passes on the rest."""

from __future__ import annotations

import http.client
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Fault(Enum):
    LOSE = "pass the request on, and hang up instead of answering"
    CLOSE = "hang up without passing anything on"
    HANG = "never answer, as the far end of a half-open connection"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the server's own, in place of the API's."""

    status: int
    body: str = ""
    content_type: str = "text/html"
    headers: dict[str, str] = field(default_factory=dict)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65536
    server: FaultyServer

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def log_message(self, *_args: object) -> None:
        """Tests read answers, not a log."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append(self.path)
        step = self.server.script.popleft() if self.server.script else None
        if step is Fault.HANG:
            self.server.released.wait()
        if isinstance(step, Answer):
            self._answer(step)
        elif step in (None, Fault.LOSE):
            passed = self._pass_on(body)
            if step is None:
                self._answer(passed)
        if isinstance(step, Fault):
            self.close_connection = True

    def _pass_on(self, body: bytes) -> Answer:
        upstream = urlsplit(self.server.upstream)
        assert upstream.hostname is not None
        connection = http.client.HTTPConnection(upstream.hostname, upstream.port)
        kept = {name: self.headers[name] for name in ("apikey", "Authorization", "Content-Type") if self.headers[name]}
        connection.request("POST", self.path, body, kept)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return Answer(answer.status, text, answer.headers.get("Content-Type", ""))

    def _answer(self, answer: Answer) -> None:
        content = answer.body.encode()
        with suppress(ConnectionError):
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)


class FaultyServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = upstream
        self.script: deque[Fault | Answer] = deque()
        self.requests: list[str] = []
        self.connections = 0
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def running_faulty(upstream: str = "") -> Iterator[FaultyServer]:
    """A server that passes requests on to `upstream` unless its `script` has something else for them."""
    server = FaultyServer(upstream)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
