"""What the use cases ask of the world. Each port has a real and an embedded implementation; both are passed in.

All calls are coroutines, so that one event loop can interleave many sites. None of them reads a clock for the caller:
the stores use their own ("the database clock"), everything else is given `now`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from runtime.models import Claim
from runtime.registry import Sites
from runtime.settings import Settings

if TYPE_CHECKING:
    from runtime.letters import Letter
    from runtime.reading import Response, Validators  # not needed to name a port, and half of a webhook's imports

MayVisit = Callable[[str], Awaitable[str | None]]
"""Asked before every hop: None lets the request out, a text is the reason not to (RFC 9309 2.2.2)."""


class Sink(Protocol):
    """Takes a body piece by piece, in place of `Response.body`. False from either: read no more of it."""

    def came(self, size: int) -> bool:
        """So many more bytes came over the wire."""

    def take(self, data: bytes) -> bool:
        """The next bytes of the body, its content coding undone."""


class Web(Protocol):
    """The one way out to the internet: every URL is checked, resolved once and pinned."""

    async def get(
        self,
        url: str,
        *,
        max_bytes: int,
        accept: str = "*/*",
        validators: Validators | None = None,
        may_visit: MayVisit | None = None,
        range_bytes: int | None = None,
        sink: Sink | None = None,
    ) -> Response:
        """GET with redirects (5 at most), one deadline, a cap on the decoded body.

        A body over `max_bytes`, or more than `sink` takes, is cut there and the answer marked incomplete. Any status
        is an answer. With a `sink` the body goes there and is not held.

        :raises Refused: the gate does not let this URL, or a redirect target, out.
        :raises FetchFailed: no answer (DNS, connection, deadline, unsupported coding, redirect loop).
        :raises HopRefused: `may_visit` refused a hop.
        """

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str], max_bytes: int) -> Response:
        """POST once, to where the gate lets it: no redirect is followed, and nothing is sent a second time.

        Any status is an answer; its body is cut at `max_bytes`.

        :raises Refused: the gate does not let this URL out.
        :raises FetchFailed: no answer; the message may have arrived all the same.
        """

    async def aclose(self) -> None:
        """Close the connections."""

    async def set_pace(self, host: str, delay_seconds: float) -> None:
        """Keep at least `delay_seconds` between two requests to `host` (a robots.txt Crawl-delay)."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object in the public bucket: its body, ETag and the SHA-256 it claims; empty when we did not write it."""

    body: bytes
    etag: str
    sha256: str


class Publisher(Protocol):
    """Puts files where readers get them. Every write is conditional."""

    async def put_version(self, key: str, body: bytes, *, sha256: str) -> None:
        """Write an immutable object; one that is already there is left alone."""

    async def put(self, key: str, body: bytes, *, sha256: str, generation: int, expected_etag: str | None) -> str:
        """Write the public object if it still has `expected_etag` (None: if there is none); gives the new ETag.

        :raises PreconditionFailed: another object is there.
        """

    async def read(self, key: str) -> Stored | None: ...

    async def delete(self, key: str, *, expected_etag: str) -> None: ...

    def url(self, key: str) -> str:
        """The public URL of a key."""


class States(Protocol):
    """One private object a site: what the last run remembered (see `runtime.state`)."""

    async def load(self, site_id: str) -> bytes | None: ...

    async def save(self, site_id: str, body: bytes) -> None: ...

    async def delete(self, site_id: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One site to work on. `tick_total` lets the last worker of a tick know that it is.

    `delay_seconds` (900 at most) is how long the queue keeps the message back; one that was received has none.

    A claim that travelled fences, but does not know its row: `claim.site` has the id and base URL only until
    `Sites.renew_lease` answers with the row as it is then.
    """

    site_id: str
    tick_id: str | None = None
    tick_total: int = 0
    force: bool = False
    claim: Claim | None = None
    delay_seconds: int = 0


class Queue(Protocol):
    """Hands sites to workers."""

    async def send(self, messages: Sequence[Message]) -> list[Message]:
        """Queue the messages; returns those that could not be queued."""


class Events(Protocol):
    """Where a run says what it is doing: a log line, a progress bar, a WebSocket frame."""

    def event(self, name: str, **fields: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model said, and the tokens that it was billed for (0 when the provider does not say)."""

    text: str
    tokens: int = 0


class Model(Protocol):
    """Writes texts. `name` is the provider's name of the model, and part of what its texts are remembered by."""

    name: str

    async def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """:raises VendorFailed: there is no usable answer; no error holds a credential or a text of the provider's."""


class Unlocker(Protocol):
    """Fetches a page as a real browser would, past bot walls and with its scripts run; every page costs money."""

    async def fetch(self, url: str, *, max_bytes: int) -> Response:
        """The page at a URL that the gate has let out before; redirects are the service's to follow.

        :raises VendorFailed: it was not fetched; no error holds a credential.
        """


class Letters(Protocol):
    """Keeps notifications that could not be delivered within their run."""

    async def keep(self, letter: Letter) -> None:
        """:raises StoreDown: it cannot be kept."""


Clock = Callable[[], datetime]
"""The time, aware and in UTC. Doors pass the real one; tests pass their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All ports of one process, chosen once by `wiring`."""

    web: Web
    sites: Sites
    publisher: Publisher
    states: States
    queue: Queue
    events: Events
    clock: Clock
    settings: Settings
    model: Model | None = None
    unlocker: Unlocker | None = None
    letters: Letters | None = None
