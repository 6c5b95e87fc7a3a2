"""Sentences and their offsets: into the very text, in order, nothing lost but blanks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.scoring.splitting import Splitter, open_splitter


@pytest.fixture(scope="module")
def splitter() -> Splitter:
    pytest.importorskip("nupunkt", reason="the extra sentences is not installed")
    return open_splitter()


@pytest.mark.parametrize(
    "sentences",
    [
        [
            "Mr. Smith of St. Louis met Dr. J. R. R. Tolkien at 3 p.m. on Jan. 5.",
            "He paid $3.50 to Acme Inc. yesterday.",
        ],
        ["The U.S. won 3-0.", "See e.g. fig. 2 of Smith et al. for more."],
        ["Ünïted wön 😀 3.5 : 2.", "Zoë scored \N{COMBINING ACUTE ACCENT}twice.", "𝒜 third one."],
    ],
)
@pytest.mark.parametrize("gap", [" ", "  ", "\n", "\n\n", "\r\n"])
def test_sentences_and_their_offsets(splitter: Splitter, sentences: list[str], gap: str) -> None:
    text = gap.join(sentences)
    assert [text[start:end] for start, end in splitter.split(text)] == sentences
    around = f" \n{text}\n "
    assert [around[start:end] for start, end in splitter.split(around)] == sentences


def test_a_line_break_ends_a_sentence_only_where_a_line_is_empty(splitter: Splitter) -> None:
    text = "A text that is\nwrapped anywhere. A heading\n\nAnd what follows"
    assert [text[start:end] for start, end in splitter.split(text)] == [
        "A text that is\nwrapped anywhere.",
        "A heading",
        "And what follows",
    ]


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=60) | st.text("aA1 .!?\n\"'()é😀", max_size=60))
def test_nothing_is_lost_of_any_text(splitter: Splitter, text: str) -> None:
    spans = splitter.split(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    bounds = [0, *(bound for span in spans for bound in span), len(text)]
    between = [text[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True)]
    assert not "".join(between).strip(), "only blanks are left out"
    assert not any(text[start].isspace() or text[end - 1].isspace() for start, end in spans)
