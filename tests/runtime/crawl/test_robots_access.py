"""Reading a site's robots.txt over the web: which answers allow, forbid, or ask for patience (RFC 9309 2.3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from runtime.crawl.access import Access, read_access, robots_url
from runtime.errors import InputError
from runtime.reading import DocumentState
from tests.runtime.sitemap.site import LIMITS, NOW, SITE, Answer, Site

RULES = b"User-agent: *\nDisallow: /private\nSitemap: /s.xml\n"


async def access(site: Site, previous: DocumentState | None = None, now: datetime | None = NOW) -> Access:
    return await read_access(site.client(), SITE, LIMITS, previous=previous, now=now)


async def test_a_file_that_is_there_is_read() -> None:
    """Its rules count for the site it was asked for, and it can be asked for again under a condition."""
    found = await access(Site({"/robots.txt": RULES}))
    assert found.status == "read"
    assert not found.robots.allowed(f"{SITE}/private/x")
    assert found.robots.sitemaps == (f"{SITE}/s.xml",)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
async def test_a_file_that_is_not_there_allows_everything(status: int) -> None:
    """2.3.1.3: unavailable, any 4xx but 429."""
    found = await access(Site({"/robots.txt": Answer(RULES, status)}))
    assert (found.status, found.robots.allowed(f"{SITE}/private")) == ("absent", True)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 599])
async def test_a_server_in_trouble_forbids_everything_for_now(status: int) -> None:
    """2.3.1.4: unreachable is complete disallow; 429 asks for patience, so it is the same."""
    found = await access(Site({"/robots.txt": Answer(b"", status, {"retry-after": "120"})}))
    assert (found.status, found.robots.allowed(f"{SITE}/")) == ("unreachable", False)
    assert found.retry_after == (NOW + timedelta(seconds=120) if status in (429, 503) else None)


class Broken(Site):
    """A site whose connections fail."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("from the test", request=request)


async def test_no_answer_forbids_everything_for_now() -> None:
    """A network error is no permission."""
    found = await access(Broken())
    assert (found.status, found.robots.allowed(f"{SITE}/")) == ("unreachable", False)
    assert found.reason


async def test_redirects_are_followed_across_hosts_and_the_rules_are_the_first_hosts() -> None:
    """2.3.1.2: up to five hops, to other authorities too."""
    site = Site({"/robots.txt": Answer(status=301, headers={"location": "https://www.example.com/r"})})
    site["https://www.example.com/r"] = Answer(status=302, headers={"location": "https://cdn.example.net/r"})
    site["https://cdn.example.net/r"] = RULES
    found = await access(site)
    assert found.status == "read"
    assert not found.robots.allowed(f"{SITE}/private")


async def test_redirects_that_lead_nowhere_are_no_file() -> None:
    """A loop, more than five hops, and a redirect without a target may be taken for unavailable."""
    loop = Site({"/robots.txt": Answer(status=301, headers={"location": "/robots.txt"})})
    nowhere = Site({"/robots.txt": Answer(status=301)})
    chain = Site({f"/{hop}": Answer(status=302, headers={"location": f"/{hop + 1}"}) for hop in range(9)})
    chain["/robots.txt"] = Answer(status=302, headers={"location": "/0"})
    for site in (loop, nowhere, chain):
        assert (await access(site)).status == "absent"
        assert len(site.requests) <= 7


async def test_an_unchanged_file_is_not_sent_again() -> None:
    """With the stored tag the server answers 304, and the stored text gives the same rules."""
    site = Site({"/robots.txt": Answer(RULES, etag='"1"')})
    first = await access(site)
    second = await access(site, first.document, NOW + timedelta(days=1))
    assert site.requests[1].headers["if-none-match"] == '"1"'
    assert not second.robots.allowed(f"{SITE}/private")
    assert second.document == first.document
    late = await access(site, first.document, NOW + timedelta(days=60))
    assert "if-none-match" not in site.requests[2].headers
    assert late.status == "read"


async def test_a_304_that_nobody_asked_for_is_no_permission() -> None:
    """Without a stored text there is nothing that is not modified."""
    found = await access(Site({"/robots.txt": Answer(status=304)}))
    assert (found.status, found.robots.allowed(f"{SITE}/")) == ("unreachable", False)


async def test_without_a_clock_the_answers_own_date_counts() -> None:
    """Retry-After in seconds is counted from the server's Date."""
    headers = {"retry-after": "60", "date": "Mon, 01 Jun 2026 00:00:00 GMT"}
    found = await access(Site({"/robots.txt": Answer(b"", 503, headers)}), now=None)
    assert found.retry_after == datetime(2026, 6, 1, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("url", "governs"),
    [
        ("https://example.com:8443/a?b#c", "https://example.com:8443/robots.txt"),
        ("https://user:pw@EXAMPLE.com:443/a", "https://example.com/robots.txt"),
        ("http://[2001:db8::1]/x", "http://[2001:db8::1]/robots.txt"),
    ],
)
def test_every_origin_has_its_own_file(url: str, governs: str) -> None:
    """Same scheme, host and port; credentials are never sent."""
    assert robots_url(url) == governs


def test_what_is_no_url_has_no_robots_txt() -> None:
    """The caller is told, in the product's own terms."""
    with pytest.raises(InputError):
        robots_url("example.com")
