"""From pages to a document: which title, which sections, which descriptions."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.document.build import build
from runtime.models import SiteOptions
from runtime.reading import Page
from tests.runtime.document.pages import (
    BASE,
    HOME,
    document_of,
    page,
    rendered,
    section_names,
    text_of,
    titles_in,
)

SITE = [
    page("/", "Home | Acme", "Acme makes widgets."),
    page("/guides/", "Guides | Acme"),
    page("/guides/install", "Install | Acme", "How to install."),
    page("/guides/getting_started/", "Getting started | Acme"),
    page("/api/errors", "Errors | Acme", "What can go wrong."),
    page("/api/auth", "Auth | Acme"),
    page("/pricing", "Pricing | Acme"),
    page("/privacy-policy", "Privacy | Acme"),
    page("/changelog/", "Changelog | Acme"),
]


def test_a_site_reads_as_a_person_would_write_it() -> None:
    """Name, summary, sections from paths in reading order, secondary pages last."""
    document = document_of(SITE)

    assert (document.title, document.summary) == ("Acme", "Acme makes widgets.")
    assert section_names(document) == ["Main", "Guides", "API", "Optional"]
    assert titles_in(document, "Guides") == ["Guides", "Getting started", "Install"]
    assert titles_in(document, "Optional") == ["Changelog", "Privacy"]


@pytest.mark.parametrize("seed", range(50))
def test_f10_the_order_of_pages_never_matters(seed: int) -> None:
    """Fifty random orders of the same pages give the same bytes."""
    pages = [*SITE, *(page(f"/x{n}/y{n % 3}", f"T{n % 4}", "Same text." if n % 2 else "") for n in range(30))]
    shuffled = random.Random(seed).sample(pages, len(pages))

    assert text_of(shuffled) == text_of(pages)


def test_f10_the_hash_seed_never_matters() -> None:
    """Three processes with different PYTHONHASHSEEDs write the same bytes as this one."""
    script = (
        "import hashlib; from tests.runtime.document.test_build import seeded; "
        "print(hashlib.sha256(seeded().encode()).hexdigest())"
    )
    root = Path(__file__).parents[3]
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1", "4242")
    }

    assert digests == {hashlib.sha256(seeded().encode()).hexdigest()}


def seeded() -> str:
    """Many pages with ties wherever a set or a dict could decide: equal titles, equal counts, shared descriptions."""
    pages = [
        page(
            f"/{section}/{name}", f"{name} - {section}", "Shared." if n % 2 else f"About {name}.", site_name=f"S{n % 2}"
        )
        for n, (section, name) in enumerate((s, p) for s in "fedcba" for p in ("x", "y", "z"))
    ]
    return text_of([*pages, *SITE[1:]], home=None) + text_of([*SITE, *pages])


def test_f7_a_suffix_that_repeats_site_wide_is_removed() -> None:
    """` | Acme` at the end of every title is the site's name; what a CMS escaped twice is undone."""
    pages = [
        page("/", "Acme | Widgets for all"),
        page("/a", "Tom &amp; Jerry &#8211; Home | Acme"),
        page("/b", "Pricing | Acme"),
        page("/c", "Acme &#038; friends | Acme"),
    ]

    assert titles_in(document_of(pages), "Main")[1:] == ["Tom & Jerry – Home", "Pricing", "Acme & friends"]


def test_f7_a_suffix_of_one_page_stays() -> None:
    """What only one page ends with is part of its title."""
    pages = [page("/", "Acme"), page("/a", "Install | Linux"), page("/b", "Pricing"), page("/c", "Contact us")]

    assert "Install | Linux" in titles_in(document_of(pages), "Main")


def test_a_prefix_that_repeats_site_wide_is_removed() -> None:
    """`Acme: ` before every title goes as well, and two names one after the other."""
    pages = [page("/", "Acme Docs"), *(page(f"/{n}", f"Acme: Page {n} - Docs") for n in range(5))]

    assert titles_in(document_of(pages), "Main")[1:] == [f"Page {n}" for n in range(5)]


def test_a_title_about_markup_keeps_its_references() -> None:
    """`&amp; &lt;tag&gt;` is what the page is about, not an escaping fault."""
    assert "&amp; &lt;tag&gt;" in titles_in(document_of([page("/", "Acme"), page("/a", "&amp; &lt;tag&gt;")]), "Main")


def test_d53_the_home_page_is_known_by_its_url() -> None:
    """Another page that happens to come first gives the site neither title nor summary, and stays listed."""
    pages = [page("/aaa", "First", "The first page."), page("/zzz", "Last")]
    document = document_of(pages, home=None)

    assert document.title == "docs.example.com"
    assert "first page" not in document.summary
    assert titles_in(document, "Main") == ["First", "Last"]


def test_d53_a_home_url_that_was_not_read_is_no_home_page() -> None:
    """A home page that failed leaves the name to what the other pages agree on."""
    pages = [page(f"/{n}", f"Page {n}", site_name="Acme Docs") for n in range(3)]

    assert document_of(pages, home=HOME).title == "Acme Docs"


@pytest.mark.parametrize(
    ("title", "site_name", "want"),
    [
        ("Home | Acme", "", "Acme"),
        ("Welcome", "", "Acme"),
        ("Welcome", "Acme Inc.", "Acme Inc."),
        ("Acme", "undefined", "Acme"),
        ("Something else", "", "Something else"),
    ],
)
def test_the_h1_names_the_site(title: str, site_name: str, want: str) -> None:
    """The declared name, else the name the titles repeat, else the home page's title."""
    pages = [page("/", title, site_name=site_name), page("/a", "A | Acme"), page("/b", "B | Acme")]

    assert document_of(pages).title == want


def test_a_site_without_any_name_is_called_by_its_address() -> None:
    """Generic titles everywhere: the host, with the path that was enrolled."""
    pages = [Page(url="https://www.example.com/docs/", title="Home")]

    assert document_of(pages, base_url="https://www.example.com/docs", home=pages[0].url).title == "example.com/docs"


def test_f4_details_are_always_one_line() -> None:
    """A site with nothing to say in details has a line of them all the same."""
    details = document_of([page("/", "Acme", "Widgets.")]).details

    assert details
    assert "\n" not in details


@pytest.mark.parametrize(
    "text", ["No description available", "undefined", "None", "  ", "Lorem ipsum dolor sit.", "..."]
)
def test_f6_placeholders_are_never_descriptions(text: str) -> None:
    """Such texts are left out, together with the colon."""
    listed = text_of([page("/", "Acme"), page("/a", "A", text)])

    assert f"- [A]({BASE}/a)\n" in listed


def test_f3_a_pasted_document_becomes_one_line() -> None:
    """A description of 5 KB of Markdown is cut at a sentence, without headings, list marks or fences."""
    pasted = "# Title\n\n" + "- First item.\n- Second\titem is longer.\n\n```\ncode\n```\n> A quote.\n" * 90
    link = list(document_of([page("/", "Acme"), page("/a", "A", pasted)], desc=200).links())[1]

    assert 100 <= len(link.description) <= 200
    assert link.description.startswith("Title First item. Second item is longer.")
    assert link.description.endswith(".")
    assert not set("#\n`>") & set(link.description)


def test_u47_a_description_that_restates_the_title_is_dropped() -> None:
    """Also in other punctuation and with the site's name."""
    pages = [page("/", "Acme"), page("/a", "Getting started | Acme", "Getting Started – Acme"), page("/b", "B | Acme")]

    assert [link.description for link in document_of(pages).links()] == ["", "", ""]


def test_u48_a_description_shared_by_many_pages_is_dropped() -> None:
    """The site's default text describes none of its pages; the home page may keep it."""
    pages = [page("/", "Acme", "We make widgets."), *(page(f"/{n}", f"T{n}", "We make widgets!") for n in range(4))]
    pages += [page("/x", "X", "Own text."), page("/y", "Y", "Shared by two."), page("/z", "Z", "Shared by two.")]

    assert [link.description for link in document_of(pages).links()] == [
        "We make widgets.", "", "", "", "", "Own text.", "Shared by two.", "Shared by two.",
    ]  # fmt: skip


def test_d56_desc_length_bounds_every_description() -> None:
    """The owner's length counts for links and summary, at a word or sentence."""
    long = "Widgets are made of many parts, " * 30
    pages = [page("/", "Acme", long), page("/a", "A", f"{long} indeed")]
    document = document_of(pages, desc=80)

    assert 40 <= len(document.summary) <= 80
    assert all(40 <= len(link.description) <= 80 and link.description.endswith("…") for link in document.links())


def test_d56_a_flat_site_is_one_list() -> None:
    """Pages at the root do not get a section each, nor do directories of one page."""
    pages = [page("/", "Acme"), page("/a.html"), page("/b.html"), page("/c/"), page("/d/index.html"), page("/e/f")]

    assert section_names(document_of(pages)) == ["Main"]


@pytest.mark.parametrize(
    "base_url",
    [
        "http://docs.example.com",
        "https://docs.example.com",
        "https://docs.example.com/guides?x=1",
        "https://other.example",
    ],
)
def test_d51_sections_come_from_paths_whatever_the_base_url(base_url: str) -> None:
    """Another scheme, a query, a path outside the base: never a section called "Https:"."""
    pages = [page("/guides/a"), page("/guides/b"), page("/api/a"), page("/api/b")]
    names = section_names(document_of(pages, base_url=base_url, home=None))

    assert set(names) <= {"Main", "Guides", "API"}
    assert "API" in names


def test_sections_below_a_base_path_do_not_repeat_it() -> None:
    """A site enrolled with a path has the sections below that path."""
    pages = [page("/docs/"), page("/docs/guides/a"), page("/docs/guides/b"), page("/docs/api/a"), page("/docs/api/b")]

    assert section_names(document_of(pages, base_url=f"{BASE}/docs", home=f"{BASE}/docs/")) == ["Main", "Guides", "API"]


def test_d54_spellings_of_one_section_are_merged() -> None:
    """`getting-started`, `getting_started` and `Getting-Started` are one section: no H2 twice."""
    pages = [page("/getting-started/a"), page("/getting_started/b"), page("/Getting-Started/c"), page("/x")]

    assert section_names(document_of(pages, home=None)) == ["Main", "Getting Started"]


def test_d54_a_directory_called_optional_is_no_optional_section() -> None:
    """A real `/optional/` has primary pages; only secondary links go under the exact name `Optional`."""
    pages = [page("/optional/a"), page("/optional/b"), page("/x"), page("/terms")]

    assert section_names(document_of(pages, home=None)) == ["Main", "Optional pages", "Optional"]


@pytest.mark.parametrize(
    "path",
    ["/golden-retrievers", "/household", "/thresholds", "/steam-ovens", "/jobs-to-be-done", "/docs/jobs", "/api/releases",
     "/commands/archive", "/termsheet", "/feedback", "/contacts-api"],
)  # fmt: skip
def test_d54_a_part_of_a_word_makes_no_page_secondary(path: str) -> None:
    """Whole segments count, and ambiguous names only at the top."""
    assert "Optional" not in section_names(document_of([page("/", "Acme"), page(path)]))


@pytest.mark.parametrize(
    "path",
    ["/privacy", "/Legal/imprint.html", "/terms_of_service", "/changelog", "/docs/changelog/", "/archive/2019/x",
     "/docs/legacy/setup", "/en/privacy", "/jobs/engineer", "/code-of-conduct.html"],
)  # fmt: skip
def test_secondary_pages_are_optional(path: str) -> None:
    """Legal texts, changelogs, archives and the company's affairs, in any spelling of a whole segment."""
    pages = [page("/", "Acme"), page("/en/guide"), page("/en/start"), page(path)]

    assert titles_in(document_of(pages), "Optional") == [path.strip("/")]


def test_f9_only_legal_pages_still_make_a_main_section() -> None:
    """`Optional` is never the only section."""
    pages = [page("/privacy"), page("/terms"), page("/imprint")]

    assert section_names(document_of(pages, home=None)) == ["Main"]


def test_the_one_language_of_a_site_is_looked_through() -> None:
    """`/en/` and `/en/latest/` before everything make no section."""
    pages = [page(f"/en/latest/{section}/{n}") for section in ("guides", "api") for n in range(3)]

    assert section_names(document_of(pages, home=None)) == ["Guides", "API"]


def test_a_directory_that_holds_most_of_a_site_is_split() -> None:
    """`/docs/` with everything in it becomes the sections below it."""
    pages = [page(f"/docs/{section}/{n}") for section in ("guides", "api") for n in range(8)]
    pages += [page("/docs/"), page("/docs/overview"), page("/blog/a"), page("/blog/b")]

    assert section_names(document_of(pages, home=None)) == ["Guides", "Docs", "API", "Blog"]


def test_a_large_flat_site_is_divided_by_what_its_names_begin_with() -> None:
    """`sql-select.html`, `sql-insert.html`: a hundred pages in one directory are not one list of a hundred."""
    pages = [page(f"/{word}-{name}.html") for word in ("sql", "app", "how") for name in "abcdefghijklmnopqrstuvwxyz"]
    document = document_of([*pages, page("/intro.html"), page("/one-more.html")], home=None)

    assert section_names(document) == ["Main", "App", "SQL"]
    assert len(titles_in(document, "SQL")) == 26


def test_a_site_of_hundreds_of_directories_has_a_bounded_number_of_sections() -> None:
    """The smallest directories share the main section."""
    pages = [page(f"/user{n}/{m}") for n in range(200) for m in range(2)]

    assert len(document_of(pages, home=None).sections) <= 31


def test_section_slugs_are_unique_ascii() -> None:
    """Also for headings in other scripts and for headings that differ in what a slug cannot show."""
    pages = [page(f"/{name}/{n}") for name in ("日本", "中国", "c%23", "c%2B%2B", "c") for n in range(2)]
    slugs = [section.slug for section in document_of(pages, home=None).sections]

    assert len(set(slugs)) == 5
    assert all(slug.isascii() and "--" not in slug for slug in slugs)


def test_equal_titles_of_a_section_are_told_apart_by_path() -> None:
    """Where two pages of a list have one title, the part of the path that differs is added."""
    pages = [page("/guides/linux/install.html", "Install"), page("/guides/mac/install.html", "Install")]
    pages += [page("/guides/faq?page=1", "FAQ"), page("/guides/faq?page=2", "FAQ"), page("/guides/x", "X")]

    assert titles_in(document_of(pages, home=None), "Guides") == [
        "FAQ (page=1)", "FAQ (page=2)", "Install (linux)", "Install (mac)", "X",
    ]  # fmt: skip


def test_equal_titles_of_different_sections_stay() -> None:
    """Sections already tell them apart."""
    pages = [page("/a/1", "Overview"), page("/a/2", "Two"), page("/b/1", "Overview"), page("/b/2", "Three")]

    assert titles_in(document_of(pages, home=None), "A") == ["Overview", "Two"]


@pytest.mark.parametrize("title", ["", "Untitled", "undefined", "\u200b"])
def test_a_page_without_a_title_is_called_by_its_path(title: str) -> None:
    """Links are never empty and never "Untitled"."""
    pages = [page("/", "Acme"), Page(url=f"{BASE}/docs/getting-started.html", title=title)]

    assert "Getting started" in titles_in(document_of(pages), "Main")


def test_chapters_are_in_the_order_of_their_numbers() -> None:
    """`chapter-10` comes after `chapter-2`; the index of a directory comes first."""
    pages = [page(f"/book/chapter-{n}", f"Chapter {n}") for n in (10, 2, 1)] + [page("/book/index.html", "Book")]

    assert titles_in(document_of(pages, home=None), "Book") == ["Book", "Chapter 1", "Chapter 2", "Chapter 10"]


def test_s9_a_verified_twin_is_linked_instead_of_the_page() -> None:
    """Only where there is one; nothing is invented."""
    pages = [page("/", "Acme"), page("/a", "A", twin=f"{BASE}/a.md"), page("/b", "B")]

    assert [link.url for link in document_of(pages).links()] == [HOME, f"{BASE}/a.md", f"{BASE}/b"]


def test_a_twin_that_two_pages_claim_is_nobodys() -> None:
    """Each link stays unique: both pages are listed by their own URL."""
    twin = f"{BASE}/all.md"
    pages = [page("/a", "A", twin=twin), page("/b", "B", twin=twin), page("/c", "C", twin=f"{BASE}/a")]

    assert [link.url for link in document_of(pages, home=None).links()] == [f"{BASE}/a", f"{BASE}/b", f"{BASE}/c"]


def test_d55_nothing_is_tagged() -> None:
    """Words inside of words make no labels: the text after the colon is the description alone."""
    pages = [page("/", "Acme"), page("/authors", "Authors", "Who writes."), page("/startups", "Startups", "Offers.")]

    assert "[" not in "".join(f"{link.title}{link.description}" for link in document_of(pages).links())


def test_hidden_characters_do_not_reach_the_file() -> None:
    """Direction overrides, tag characters and controls are dropped; emoji sequences and flags stay whole."""
    tagged = "Fine\U000e0049\U000e0067 text\u202e now 👩\u200d💻 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    link = list(document_of([page("/", "Acme"), page("/a", "A", tagged)]).links())[1]

    assert link.description == "Fine text now 👩\u200d💻 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


def test_descriptions_of_a_huge_site_are_shortened_together() -> None:
    """Ten thousand pages with long descriptions stay a file of a few megabytes."""
    pages = [
        page(f"/s{n % 40}/{n}", f"Page {n}", f"Number {n}. " + "About this and that. " * 90) for n in range(10_000)
    ]
    result = rendered(document_of(pages, home=None, desc=2_000))

    assert sum(map(len, result.sections.values())) + len(result.text) < 5_000_000
    assert len(result.text) < 50_000


def test_a_joiner_does_not_outlive_the_affix_it_stood_beside() -> None:
    """What is left when a site-wide affix is taken off is made plain again, so that writing it changes nothing."""
    titles = {"/a": "[ > \u200dDr. A", "/b": "[ > \u200dDr. B", "/c": "[ > \u200dDr. C"}
    pages = [Page(url=f"https://docs.example.com{path}", title=title) for path, title in titles.items()]

    document = build(pages, "https://docs.example.com", SiteOptions(), home=None)

    assert [link.title for link in document.links()] == ["Dr. A", "Dr. B", "Dr. C"]
