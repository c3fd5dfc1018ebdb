"""What the use cases ask of the world. Each port has a real and an embedded implementation; both are passed in.

All calls are coroutines, so that one event loop can interleave many sites. None of them reads a clock for the caller:
the stores use their own ("the database clock"), everything else is given `now`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from runtime.models import Budget, Claim, Commit, DueSummary, Outcome, Run, Site, SiteOptions, SiteStatus
from runtime.settings import Settings

if TYPE_CHECKING:
    from runtime.letters import Letter
    from runtime.reading import Response, Validators  # not needed to name a port, and half of a webhook's imports

MayVisit = Callable[[str], Awaitable[str | None]]
"""Asked before every hop: None lets the request out, a text is the reason not to (RFC 9309 2.2.2)."""


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
    ) -> Response:
        """GET with redirects (5 at most), one deadline, a cap on the decoded body.

        A body over `max_bytes` is cut there and the answer marked incomplete. Any status is an answer.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrollment:
    """A checked request to keep a site. `base_url` is canonical; an existing row keeps its secret and history.

    `crowd`: while so many active sites wait for their first look, a new one gets a place of its own within the next
    day, or its interval if that is shorter (`sites.rows.place_of`); None: a new site is due at once.
    """

    base_url: str
    options: SiteOptions
    webhook_secret: str = field(repr=False)
    sentinel_url: str | None = None
    enabled: bool = True
    crowd: int | None = None


@dataclass(frozen=True, slots=True)
class Requested:
    """The answer to a webhook.

    `next_crawl_at` is when the site will be crawled. `run_at` is when the run begins that this call was granted, now or
    later; None when it joins one that is planned, or the site is paused. `accepted`: it begins now. `replayed`: the
    message was seen before, and nothing was done.
    """

    site_id: str
    next_crawl_at: datetime
    accepted: bool
    run_at: datetime | None = None
    replayed: bool = False


class Sites(Protocol):
    """The rows. One contract, one test-suite, two stores."""

    def close(self) -> None:
        """Let go of the file or the connections."""

    async def enroll(self, enrollment: Enrollment) -> tuple[Site, bool]:
        """Insert, or update the options of the row with this base_url; the flag says whether it is new.

        A new row is due at once, but in a crowd. An existing one keeps secret, history and schedule (sooner of the two
        intervals).
        """

    async def get(self, site_id: str) -> Site:
        """:raises NotFound: there is no such row."""

    async def find(self, base_url: str) -> Site | None:
        """The row of a canonical base URL."""

    async def list_sites(self, *, after: str | None = None, limit: int = 100) -> list[Site]:
        """Rows in order of base_url, those after `after` (a base_url)."""

    async def update(
        self, site_id: str, *, options: SiteOptions | None = None, status: SiteStatus | None = None
    ) -> Site:
        """Change options or status. Activating a row clears its failures and makes it due at once."""

    async def rotate_secret(self, site_id: str, secret: str, *, overlap_seconds: int) -> Site:
        """Set a new webhook secret; the old one stays valid for `overlap_seconds`."""

    async def delete(self, site_id: str) -> None:
        """:raises NotFound: there is no such row."""

    async def claim_due(
        self,
        *,
        limit: int,
        lease_seconds: int,
        owner: str,
        per_host: int = 1,
        slack_seconds: int = 0,
        crawls_a_day: int | None = None,
    ) -> list[Claim]:
        """Lease up to `limit` due active sites, those that were asked for first, then the oldest, at most `per_host` of
        one host.

        With `crawls_a_day` every claim is charged, and no more are charged in any 24 hours. The last tenth is kept for
        sites that were asked for. Where not all may be claimed, those of the oldest go first whose weight times
        lateness is the greatest. A run that read no page, and a released claim, is given back.

        A site claimed three times without a commit is quarantined: disabled with a reason, and not returned; unless
        four of five of ten or more due sites are in that state, which says that the workers do not work.
        """

    async def claim_site(
        self,
        site_id: str,
        *,
        lease_seconds: int,
        owner: str,
        force: bool = False,
        crawls_a_day: int | None = None,
    ) -> Claim | None:
        """Lease one site whether due or not; None while somebody else holds it.

        :raises NotFound: there is no such row.
        :raises BudgetSpent: `crawls_a_day` crawls were charged in the last 24 hours; the row is as it was.
        """

    async def renew_lease(self, claim: Claim, *, lease_seconds: int) -> Claim:
        """:raises StaleClaim: the lease is no longer ours."""

    async def release(self, claim: Claim) -> None:
        """Give an untouched claim back: due as before, attempt not counted. A stale claim is ignored."""

    async def commit_run(self, claim: Claim, commit: Commit) -> Site:
        """Write the row and the run in one step, fenced by generation and lease; free the lease.

        A request that came after `claim.claimed_at` survives: the row stays due for it.

        :raises StaleClaim: the lease was lost; nothing was written.
        """

    async def request_recrawl(
        self, site_id: str, *, debounce_seconds: int = 300, message_id: str | None = None, replay_seconds: int = 900
    ) -> Requested:
        """A change was announced: due now, unless one was accepted within the debounce (then due after it).

        A site that is failing is due 900 s after its last failure at the earliest. A debounce of 0 is a person's call,
        which waits for neither. A `message_id` is remembered in the same step for `replay_seconds`, within which it
        does nothing a second time. Revives a disabled site. :raises NotFound: there is no such row.
        """

    async def due_summary(self, *, slack_seconds: int = 0) -> DueSummary: ...

    async def budget(self) -> Budget:
        """What was charged in the last 24 hours (slots of ten minutes, whole), and the price."""

    async def planned_crawls(self) -> float:
        """Crawls a day that the active sites are expected to cost: what their schedules remember, else their intervals.

        Reads every active row: once a day is often enough.
        """

    async def set_price(self, price: float, *, after: datetime | None) -> bool:
        """Set the price; false if somebody set another since `after`, the `priced_at` that was read."""

    async def runs(self, site_id: str, *, limit: int = 20, before: datetime | None = None) -> list[Run]: ...

    async def tick_outcomes(self, tick_id: str) -> list[tuple[Outcome, bool]]:
        """The outcome, and whether it was crawled, of every run of one tick."""

    async def remember_webhook(self, site_id: str, message_id: str, *, ttl_seconds: int = 900) -> bool:
        """True the first time a message id is seen for a site within the TTL: the replay guard."""

    async def database_now(self) -> datetime:
        """The clock that leases, due times and debounces are measured by."""

    async def check(self) -> None:
        """:raises Misconfigured: schema behind, wrong key, missing grants. :raises StoreDown: no answer."""


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
