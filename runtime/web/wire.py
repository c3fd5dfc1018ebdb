"""What the fetch client asks of the wire: one request sent, one answer read piece by piece.

`runtime.web.transport` is the real wire; `runtime.web.injected` is any httpx transport in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from runtime.web.gate import Target

Headers = tuple[tuple[str, str], ...]


class WireError(Exception):
    """The wire failed: `code` is connect_failed, timeout, tls, protocol_error or connection_lost."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Times of the event loop's clock by which a request must be somewhere, and the least a body must flow.

    From `rate_from` on, every `rate_window` seconds must bring `rate_bytes`.
    """

    end: float
    connect: float
    first_byte: float
    rate_from: float
    rate_window: float = 5.0
    rate_bytes: int = 5 * 1024


class Answer(Protocol):
    """A status line and headers that have arrived, and a body that has not been read."""

    status: int
    headers: Headers

    async def read(self) -> bytes:
        """The next bytes of the body as sent; b"" at its end. :raises WireError: timeout, protocol_error."""

    @property
    def whole(self) -> bool:
        """After the end: whether the body came as long as it was announced."""

    async def close(self) -> None:
        """Done with the answer; what is unread is thrown away. Always called, once."""


class Wire(Protocol):
    async def send(
        self,
        target: Target,
        addresses: Sequence[str],
        headers: Sequence[tuple[str, str]],
        deadlines: Deadlines,
        body: bytes | None = None,
    ) -> Answer:
        """GET `target` from one of `addresses`, which the gate has judged; with a body, POST it, once.

        :raises WireError: no answer.
        """

    async def aclose(self) -> None: ...
