"""What the readers hand on: responses, sitemap inventories, pages, and the reason a URL was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Validators:
    """The two HTTP validators of a stored response, exactly as received (RFC 9110 8.8)."""

    etag: str | None = None
    last_modified: str | None = None

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP answer, its redirects followed and its content coding undone under a cap.

    `url` is the final URL, `hops` every URL that was asked for on the way, the first one included.
    `headers` keeps order and repetition; names are lower case, values are Latin-1 text.
    `complete` is false when the body was cut at the cap or ended early.
    """

    url: str
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    complete: bool = True
    hops: tuple[str, ...] = ()

    def header(self, name: str) -> str | None:
        """The first value of a header, or None."""
        return next((v for k, v in self.headers if k == name), None)

    def header_values(self, name: str) -> list[str]:
        return [v for k, v in self.headers if k == name]

    @property
    def content_type(self) -> str:
        """The media type in lower case without its parameters; empty when there is none."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()

    @property
    def validators(self) -> Validators:
        return Validators(self.header("etag"), self.header("last-modified"))


class Left(StrEnum):
    """Why a URL is not listed."""

    ROBOTS = "robots"
    NOINDEX = "noindex"
    CANONICAL = "canonical"
    REDIRECT = "redirect"
    OFF_SITE = "off_site"
    EXCLUDED = "excluded"
    NOT_INCLUDED = "not_included"
    NOT_A_PAGE = "not_a_page"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    GONE = "gone"
    NOT_FOUND = "not_found"
    HTTP_ERROR = "http_error"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    SOFT_404 = "soft_404"
    LOGIN = "login"
    FORBIDDEN = "forbidden"
    BLOCKED = "blocked"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    NEEDS_RENDERING = "needs_rendering"
    DUPLICATE = "duplicate"
    TRAP = "trap"
    LIMIT = "limit"
    OLD_VERSION = "old_version"
    OTHER_LANGUAGE = "other_language"


TRANSIENT_LEFT = frozenset(
    {Left.HTTP_ERROR, Left.UNREACHABLE, Left.TRUNCATED, Left.BLOCKED, Left.RATE_LIMITED, Left.UNAVAILABLE}
)
"""Reasons that say something about the moment, not about the page: such a page keeps its last known entry."""

IN_WORDS = {Left.LOGIN: "login wall", Left.FORBIDDEN: "blocked", Left.BLOCKED: "bot wall"}
"""What an operator calls a reason, where its name says too little; of the others the name is the word."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    url: str
    reason: Left
    detail: str = ""

    @property
    def words(self) -> str:
        """The reason as an operator reads it: `blocked (403)`, `rate limited (429)`, `login wall (a form …)`."""
        words = IN_WORDS.get(self.reason) or self.reason.replace("_", " ")
        return f"{words} ({self.detail})" if self.detail else words


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is listed. `description` is the full extracted text; the document cuts it.

    `alternates` are the Markdown versions that the page names itself; `twin` is the one that was fetched and verified.
    """

    url: str
    title: str
    description: str = ""
    twin: str | None = None
    alternates: tuple[str, ...] = ()
    site_name: str = ""
    language: str = ""


def stamp(moment: datetime) -> str:
    """A UTC time as text; texts of this form sort as their times do."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """What one HTML page says. Every URL is absolute, normal (`runtime.urls.resolve`) and without a fragment.

    Texts are one line, entities decoded once, white space collapsed; an empty text means that there is none.
    `links` are in document order, each once, of any host; empty when the page says nofollow. `redirect` is the target
    of a meta refresh (or a Refresh header), whatever its delay. `canonical` is None when there is none or when
    declarations disagree. `visible_chars` counts the text a reader sees, white space collapsed, up to 1,000.
    """

    title: str = ""
    h1: str = ""
    site_name: str = ""
    description: str = ""
    description_source: str = ""
    """Where the description was found: `meta`, `og`, `twitter` or `paragraph`."""
    links: tuple[str, ...] = ()
    indexable: bool = True
    follow: bool = True
    canonical: str | None = None
    redirect: str | None = None
    markdown_alternates: tuple[str, ...] = ()
    hreflangs: tuple[tuple[str, str], ...] = ()
    """(language tag in lower case or `x-default`, URL) in document order."""
    language: str = ""
    visible_chars: int = 0
    script_shell: bool = False
    """The page is an empty frame that scripts would fill."""
    challenge: bool = False
    """A bot wall answered, told by its headers or markup."""
    password_form: bool = False
    is_error_title: bool = False
    """A short page whose title or heading says that there is no such page (soft 404)."""
    unlocked: bool = False
    """It was fetched around a wall or a shell; the site itself did not serve it to us."""


@dataclass(frozen=True, slots=True)
class DocumentState:
    """What is remembered of one robots or sitemap document, so that the next check can be a conditional GET.

    Every field is plain JSON; times are in the form of `stamp`, empty when unknown. `checked_at` is when the content
    was last seen to be this, `fetched_at` when it last came in full. `members` are the document's URLs as runs of
    (first, count) over the sorted URLs of the inventory; a document whose URLs did not fit in it is not `listed`.
    `dated` says that every entry has a usable lastmod, `newest` when the latest of them begins, `open_until` when the
    last day or month that one of them names is over. `children` are those of a sitemap index; `text` is a robots.txt.
    """

    url: str
    final_url: str
    validators: Validators
    sha256: str
    kind: str
    complete: bool = True
    checked_at: str = ""
    fetched_at: str = ""
    members: tuple[int, ...] = ()
    listed: bool = True
    dated: bool = True
    newest: str = ""
    open_until: str = ""
    children: tuple[tuple[str, str | None], ...] = ()
    text: str | None = None

    @property
    def fetched(self) -> datetime | None:
        return datetime.fromisoformat(self.fetched_at) if self.fetched_at else None


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a site's sitemaps say exists: `{url: lastmod as written, or None}`, and how complete the reading was."""

    entries: Mapping[str, str | None] = field(default_factory=dict)
    complete: bool = False
    documents: tuple[DocumentState, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageMemory:
    """One page as it was last read in full: under which validators, at which lastmod, with which bytes.

    `read_at` is in the form of `stamp`.
    """

    final_url: str
    validators: Validators
    lastmod: str | None
    sha256: str
    reading: PageReading
    read_at: str


@dataclass(frozen=True, slots=True)
class CrawlResult:
    """What a crawl found. `pages` are in canonical URL order; `home` is the entry page's URL, if it was read.

    `complete` is false when a budget or a deadline ended the crawl before its own limits did, `out_of_time` when it was
    the deadline or the site's wish for peace; `retry_after` is until when, if it said so. `requests` and `bytes_read`
    count what was asked of the site, `downloaded` the pages that came in full and `memory` every page that was read or
    recalled. `recalled` are the listed pages that did not come again.
    `validators_lied` says that bytes changed under an unchanged entity tag.
    """

    pages: tuple[Page, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    home: str | None = None
    complete: bool = True
    problem: str = ""
    out_of_time: bool = False
    retry_after: datetime | None = None
    requests: int = 0
    bytes_read: int = 0
    downloaded: int = 0
    memory: Mapping[str, PageMemory] = field(default_factory=dict)
    recalled: frozenset[str] = frozenset()
    validators_lied: bool = False

    def left(self, reasons: Iterable[Left]) -> list[LeftOut]:
        wanted = frozenset(reasons)
        return [item for item in self.left_out if item.reason in wanted]
