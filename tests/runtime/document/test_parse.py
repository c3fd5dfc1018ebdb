"""Reading llms.txt files back: ours, and those of other writers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.document.model import Link
from runtime.document.parse import entries, parse
from runtime.document.render import write
from runtime.document.validate import validate

PLAIN = "# Acme\n\n> Widgets.\n\nDetails.\n\n## Docs\n\n- [A](https://a.example/): One.\n- [B](https://b.example/)\n"


def test_bom_and_crlf_do_not_matter() -> None:
    """A file from a Windows editor or from Yoast reads as any other."""
    assert parse("\ufeff" + PLAIN.replace("\n", "\r\n")) == parse(PLAIN)
    assert parse(PLAIN).summary == "Widgets."


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("- [A](https://a.example/) - One.", Link("A", "https://a.example/", "One.")),
        ("- [A](https://a.example/) : One.", Link("A", "https://a.example/", "One.")),
        ("* [A](https://a.example/) – One.", Link("A", "https://a.example/", "One.")),
        ("1. [A](https://a.example/)", Link("A", "https://a.example/")),
        ("  - [A](https://a.example/): nested", Link("A", "https://a.example/", "nested")),
        ("- [A [b]](https://a.example/): x", Link("A [b]", "https://a.example/", "x")),
        ("- [A \\] b](https://a.example/)", Link("A ] b", "https://a.example/")),
        ("- [a [b](https://a.example/): [c]", Link("a [b", "https://a.example/", "[c]")),
        ("- [A](https://a.example/x_(y)): z", Link("A", "https://a.example/x_(y)", "z")),
        ("- [A](<https://a.example/a b>)", Link("A", "https://a.example/a b")),
        ('- [A](https://a.example/ "title"): z', Link("A", "https://a.example/", "z")),
        ("[A](https://a.example/): z", Link("A", "https://a.example/", "z")),
        ("- [&#91;A&#93;](https://a.example/)", Link("[A]", "https://a.example/")),
    ],
)
def test_other_writers_items_are_understood(line: str, want: Link) -> None:
    """Other bullets, separators, brackets and parentheses."""
    assert list(parse(f"# T\n\n> S\n\nD\n\n## A\n\n{line}\n").links()) == [want]


@pytest.mark.parametrize(
    ("name", "text", "want"),
    [
        ("no details", "# T\n\n> S\n\n## A\n\n- [x](https://x.example/)\n", 1),
        ("no summary", "# T\n\n## A\n- [x](https://x.example/)\n", 1),
        ("no h2", "# T\n\n> S\n\n- [x](https://x.example/)\n- [y](https://y.example/)\n", 2),
        ("no h1", "## A\n\n- [x](https://x.example/)\n", 1),
        ("h3 in a section", "# T\n\n## A\n\n### B\n\n- [x](https://x.example/)\n", 1),
        ("prose and rules", "# T\n\n## A\nText.\n\n---\n\n- [x](https://x.example/)\n<!-- c -->\n", 1),
        ("the same h2 twice", "# T\n\n## A\n- [x](https://x.example/)\n\n## a\n- [y](https://y.example/)\n", 2),
        ("plain bullets", "# T\n\n## Notes\n\n- Only text.\n", 0),
        ("a fence in the details", "# T\n\n> S\n\n```\n## not a section\n```\n\n## A\n- [x](https://x.example/)\n", 1),
        ("html", "<!doctype html><html><head><title>T</title></head></html>", 0),
        ("nothing", "", 0),
    ],
)
def test_files_of_other_shapes_keep_their_links(name: str, text: str, want: int) -> None:
    """What rival generators write is read as far as it says something, and can be written as a valid file."""
    document = parse(text)

    assert sum(1 for _ in document.links()) == want, name
    if want:
        assert {problem.rule for problem in validate(write(document))} <= {"lighthouse"}  # these are short


def test_sections_of_one_name_are_one_section() -> None:
    """Without regard to case, in the order of the file, `Optional` last."""
    text = "# T\n\n## Optional\n- [o](https://o.example/)\n\n## A\n- [x](https://x.example/)\n\n## a\n- [y](https://y.example/)\n"

    assert [(s.name, len(s.links)) for s in parse(text).sections] == [("A", 2), ("Optional", 1)]


def test_a_root_of_section_files_counts_the_pages_it_leads_to() -> None:
    """Without its parts at hand, the file still says how many pages are listed."""
    text = (
        "# T\n\n> S\n\nD\n\n## Sections\n\n- [A](https://f.example/a/llms.txt): 230 pages, from B to C\n"
        "- [D](https://f.example/d/llms.txt): 1 page: E\n\n## Optional\n\n- [x](https://x.example/)\n"
    )

    assert entries(parse(text)) == 232


@given(st.text(max_size=300) | st.lists(st.sampled_from([*"#>-*[]()\\` \n:aé", "# ", "## ", "- ["])).map("".join))
def test_nothing_at_all_makes_the_parser_raise(text: str) -> None:
    """Any text gives a document, and writing it is stable after one round."""
    once = write(parse(text))

    assert write(parse(once)) == once
