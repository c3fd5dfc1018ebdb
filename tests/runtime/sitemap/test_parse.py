"""The sitemap reader: any bytes in, a value out that says what was read and how complete it is."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.settings import CrawlLimits
from runtime.sitemap.lastmod import newest_of
from runtime.sitemap.parse import SitemapDocument, parse_sitemap
from runtime.sitemap.xml import BLOCK

URL = "https://example.com/sitemap.xml"
LIMITS = CrawlLimits()
HEAD = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def read(body: bytes | str, content_type: str = "", *, complete: bool = True, **limits: int) -> SitemapDocument:
    raw = body.encode() if isinstance(body, str) else body
    return parse_sitemap(raw, URL, content_type, limits=CrawlLimits(**limits), complete=complete)


def urls(document: SitemapDocument) -> list[str]:
    return [url.removeprefix("https://example.com") for url, _ in document.entries]


def rows(*paths: str) -> str:
    return "".join(f"<url><loc>https://example.com{path}</loc></url>" for path in paths)


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_make_the_reader_raise(body: bytes) -> None:
    """Any bytes give a document; what is no sitemap is invalid and has no entries."""
    document = read(body)
    assert document.kind != "invalid" or (not document.entries and not document.complete and document.problems)


SEEDS = (
    (HEAD + rows("/a", "/b") + "</urlset>").encode(),
    gzip.compress((HEAD + rows("/a", "/b", "/c") * 30 + "</urlset>").encode()),
    "<sitemapindex><sitemap><loc>/s1.xml</loc></sitemap></sitemapindex>".encode("utf-16"),
    b"<rss><channel><item><link>/1</link><pubDate>x</pubDate></item></channel></rss>",
    b'<feed><entry><link href="/1"/><updated>2024-05-01</updated></entry></feed>',
    b"https://example.com/1\nhttps://example.com/2\n",
)


@settings(deadline=None)
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 2_000), st.binary(max_size=6)), max_size=8),
    st.integers(0, 2_000),
)
def test_no_damage_makes_the_reader_raise(seed: bytes, edits: list[tuple[int, bytes]], cut: int) -> None:
    """A sitemap with bytes replaced, inserted and cut off is read as far as it goes."""
    body = bytearray(seed)
    for place, noise in edits:
        at = place % (len(body) + 1)
        body[at : at + len(noise) // 2] = noise
    document = read(bytes(body[: cut or None]))
    assert all(url.startswith(("https://", "http://")) for url, _ in document.entries + document.children)


@settings(deadline=None)
@given(st.integers(1, 2_000))
def test_a_cut_document_gives_whole_entries_and_says_so(length: int) -> None:
    """However a file is cut, its entries are a prefix of the whole ones, and it is complete only when it is whole."""
    paths = [f"/page-{number}" for number in range(20)]
    whole = (HEAD + rows(*paths) + "</urlset>").encode()
    document = read(whole[:length])
    assert urls(document) == paths[: len(document.entries)]
    assert document.complete == (length >= len(whole))


def test_a_body_known_to_be_cut_is_never_complete() -> None:
    """What the client cut may look whole; a text list then loses its last line, which may be half a URL."""
    assert not read(HEAD + rows("/a") + "</urlset>", complete=False).complete
    text = read("https://example.com/a\nhttps://example.com/b", complete=False)
    assert (urls(text), text.complete) == (["/a"], False)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (HEAD + rows("/a") + "</urlset>", "urlset"),
        ("<sm:urlset xmlns:sm='urn:x'><sm:url><sm:loc>/a</sm:loc></sm:url></sm:urlset>", "urlset"),
        (
            "<urlset xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9'><s:url><s:loc>/a</s:loc></s:url></urlset>",
            "urlset",
        ),
        ("<URLSET><Url><LOC>/a</LOC></Url></URLSET>", "urlset"),
        ("<?xml version='1.0'?><!-- x --><?pi y?><urlset><url><loc><![CDATA[/a]]></loc></url></urlset>", "urlset"),
        ("https://example.com/a\r\n\r\n", "text"),
        ("\ufeffhttps://example.com/a", "text"),
        ("<rss><channel><item><link>/a</link></item></channel></rss>", "rss"),
        ("<feed><entry><link href='/a'/></entry></feed>", "atom"),
        ("<rdf:RDF xmlns='http://purl.org/rss/1.0/'><item><link>/a</link></item></rdf:RDF>", "rdf"),
    ],
)
def test_the_content_says_what_a_document_is(body: str, kind: str) -> None:
    """Kinds are told by root elements and lines, with and without namespaces, in any case."""
    document = read(body, "text/html")
    assert (document.kind, urls(document), document.complete) == (kind, ["/a"], True)


@pytest.mark.parametrize(
    "body",
    [
        *("", "   ", "Not found", "404", '{"urls": ["https://example.com/a"]}', "https://example.com/ is down"),
        *("Page not found\nTry again\nhttps://example.com/",),
        *("<html><body><a href='/a'>a</a></body></html>", "<!DOCTYPE html><title>x</title>", "\x00\x01\x02"),
        *("User-agent: *\nSitemap: https://example.com/sitemap.xml", "<error>x</error>", "<", "<urlset"),
    ],
)
def test_what_is_no_sitemap_is_invalid_with_a_reason(body: str) -> None:
    """A soft 404, JSON, prose or a robots.txt at the sitemap's address is refused, never read as an empty sitemap."""
    document = read(body)
    assert (document.kind, document.entries, document.complete) == ("invalid", (), False)
    assert document.problems


def test_a_sitemap_without_entries_is_valid_and_complete() -> None:
    """It was read, and lists nothing: not the same as one that could not be read."""
    assert read(HEAD + "</urlset>") == SitemapDocument("urlset")


def test_a_doctype_is_refused_and_no_entity_is_expanded() -> None:
    """An entity bomb and an external entity end at the DOCTYPE."""
    bomb = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]><urlset><url><loc>&b;</loc></url></urlset>"
    document = read(bomb)
    assert document.kind == "invalid"
    assert "DOCTYPE" in document.problems[0]


def test_a_doctype_that_declares_nothing_is_refused_too() -> None:
    """What its DTD would say of the entries is not known, and nobody asks for it."""
    doctype = '<!DOCTYPE urlset SYSTEM "https://example.com/x.dtd">'
    assert read(doctype + HEAD + rows("/a") + "</urlset>").kind == "invalid"


@pytest.mark.parametrize("attributes", ["a=1", 'a="1" a="2"', "xmlns=https://x/schemas/sitemap/0.9", "a='1'b='2'"])
def test_attributes_of_the_root_that_are_no_xml_are_forgiven(attributes: str) -> None:
    """Only what they bind matters."""
    assert urls(read(f"<urlset {attributes}>" + rows("/a") + "</urlset>")) == ["/a"]


def test_elements_nested_without_end_are_refused() -> None:
    """Depth is bounded, so that a document of nothing but opening tags costs nothing."""
    assert read(HEAD + "<a>" * 100_000).kind == "invalid"


def test_entries_beyond_the_protocols_limit_make_a_document_incomplete() -> None:
    """50,000 URLs are read; the 50,001st is not, and the document says that it goes on."""
    document = read(HEAD + rows(*(f"/{number}" for number in range(50_001))) + "</urlset>")
    assert (len(document.entries), document.complete) == (50_000, False)
    assert "50000" in document.problems[0]
    index = "".join(f"<sitemap><loc>/{number}.xml</loc></sitemap>" for number in range(501))
    children = read(f"<sitemapindex>{index}</sitemapindex>")
    assert (len(children.children), children.complete) == (500, False)


def test_a_document_over_the_size_limit_is_read_up_to_it() -> None:
    """Bytes after the cap are not looked at, whether they come plain or out of a gzip."""
    body = (HEAD + rows(*(f"/{number:05}" for number in range(100))) + "</urlset>").encode()
    for given_body in (body, gzip.compress(body)):
        document = read(given_body, sitemap_bytes=2_000)
        assert not document.complete
        assert 0 < len(document.entries) < 100


def test_a_gzip_bomb_is_inflated_piece_by_piece_up_to_the_cap() -> None:
    """120 MiB of spaces cost no more memory than a few pieces, and are no sitemap."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
    spaces = b" " * (1 << 20)
    bomb = b"".join([deflate.compress(HEAD.encode()), *(deflate.compress(spaces) for _ in range(120)), deflate.flush()])
    tracemalloc.start()
    document = read(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert document.kind == "invalid"
    assert peak < 16 << 20


def test_gzip_is_told_by_its_magic_and_read_with_all_its_members() -> None:
    """Names and headers do not count; members follow each other; the checksum may be wrong, the data is there."""
    body = (HEAD + rows("/a", "/b") + "</urlset>").encode()
    members = gzip.compress(body[:50]) + gzip.compress(body[50:]) + b"\0\0"
    assert urls(read(members)) == ["/a", "/b"]
    wrong = bytearray(gzip.compress(body))
    wrong[-6] ^= 1
    checked = read(bytes(wrong))
    assert (urls(checked), checked.complete) == (["/a", "/b"], True)
    assert any("checksum" in problem for problem in checked.problems)
    assert urls(read(gzip.compress(gzip.compress(body)))) == ["/a", "/b"]


def test_members_of_a_few_bytes_cut_no_location() -> None:
    """A text that lies across many small pieces is the text that it is in one."""
    body = (HEAD + rows("/a-location-of-some-length", "/b") + "</urlset><script/>").encode()
    members = b"".join(gzip.compress(body[at : at + 3]) for at in range(0, len(body), 3))

    document = read(members)

    assert urls(document) == ["/a-location-of-some-length", "/b"]
    assert document.complete


def test_a_cut_gzip_gives_the_whole_entries_before_the_cut() -> None:
    """A truncated download is never a short sitemap."""
    body = (HEAD + rows(*(f"/{number}-{number * 7919 % 1000}" for number in range(500))) + "</urlset>").encode()
    document = read(gzip.compress(body)[:-200])
    assert 0 < len(document.entries) < 500
    assert not document.complete


@pytest.mark.parametrize(
    ("encoding", "content_type", "declared"),
    [
        ("utf-8", "", ""),
        ("utf-16", "", ""),
        ("utf-16-le", "", "utf-16"),
        ("utf-32", "", ""),
        ("iso-8859-1", "", "ISO-8859-1"),
        ("iso-8859-1", "application/xml; charset=iso-8859-1", "utf-8"),
        ("utf-8", 'text/xml; charset="UTF-8"', "iso-8859-1"),
        ("utf-8", "", "utf-16"),
        ("utf-8", "text/xml; charset=utf-16", ""),
        ("utf-8", "text/xml; charset=nonsense", "no-such-encoding"),
        ("windows-1252", "", "windows-1252"),
    ],
)
def test_the_encoding_is_found_as_xml_and_http_say(encoding: str, content_type: str, declared: str) -> None:
    """BOM, then the charset parameter, then the declaration; a label that the bytes contradict does not count."""
    declaration = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    document = read((declaration + HEAD + rows("/café") + "</urlset>").encode(encoding), content_type)
    assert urls(document) == ["/caf%C3%A9"]


@pytest.mark.parametrize(
    ("loc", "path"),
    [
        ("https://example.com/?a=1&b=2", "/?a=1&b=2"),
        ("https://example.com/&eacute;", "/%C3%A9"),
        ("https://example.com/&unknown;", "/&unknown;"),
        ("https://example.com/a\x0bb", "/ab"),
        ("https://example.com/a&#55356;b", "/ab"),
        ("<![CDATA[https://example.com/?a=1&b=2]]>", "/?a=1&b=2"),
        ("https://example.com/&lt;&amp;&#233;", "/%3C&%C3%A9"),
    ],
)
def test_damage_that_generators_make_is_repaired(loc: str, path: str) -> None:
    """Bare ampersands, undeclared entities and illegal characters cost no entry, and no URL is cut at them."""
    document = read(HEAD + rows("/first") + f"<url><loc>{loc}</loc></url><url><loc>/x?&</loc></url></urlset>")
    assert urls(document) == ["/first", path, "/x?&"]
    assert document.complete
    assert "repaired" in document.problems[0]


def test_a_damaged_document_too_far_gone_keeps_what_came_before() -> None:
    """A tag that is never closed ends the reading; the entries before it are whole."""
    document = read(HEAD + rows("/a", "/b") + "<url><loc>/c</url></urlset>")
    assert (urls(document), document.complete) == (["/a", "/b"], False)


def test_what_follows_the_root_does_not_count_unless_it_lists_pages() -> None:
    """A script after the root is ignored; a second sitemap after it makes the document incomplete."""
    whole = HEAD + rows("/a") + "</urlset>"
    assert read(whole + "<script>x</script>").complete
    assert not read(whole + whole).complete
    assert read((whole + "<script>x</script>").encode("utf-16")).complete
    assert not read((whole + whole).encode("utf-16")).complete


@pytest.mark.parametrize("place", range(-5, 2))
def test_a_second_sitemap_across_two_blocks_is_seen(place: int) -> None:
    """Where the reader's blocks end makes no difference."""
    whole = HEAD + rows("/a") + "</urlset>"
    padding = "<x>".ljust(BLOCK + place - len(whole) - len("<url>"))

    assert not read(f"{whole}{padding}<url><loc>/b</loc>").complete


def test_only_direct_children_of_an_entry_are_pages() -> None:
    """Images, videos and alternates have addresses and dates of their own, which are not the page's."""
    body = (
        "<urlset><url><image><loc>/i.png</loc></image><video><loc>/v</loc><lastmod>2030-01-01</lastmod></video>"
        "<loc>/a</loc><lastmod>2024-05-01</lastmod></url><loc>/outside</loc></urlset>"
    )
    assert read(body).entries == (("https://example.com/a", "2024-05-01"),)


def test_an_entry_without_a_location_lends_its_date_to_nobody() -> None:
    """Empty entries and empty locations are left out with their dates."""
    body = "<urlset><url><lastmod>2030-01-01</lastmod></url><url><loc/><lastmod>2030-01-01</lastmod></url>"
    document = read(f"{body}<url><loc>/a</loc></url></urlset>")
    assert document.entries == (("https://example.com/a", None),)


def test_an_atom_entry_is_its_alternate_page_resolved_against_xml_base() -> None:
    """Edit and self links are not the page; `updated` is its date; xml:base counts."""
    body = (
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/blog/"><link href="/"/><updated>2030-01-01</updated>'
        '<entry><link rel="self" href="/s"/><link type="application/pdf" href="a.pdf"/><link href="a"/>'
        "<published>2020-01-01</published><updated>2024-05-01</updated></entry>"
        '<entry xml:base="old/"><link rel="alternate" href="b"/></entry></feed>'
    )
    assert read(body).entries == (
        ("https://example.com/blog/a", "2024-05-01"),
        ("https://example.com/blog/old/b", None),
    )


def test_an_rss_item_is_its_link_or_a_guid_that_is_a_permalink() -> None:
    """A guid that is no address is no page."""
    body = (
        "<rss><channel><link>/</link><item><guid>https://example.com/1</guid></item><item><guid>42</guid></item>"
        '<item><guid isPermaLink="false">https://example.com/2</guid></item>'
        "<item><atom:link href='/self'/><link>/3</link><dc:date>2024-05-01</dc:date></item></channel></rss>"
    )
    assert read(body).entries == (("https://example.com/1", None), ("https://example.com/3", "2024-05-01"))


def test_clk_011_bad_lastmod_mixed_with_good() -> None:
    """clk-011: the good ones are used."""
    assert newest_of(["yesterday", "2026-01-02"]) == newest_of(["2026-01-02"])
    found = newest_of(["yesterday", "2026-01-02"])
    assert found is not None
    assert found.start == datetime(2026, 1, 2, tzinfo=UTC)


def test_50_000_entries_take_little_memory() -> None:
    """The entries of a full sitemap, and nothing of the tree, are what its reading leaves behind."""
    body = (HEAD + rows(*(f"/section-{n % 97}/page-{n}/" for n in range(50_000))) + "</urlset>").encode()
    tracemalloc.start()
    document = read(body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(document.entries) == 50_000
    assert peak < 16 << 20
