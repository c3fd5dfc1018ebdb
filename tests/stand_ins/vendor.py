"""A paid HTTP API on loopback: answers as its published contract says, unless a test scripts something else."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-secret-0123456789"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `hang` keeps the caller waiting until the test ends; `cut` closes before the promised length."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    cut: bool = False

    @classmethod
    def of(cls, value: Any, status: int = 200, **headers: str) -> Reply:
        """A JSON answer; `retry_after="1"` becomes Retry-After."""
        names = {name.replace("_", "-").title(): text for name, text in headers.items()}
        return cls(status, json.dumps(value).encode(), {"Content-Type": "application/json", **names})


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Vendor(ThreadingHTTPServer):
    """`answer` is the contract; what is in `script` comes first. `calls` is what was asked, in order."""

    daemon_threads = True

    def __init__(self, answer: Callable[[Call], Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.script: deque[Reply] = deque()
        self.calls: list[Call] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    server: Vendor

    def log_message(self, *_args: object) -> None:
        """Tests read calls, not a log."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        call = Call(self.path, {name.lower(): value for name, value in self.headers.items()}, json.loads(raw))
        self.server.calls.append(call)
        if call.headers.get("authorization") != f"Bearer {KEY}":
            reply = Reply.of({"error": {"code": 401, "message": "No auth credentials found"}}, 401)
        else:
            reply = self.server.script.popleft() if self.server.script else self.server.answer(call)
        if reply.hang:
            self.server.released.wait()
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        with suppress(ConnectionError):
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body) + 100 * reply.cut))
            self.end_headers()
            self.wfile.write(reply.body)
        self.close_connection = self.close_connection or reply.cut or reply.hang


@contextmanager
def running_vendor(answer: Callable[[Call], Reply]) -> Iterator[Vendor]:
    server = Vendor(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
