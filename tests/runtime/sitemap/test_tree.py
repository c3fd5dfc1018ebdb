"""Reading the sitemaps of a site: from robots.txt down, bounded, and as cheap as the last reading allows."""

from __future__ import annotations

import gzip
from dataclasses import asdict
from datetime import timedelta

import pytest

from runtime.reading import Inventory
from runtime.settings import CrawlLimits
from runtime.sitemap.compare import compare
from runtime.sitemap.discover import discover_sentinel
from runtime.sitemap.lastmod import LastmodTrust
from runtime.sitemap.places import USUAL
from runtime.state import SiteState, decode, encode
from runtime.verdicts import Changed, Unchanged, Unknown, Verdict
from tests.runtime.sitemap.site import LIMITS, NOW, SITE, Answer, Site, index, paths, urlset

OLD, NEW = "2025-05-01T00:00:00Z", "2026-05-30T00:00:00Z"
LATER = NOW + timedelta(days=1)


def verdict(before: Inventory | None, after: Inventory) -> Verdict:
    return compare(before, after, LastmodTrust(), LATER)


async def test_robots_names_several_roots_and_all_are_read() -> None:
    """Two sitemaps, one of them an index with a gzipped child two levels down that names the index again."""
    site = Site(
        {
            "/sitemap-index.xml": index(["/deep.xml", "/one.xml"]),
            "/deep.xml": index(["/two.xml.gz", "/sitemap-index.xml"]),
            "/one.xml": urlset(["/1"]),
            "/two.xml.gz": gzip.compress(urlset(["/2"])),
            "/plain.txt": f"{SITE}/3\n".encode(),
        }
    )
    reading = await site.read(robots=["/sitemap-index.xml", "/plain.txt"])
    assert paths(reading.inventory) == {"/1", "/2", "/3"}
    assert reading.inventory.complete
    assert reading.sentinel_url == f"{SITE}/sitemap-index.xml"
    assert sorted(site.asked) == ["/deep.xml", "/one.xml", "/plain.txt", "/sitemap-index.xml", "/two.xml.gz"]


async def test_a_failed_child_makes_the_inventory_incomplete_and_removes_nothing() -> None:
    """Nine of ten children are used; the pages of the tenth stay what they were, and unchanged is never said."""
    site = Site({"/sitemap.xml": index([f"/{n}.xml" for n in range(10)])})
    for number in range(10):
        site[f"/{number}.xml"] = urlset({f"/page-{number}": OLD})
    first = await site.read()
    for answer in (Answer(status=500), Answer(status=404), Answer(b"<html>maintenance</html>")):
        site["/3.xml"] = answer
        second = await site.read(first.inventory, now=LATER)
        assert not second.inventory.complete
        assert paths(second.inventory) == {f"/page-{number}" for number in range(10)}
        assert any("/3.xml" in problem for problem in second.inventory.problems)
        assert isinstance(verdict(first.inventory, second.inventory), Unknown)
    assert isinstance(verdict(second.inventory, first.inventory), Unknown), "a past with a hole proves nothing either"


async def test_a_child_that_was_never_read_leaves_the_question_open() -> None:
    """Without a past, too, a missing child is a hole."""
    site = Site({"/sitemap.xml": index(["/1.xml", "/2.xml"]), "/1.xml": urlset({"/a": OLD})})
    reading = await site.read()
    assert (paths(reading.inventory), reading.inventory.complete) == ({"/a"}, False)


async def test_an_unchanged_tree_costs_one_conditional_request_a_document() -> None:
    """Every document answers 304: nothing is parsed, the entries are the stored ones, and so is the state's every byte."""
    site = Site({"/sitemap.xml": Answer(index(["/1.xml", "/2.xml"]), etag='"i"')})
    site["/1.xml"] = Answer(urlset({"/a": OLD}), etag='"1"')
    site["/2.xml"] = Answer(urlset({"/b": OLD}), etag='"2"')
    first = await site.read()
    second = await site.read(first.inventory, sentinel=first.sentinel_url, now=LATER)
    assert site.asked == ["/sitemap.xml", "/1.xml", "/2.xml"]
    assert (second.requests, second.not_modified) == (3, True)
    assert second.inventory.entries is first.inventory.entries
    assert encode(SiteState(inventory=second.inventory)) == encode(SiteState(inventory=first.inventory))
    assert isinstance(verdict(first.inventory, second.inventory), Unchanged)


async def test_equal_bytes_without_validators_are_not_parsed_either() -> None:
    """A server that knows no 304 is still recognised by what it sends."""
    site = Site({"/sitemap.xml": urlset({"/a": OLD})})
    first = await site.read()
    second = await site.read(first.inventory, now=LATER)
    assert second.not_modified
    assert second.inventory == first.inventory


async def test_one_changed_child_is_read_and_the_others_are_taken_from_the_past() -> None:
    """The entries of documents that answer 304 come from the stored inventory, through the stored state."""
    site = Site({"/sitemap.xml": Answer(index(["/1.xml", "/2.xml", "/3.xml"]), etag='"i"')})
    for number in (1, 2, 3):
        entries = {f"/{number}/a": OLD, f"/{number}/b": OLD, "/shared": OLD}
        site[f"/{number}.xml"] = Answer(urlset(entries), etag=f'"{number}"')
    first = await site.read()
    stored = decode(encode(SiteState(inventory=first.inventory))).inventory
    assert stored is not None
    site["/2.xml"] = Answer(urlset({"/2/a": NEW, "/2/c": OLD, "/shared": OLD}), etag='"2x"')
    second = await site.read(stored, now=LATER)
    assert not second.not_modified
    assert paths(second.inventory) == {"/1/a", "/1/b", "/2/a", "/2/c", "/3/a", "/3/b", "/shared"}
    found = verdict(stored, second.inventory)
    assert isinstance(found, Changed)
    assert (found.added, found.removed, found.touched) == (
        (f"{SITE}/2/c",),
        (f"{SITE}/2/b",),
        (f"{SITE}/2/a",),
    )
    third = await site.read(second.inventory, now=LATER)
    assert third.not_modified


async def test_a_child_that_the_index_no_longer_names_is_removed_with_its_pages() -> None:
    """Read completely, an index that shrank means that its pages went."""
    site = Site({"/sitemap.xml": index(["/1.xml", "/2.xml"])})
    site["/1.xml"], site["/2.xml"] = urlset({"/a": OLD}), urlset({"/b": OLD})
    first = await site.read()
    site["/sitemap.xml"] = index(["/1.xml"])
    second = await site.read(first.inventory, now=LATER)
    assert verdict(first.inventory, second.inventory) == Changed((), (f"{SITE}/b",), (), "1 removed")


async def test_the_order_of_answers_and_children_never_changes_the_inventory() -> None:
    """The same documents listed in another order are the same inventory."""
    children = [f"/{number}.xml" for number in range(12)]
    site = Site(
        {path: urlset({f"/p{path}": OLD, "/both": f"2025-05-{number + 1:02}"}) for number, path in enumerate(children)}
    )
    site["/sitemap.xml"] = index(children)
    first = await site.read()
    site["/sitemap.xml"] = index(reversed(children))
    second = await site.read()
    assert first.inventory.entries == second.inventory.entries
    assert first.inventory.entries[f"{SITE}/both"] == "2025-05-12", "the latest of several lastmods counts"


async def test_a_sitemap_that_names_itself_ends() -> None:
    """A cycle, a self-reference and a child that redirects to its parent are each asked for once."""
    site = Site(
        {"/sitemap.xml": index(["/sitemap.xml", "/b.xml", "/old.xml"]), "/b.xml": index(["/sitemap.xml", "/c.xml"])}
    )
    site["/c.xml"] = urlset(["/a"])
    site["/old.xml"] = Answer(status=301, headers={"location": "/sitemap.xml"})
    reading = await site.read()
    assert paths(reading.inventory) == {"/a"}
    assert reading.inventory.complete
    assert site.asked.count("/sitemap.xml") == 1, "the redirect is not followed to it"
    assert len(site.asked) == 4


async def test_the_caps_on_documents_and_depth_hold_and_are_reported() -> None:
    """A tree that grows tenfold at every level stops at its caps and is incomplete."""
    wide = Site({"/sitemap.xml": index([f"/{number}.xml" for number in range(60)])})
    for number in range(60):
        wide[f"/{number}.xml"] = urlset([f"/p{number}"])
    reading = await wide.read()
    assert len(wide.asked) == 50
    assert not reading.inventory.complete
    deep = Site({"/sitemap.xml": index(["/1.xml"])})
    for level in range(1, 10):
        deep[f"/{level}.xml"] = index([f"/{level + 1}.xml"])
    reading = await deep.read()
    assert deep.asked == ["/sitemap.xml", "/1.xml", "/2.xml"]
    assert not reading.inventory.complete


async def test_documents_beyond_the_capacity_are_remembered_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A site of more pages than are kept by name is still known to be unchanged, or changed."""
    monkeypatch.setattr("runtime.sitemap.merge.MAX_ENTRIES", 3)
    site = Site({"/sitemap.xml": index(["/1.xml", "/2.xml"])})
    site["/1.xml"], site["/2.xml"] = urlset({"/a": OLD, "/b": OLD}), urlset({"/c": OLD, "/d": OLD})
    first = await site.read()
    assert (paths(first.inventory), first.inventory.complete) == ({"/a", "/b"}, True)
    assert isinstance(verdict(first.inventory, (await site.read(first.inventory)).inventory), Unchanged)
    site["/2.xml"] = urlset({"/c": OLD, "/d": NEW})
    assert isinstance(verdict(first.inventory, (await site.read(first.inventory)).inventory), Changed)


async def test_only_the_sites_own_pages_are_kept() -> None:
    """Apex and www are one site; another host's pages are out of scope, whoever lists them."""
    body = (
        "<urlset><url><loc>https://www.example.com/a</loc></url><url><loc>http://example.com/b</loc></url>"
        "<url><loc>https://other.example.org/x</loc><lastmod>2026-05-30</lastmod></url></urlset>"
    )
    site = Site({"https://cdn.example.net/maps/example.xml": body.encode()})
    reading = await site.read(robots=["https://cdn.example.net/maps/example.xml"])
    assert set(reading.inventory.entries) == {"https://www.example.com/a", "http://example.com/b"}


async def test_a_child_on_a_strange_host_is_not_asked_for() -> None:
    """An index may name children on its own host or the site's; anything else is left alone and reported."""
    site = Site({"/sitemap.xml": index(["https://evil.example.net/s.xml", "https://www.example.com/s.xml"])})
    site["https://www.example.com/s.xml"] = urlset(["/a"])
    reading = await site.read()
    assert paths(reading.inventory) == {"/a"}
    assert "https://evil.example.net/s.xml" not in site.asked
    assert not reading.inventory.complete


async def test_the_usual_places_are_tried_below_the_base_path_and_the_origin() -> None:
    """A documentation site below a path may have its own sitemap, or share the origin's."""
    shared = Site({"/sitemap_index.xml": index(["/1.xml"]), "/1.xml": urlset(["/docs/a"])})
    assert paths((await shared.read(base=f"{SITE}/docs")).inventory) == {"/docs/a"}
    own = Site({"/docs/sitemap.xml": urlset(["/docs/b"]), "/sitemap.xml": urlset(["/a"])})
    reading = await own.read(base=f"{SITE}/docs")
    assert (paths(reading.inventory), reading.sentinel_url) == ({"/docs/b"}, f"{SITE}/docs/sitemap.xml")


async def test_content_is_checked_and_not_the_status() -> None:
    """A shell page at /sitemap.xml with status 200 does not hide the real sitemap at the next place."""
    site = Site({"/sitemap.xml": Answer(b"<!DOCTYPE html><title>App</title>"), "/sitemap_index.xml": urlset(["/a"])})
    reading = await site.read()
    assert (paths(reading.inventory), reading.inventory.complete) == ({"/a"}, True)
    assert reading.sentinel_url == f"{SITE}/sitemap_index.xml"


async def test_a_site_without_a_sitemap_is_a_normal_answer() -> None:
    """Every usual place was asked for once; there is no sentinel and no entry, and the verdict is unknown."""
    site = Site()
    reading = await site.read()
    assert sorted(site.asked) == sorted(USUAL)
    assert (reading.inventory, reading.sentinel_url) == (
        Inventory(complete=True, problems=reading.inventory.problems),
        None,
    )
    assert isinstance(verdict(None, reading.inventory), Unknown)


async def test_a_sitemap_that_moved_is_found_again() -> None:
    """The stored one is gone: the usual places are looked through, and what moved is not called removed."""
    site = Site({"/sitemap.xml": urlset({"/a": OLD})})
    first = await site.read()
    del site["/sitemap.xml"]
    site["/wp-sitemap.xml"] = urlset({"/a": OLD})
    second = await site.read(first.inventory, sentinel=first.sentinel_url, now=LATER)
    assert second.sentinel_url == f"{SITE}/wp-sitemap.xml"
    assert isinstance(verdict(first.inventory, second.inventory), Unchanged)


async def test_a_sitemap_in_trouble_is_not_replaced_by_another() -> None:
    """A stored root that answers 503 keeps its entries; a smaller sitemap elsewhere does not take its place."""
    site = Site({"/big.xml": urlset({"/a": OLD, "/b": OLD})})
    first = await site.read(sentinel=f"{SITE}/big.xml")
    site["/big.xml"] = Answer(status=503)
    site["/sitemap.xml"] = urlset({"/a": OLD})
    second = await site.read(first.inventory, sentinel=first.sentinel_url, now=LATER)
    assert (paths(second.inventory), second.inventory.complete) == ({"/a", "/b"}, False)
    assert site.asked == ["/big.xml"]


async def test_a_server_that_asks_for_a_pause_gets_one() -> None:
    """After a Retry-After nothing more is asked for, what was known stays, and the reading says when to come back."""
    site = Site({"/sitemap.xml": index([f"/{number}.xml" for number in range(9)])})
    for number in range(9):
        site[f"/{number}.xml"] = urlset({f"/p{number}": OLD})
    first = await site.read()
    site["/0.xml"] = Answer(status=429, headers={"retry-after": "7200"})
    second = await site.read(first.inventory, now=LATER)
    assert second.not_before == LATER + timedelta(hours=2)
    assert len(site.asked) < 6
    assert second.inventory.entries == first.inventory.entries
    assert not second.inventory.complete


async def test_a_cut_document_is_never_taken_for_the_same() -> None:
    """A prefix that is equal says nothing about the rest; the next request is unconditional."""
    body = urlset({f"/{number}": OLD for number in range(200)})
    site = Site({"/sitemap.xml": Answer(body, etag='"1"')})
    small = CrawlLimits(requests_per_second=10_000.0, sitemap_bytes=5_000)
    first = await site.read(limits=small)
    second = await site.read(first.inventory, limits=small, now=LATER)
    assert not first.inventory.complete
    assert not second.inventory.complete
    assert "if-none-match" not in site.requests[0].headers


async def test_not_modified_since_somewhere_else_is_asked_again_in_full() -> None:
    """A 304 from another final URL is not about the document that was stored."""
    site = Site(
        {
            "/sitemap.xml": Answer(status=301, headers={"location": "/a.xml"}),
            "/a.xml": Answer(urlset({"/a": OLD}), etag='"1"'),
        }
    )
    first = await site.read(sentinel=f"{SITE}/sitemap.xml")
    site["/sitemap.xml"] = Answer(status=301, headers={"location": "/b.xml"})
    site["/b.xml"] = Answer(urlset({"/b": OLD}), etag='"1"')
    second = await site.read(first.inventory, sentinel=f"{SITE}/sitemap.xml", now=LATER)
    assert paths(second.inventory) == {"/b"}


async def test_a_page_dated_today_is_looked_at_again_until_its_day_is_over() -> None:
    """Date-only lastmods: the morning's reading cannot vouch for the afternoon; a later one settles it for good."""
    site = Site({"/sitemap.xml": Answer(urlset({"/a": "2026-06-01"}), etag='"1"')})
    reading = await site.read(now=NOW)
    judged = []
    for hours in (3, 24, 48, 72):
        again = await site.read(reading.inventory, now=NOW + timedelta(hours=hours))
        judged.append(type(compare(reading.inventory, again.inventory, LastmodTrust(), NOW + timedelta(hours=hours))))
        reading = again
    assert judged == [Changed, Changed, Unchanged, Unchanged]


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ({"/sitemap.xml": b"<!DOCTYPE html>", "/sitemap.txt": b"https://example.com/a"}, "/sitemap.txt"),
        ({"/sitemap.xml": Answer(status=301, headers={"location": "/wp-sitemap.xml"}), "/wp-sitemap.xml": urlset(["/a"])}, "/wp-sitemap.xml"),
        ({"/sitemap.xml.gz": gzip.compress(urlset(["/a"]))}, "/sitemap.xml.gz"),
        ({"/sitemap.xml": Answer(status=503, headers={"retry-after": "60"}), "/sitemap.txt": b"https://example.com/a"}, None),
        ({}, None),
    ],
)  # fmt: skip
async def test_discovery_gives_the_final_url_of_a_real_sitemap(
    answers: dict[str, Answer | bytes], found: str | None
) -> None:
    """GET, redirects followed, content checked; a server that wants a pause is left alone."""
    url = await discover_sentinel(Site(answers).client(), SITE, limits=LIMITS, now=NOW)
    assert url == (found and SITE + found)


async def test_what_is_remembered_of_a_document_is_plain_json() -> None:
    """The stored state gives every document back as it was."""
    site = Site({"/sitemap.xml": Answer(index({"/1.xml": OLD}), etag='"i"'), "/1.xml": urlset({"/a": "2026-06-01"})})
    reading = await site.read()
    restored = decode(encode(SiteState(inventory=reading.inventory))).inventory
    assert restored is not None
    assert [asdict(document) for document in restored.documents] == [
        asdict(document) for document in reading.inventory.documents
    ]


@pytest.mark.parametrize(
    ("body", "kept", "reason"),
    [
        (b"<html><body>Not found</body></html>", range(1), "'html'"),
        (b"<!DOCTYPE x [<!ENTITY a 'b'>]><urlset/>", range(1), "DOCTYPE"),
        (urlset(f"/{'long' * 20}{number}" for number in range(700)), range(300, 700), "larger than 60000 bytes"),
        (urlset(f"/{number}" for number in range(801)), range(800, 801), "more than 800 entries"),
    ],
    ids=["html", "doctype", "bytes", "urls"],
)
async def test_a_root_that_is_refused_or_capped_ends_nothing_and_says_why(
    body: bytes, kept: range, reason: str
) -> None:
    """HTML with status 200, a DOCTYPE, too many bytes, too many URLs: what could be read is there, and the reason."""
    limits = CrawlLimits(requests_per_second=10_000.0, sitemap_bytes=60_000, sitemap_urls=800)
    reading = await Site({"/sitemap.xml": gzip.compress(body)}).read(limits=limits)
    assert any(reason in problem for problem in reading.inventory.problems)
    assert len(reading.inventory.entries) in kept
    assert isinstance(verdict(None, reading.inventory), Unknown)


async def test_on_an_honest_site_a_child_whose_index_entry_stands_is_not_asked_for() -> None:
    """One request for an unchanged index; a child that moved, lied or was not read since is asked for all the same."""
    honest = LastmodTrust(kind="honest")
    children = {"/1.xml": OLD, "/2.xml": OLD, "/lies.xml": OLD, "/today.xml": "2026-06-01"}
    site = Site({"/sitemap.xml": Answer(index(children), etag='"i"')})
    for path in children:
        site[path] = urlset({f"/page{path}": NEW if path == "/lies.xml" else OLD})
    first = await site.read()
    second = await site.read(first.inventory, now=LATER, trust=honest)
    assert sorted(site.asked) == ["/lies.xml", "/sitemap.xml", "/today.xml"]
    assert second.not_modified
    assert second.inventory.entries == first.inventory.entries
    site["/sitemap.xml"] = index({**children, "/2.xml": NEW})
    site["/2.xml"] = urlset({"/page/2.xml": NEW})
    third = await site.read(second.inventory, now=LATER, trust=honest)
    assert sorted(site.asked) == ["/2.xml", "/lies.xml", "/sitemap.xml", "/today.xml"]
    assert isinstance(verdict(second.inventory, third.inventory), Changed)
    await site.read(third.inventory, now=LATER)
    assert len(site.asked) == 5, "without trust every document is asked for"
    await site.read(third.inventory, now=LATER + timedelta(days=40), trust=honest)
    assert len(site.asked) == 5, "and now and then on an honest site too"


async def test_clk_013_sitemap_304() -> None:
    """clk-013: not modified, asked with the stored validators, is unchanged."""
    site = Site({"/sitemap.xml": Answer(urlset({"/a": OLD}), etag='"1"')})
    first = await site.read()
    second = await site.read(first.inventory, now=LATER)
    assert site.requests[0].headers["if-none-match"] == '"1"'
    assert isinstance(verdict(first.inventory, second.inventory), Unchanged)


async def test_clk_008_build_stamped_lastmod() -> None:
    """clk-008: a new stamp on every page is a change once; what comes of it is for the crawl to say."""
    site = Site({"/sitemap.xml": urlset({"/a": OLD, "/b": OLD})})
    first = await site.read()
    site["/sitemap.xml"] = urlset({"/a": NEW, "/b": NEW})
    second = await site.read(first.inventory, now=LATER)
    assert isinstance(verdict(first.inventory, second.inventory), Changed)
    third = await site.read(second.inventory, now=LATER)
    assert isinstance(verdict(second.inventory, third.inventory), Unchanged)
