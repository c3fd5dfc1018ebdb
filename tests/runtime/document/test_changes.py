"""What changed between two documents."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from runtime.document.changes import compare_documents, unified_diff
from runtime.document.model import Document, Link, Section
from runtime.document.render import write


def doc(*sections: tuple[str, list[tuple[str, str, str]]], title: str = "Acme") -> Document:
    return Document(
        title,
        "S",
        "D",
        tuple(
            Section(n, n.lower(), tuple(Link(t, f"https://a.example{u}", d) for t, u, d in ls)) for n, ls in sections
        ),
    )


OLD = doc(("Main", [("A", "/a", "one"), ("B", "/b", ""), ("C", "/c", "")]), ("Docs", [("D", "/d", "")]))


def test_each_kind_of_change_is_named() -> None:
    """Added, removed, moved, retitled, redescribed, and the site's own lines."""
    new = doc(
        ("Main", [("A", "/a", "two"), ("B2", "/b", ""), ("D", "/d", ""), ("C", "/c-new", ""), ("E", "/e", "")]),
        title="Acme Inc.",
    )
    record = compare_documents(OLD, new)

    assert [entry.title for entry in record.added] == ["E"]
    assert record.removed == ()
    assert [(m.title, m.old_section, m.section) for m in record.moved] == [("D", "Docs", "Main"), ("C", "Main", "Main")]
    assert record.moved[1].old_url == "https://a.example/c"
    assert [(r.old, r.new) for r in record.retitled] == [("B", "B2")]
    assert [(r.old, r.new) for r in record.redescribed] == [("one", "two")]
    assert [(r.url, r.new) for r in record.site] == [("title", "Acme Inc.")]


def test_editing_one_page_is_one_entry() -> None:
    """The sentence names what is the only one of its kind."""
    new = doc(("Main", [("A", "/a", "one"), ("B, renamed", "/b", ""), ("C", "/c", "")]), ("Docs", [("D", "/d", "")]))

    assert compare_documents(OLD, new).summary == "1 page retitled (B → B, renamed)"


def test_pages_of_one_title_that_left_and_came_are_not_paired_by_guess() -> None:
    """Only a title that is unique on both sides says that a page moved."""
    old = doc(("Main", [("X", "/1", ""), ("X", "/2", "")]))
    new = doc(("Main", [("X", "/3", "")]))
    record = compare_documents(old, new)

    assert (len(record.added), len(record.removed), len(record.moved)) == (1, 2, 0)


def test_without_an_old_document_everything_is_new() -> None:
    """The first file adds its pages."""
    assert compare_documents(None, OLD).summary == "4 pages added"


def test_equal_documents_have_no_changes() -> None:
    """An empty record is false and says so."""
    record = compare_documents(OLD, OLD)

    assert not record
    assert record.summary == "nothing changed"


def test_a_record_is_json() -> None:
    """Its dictionary survives a round through JSON."""
    record = compare_documents(None, OLD).as_dict()

    assert json.loads(json.dumps(record))["added"][0] == {"section": "Main", "title": "A", "url": "https://a.example/a"}
    assert record["summary"] == "4 pages added"


def test_the_diff_is_a_unified_one() -> None:
    """Line by line, with the names of both sides; nothing for equal texts."""
    new = doc(("Main", [("A", "/a", "one"), ("C", "/c", "")]), ("Docs", [("D", "/d", "")]))
    diff = unified_diff(write(OLD), write(new))

    assert diff.startswith("--- published\n+++ new\n@@ ")
    assert "-- [B](https://a.example/b)\n" in diff
    assert unified_diff(write(OLD), write(OLD)) == ""


pages = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["X", "Y", "Z"]), max_size=8)


@given(pages, pages)
def test_every_url_is_accounted_for(before: dict[str, str], after: dict[str, str]) -> None:
    """What came is added or moved, what left is removed or moved from; nothing is counted twice."""
    old = doc(("Main", [(t, f"/{u}", "") for u, t in before.items()]))
    new = doc(("Main", [(t, f"/{u}", "") for u, t in after.items()]))
    record = compare_documents(old, new)

    came = [entry.url for entry in record.added] + [m.url for m in record.moved]
    left = [entry.url for entry in record.removed] + [m.old_url for m in record.moved]
    assert sorted(came) == sorted(f"https://a.example/{u}" for u in after.keys() - before.keys())
    assert sorted(left) == sorted(f"https://a.example/{u}" for u in before.keys() - after.keys())
    assert bool(record) == (before != after)
