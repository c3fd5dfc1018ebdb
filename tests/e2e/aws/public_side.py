"""What readers talk to: a bucket's objects with their stored headers, for everybody, read only, as r2.dev shows them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SHOWN = {"ContentType": "Content-Type", "CacheControl": "Cache-Control", "ETag": "ETag"}


@contextmanager
def public_side(client: Any, bucket: str) -> Iterator[str]:
    """Serve the bucket; gives the base URL."""

    class Reader(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            key = self.path.lstrip("/")
            try:
                found = client.get_object(Bucket=bucket, Key=key) if key else None
            except client.exceptions.NoSuchKey:
                found = None
            if found is None:
                self.send_error(404)
                return
            body = found["Body"].read()
            self.send_response(200)
            for stored, header in SHOWN.items():
                self.send_header(header, found[stored])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests look at the answers."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Reader)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
