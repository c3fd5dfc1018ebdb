"""Who is told of changes: an HTTP server on loopback that checks the signature of what it is sent, as receivers do."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOLERANCE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Received:
    """One POST, whether its signature holds for the secret of its path, and the status that it was answered with."""

    path: str
    id: str
    body: bytes
    verified: bool
    status: int

    @property
    def payload(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """`secrets` by path; `refusing` says how many more POSTs to a path are answered with 500."""

    url: str = ""
    secrets: dict[str, str] = field(default_factory=dict)
    refusing: dict[str, int] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, path: str, headers: Any, body: bytes) -> int:
        with self._lock:
            left = self.refusing.get(path, 0)
            self.refusing[path] = max(0, left - 1)
            status = 500 if left else 204
            holds = verified(self.secrets.get(path, ""), headers, body, time.time())
            self.received.append(Received(path, headers["webhook-id"], body, holds, status))
            return status

    def at(self, path: str) -> list[Received]:
        """What came to a path, in turn."""
        with self._lock:
            return [one for one in self.received if one.path == path]


def verified(secret: str, headers: Any, body: bytes, now: float) -> bool:
    """`Webhook.verify` of the reference library of Standard Webhooks, in its steps: the age, then any v1 signature."""
    sent_at = int(headers["webhook-timestamp"])
    if not secret or abs(now - sent_at) > TOLERANCE_SECONDS:
        return False
    signed = f"{headers['webhook-id']}.{sent_at}.".encode() + body
    expected = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    for part in headers["webhook-signature"].split(" "):
        version, _, signature = part.partition(",")
        if version == "v1" and hmac.compare_digest(base64.b64decode(signature), expected):
            return True
    return False


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    """Listen until the end."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(receiver.take(self.path, self.headers, body))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests look at what came."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
