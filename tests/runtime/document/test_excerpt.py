"""Cutting descriptions."""

from __future__ import annotations

import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from runtime.document.excerpt import ELLIPSIS, excerpt

ANY_TEXT = st.text(alphabet=st.characters(codec=None), max_size=80) | st.text(
    alphabet=st.sampled_from("ab .,。、漢字かな한글 e\u0301\u200d\ufe0f👨👩👧🏽🇩🇪क्षि\u1112\u1161\u11ab\ud83d\udc00\n"),
    max_size=80,
)


def test_a_short_text_is_only_put_on_one_line() -> None:
    """White space collapses; nothing else changes."""
    assert excerpt("  How to\n\tuse  it. ", 50) == "How to use it."


def test_a_long_text_ends_with_its_last_whole_sentence() -> None:
    """A sentence that fills at least half of the limit is kept whole, without an ellipsis."""
    text = "Widgets are made here. They are green. And then there is a very long third sentence about nothing."

    assert excerpt(text, 50) == "Widgets are made here. They are green."


def test_a_text_with_one_long_sentence_is_cut_at_a_word() -> None:
    """No sentence end in reach: the cut falls between words and is marked."""
    assert excerpt("Alpha beta gamma delta epsilon", 18) == "Alpha beta gamma…"


@pytest.mark.parametrize(
    "text",
    [
        "Install the tools, e.g. Make and Git, before the first build of the project starts",
        "Written with Dr. Miller for everyone who builds the project on their own machine today",
        "Runs on Node.js. and Deno or any other engine that implements the web platform well",
        "It costs 3.5 euros a month, and version 2.0 costs a little more than the first one did",
    ],
)
def test_a_full_stop_that_ends_no_sentence_is_not_a_place_to_cut(text: str) -> None:
    """Abbreviations, initials, numbers and names with dots do not end a sentence."""
    got = excerpt(text, 40)

    assert got.endswith(ELLIPSIS)
    assert text.startswith(got[:-1])
    assert text[len(got) - 1] in " ,."


def test_commas_and_brackets_do_not_hang_before_the_ellipsis() -> None:
    """Punctuation that opens or continues is dropped with what it introduced."""
    assert excerpt("Alpha beta gamma, (delta epsilon)", 20) == "Alpha beta gamma…"


def test_japanese_is_cut_at_its_own_full_stop() -> None:
    """East Asian sentences end without white space."""
    assert excerpt("この文書は概要です。次の文はとても長いので入りません。", 16) == "この文書は概要です。"


def test_text_without_spaces_keeps_most_of_its_room() -> None:
    """Chinese and Japanese are cut between characters, not "at the last space"."""
    assert len(excerpt("概要" * 40, 40)) == 40


def test_an_emoji_family_is_never_taken_apart() -> None:
    """ZWJ sequences stay whole or go."""
    family = "👨\u200d👩\u200d👧\u200d👦"

    assert excerpt(family * 20, 50) == family * 7 + ELLIPSIS


def test_a_flag_is_never_halved() -> None:
    """Two regional indicators are one character."""
    assert excerpt("🇩🇪🇫🇷🇪🇸", 4) == "🇩🇪…"


@pytest.mark.parametrize(("limit", "want"), [(0, ""), (-5, ""), (1, "…"), (2, "A…")])
def test_tiny_limits_are_kept(limit: int, want: str) -> None:
    """The limit holds even where there is no room for a word."""
    assert excerpt("Alpha beta", limit) == want


@given(text=ANY_TEXT, limit=st.integers(-1, 90))
def test_every_excerpt_is_short_one_line_and_encodable(text: str, limit: int) -> None:
    """For any text at all: within the limit, one line, valid UTF-8, idempotent."""
    got = excerpt(text, limit)

    assert len(got) <= max(limit, 0)
    assert got.encode().decode() == got
    assert len(got.splitlines()) <= 1
    assert excerpt(got, limit) == got


@given(text=ANY_TEXT, limit=st.integers(2, 60))
def test_no_excerpt_ends_inside_a_grapheme_cluster(text: str, limit: int) -> None:
    """The kept part is a whole number of the clusters that a full UAX 29 segmenter sees."""
    whole = " ".join(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").split())
    got = excerpt(text, limit)
    kept = got if got == whole or not got.endswith(ELLIPSIS) else got[: -len(ELLIPSIS)]

    ends, at = {0}, 0
    for cluster in regex.findall(r"\X", whole):
        at += len(cluster)
        ends.add(at)
    assert whole.startswith(kept)
    assert len(kept) in ends
