"""A TCP proxy that can swallow an answer: the server has done its work and the client never learns of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class LossyProxy:
    """Forwards bytes to one upstream; after `swallow_answers(n)` the next `n` connections get no byte back."""

    def __init__(self, upstream_url: str) -> None:
        target = urlsplit(upstream_url)
        assert target.hostname is not None
        assert target.port is not None
        self._upstream = (target.hostname, target.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._swallow = 0
        self.swallowed = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def swallow_answers(self, count: int) -> None:
        with self._lock:
            self._swallow = count

    @contextmanager
    def running(self) -> Iterator[LossyProxy]:
        self._thread.start()
        try:
            yield self
        finally:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._thread.join(timeout=5)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._upstream) as upstream:
            back = threading.Thread(target=self._answers, args=(upstream, client), daemon=True)
            back.start()
            with suppress(OSError):
                while data := client.recv(65_536):
                    upstream.sendall(data)
            with suppress(OSError):
                upstream.shutdown(socket.SHUT_WR)
            back.join(timeout=5)

    def _answers(self, upstream: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := upstream.recv(65_536):
                if not data.startswith(b"HTTP/1.1 100") and self._is_to_be_swallowed():
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)

    def _is_to_be_swallowed(self) -> bool:
        with self._lock:
            if self._swallow == 0:
                return False
            self._swallow -= 1
            self.swallowed += 1
            return True
