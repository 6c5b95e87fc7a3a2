"""Sentences and their offsets: into the very text, in order, nothing lost but blanks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.metric.sentences import cut, split_document, split_text


@pytest.mark.parametrize(
    "sentences",
    [
        [
            "Mr. Smith of St. Louis met Dr. J. R. R. Tolkien at 3 p.m. on Jan. 5.",
            "He paid $3.50 to Acme Inc. yesterday.",
        ],
        ["Ünïted wön 😀 3.5 : 2.", "Zoë scored \N{COMBINING ACUTE ACCENT}twice.", "𝒜 third one."],
    ],
)
@pytest.mark.parametrize("gap", [" ", "\n\n", "\r\n"])
def test_sentences_and_their_offsets(sentences: list[str], gap: str) -> None:
    text = gap.join(sentences)
    assert [text[start:end] for start, end in split_text(text)] == sentences
    around = f" \n{text}\n "
    assert [around[start:end] for start, end in split_text(around)] == sentences


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=60) | st.text("aA1 .!?\n\"'()é😀", max_size=60))
def test_nothing_is_lost_of_any_text(text: str) -> None:
    spans = split_text(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    bounds = [0, *(bound for span in spans for bound in span), len(text)]
    between = [text[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True)]
    assert not "".join(between).strip(), "only blanks are left out"
    assert not any(text[start].isspace() or text[end - 1].isspace() for start, end in spans)


def words(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """A tokenizer whose tokens are words, of eight characters at most."""
    return np.array([sum(-(-len(word) // 8) for word in text.split()) for text in texts], np.int64)


def characters(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    return np.array([len(text) for text in texts], np.int64)


DOCUMENTS = st.lists(
    st.sampled_from(["word", "two words", "end.", "A b c.", ".", "\n\n", " \n ", "\t", "ünï 😀", "x" * 90, "é\u0301"]),
    max_size=60,
).map(" ".join) | st.text(max_size=200)


@settings(max_examples=200, deadline=None)
@given(DOCUMENTS, st.integers(2, 40), st.sampled_from([words, characters]))
def test_the_sentences_of_a_document_are_all_of_it(document: str, most: int, measure: object) -> None:
    sentences = split_document(document)
    assert "".join("".join(sentences).split()) == "".join(document.split())
    for sentence in sentences:
        parts = cut(sentence, most, measure)  # type: ignore[arg-type]
        assert "".join("".join(parts).split()) == "".join(sentence.split()), "nothing is left out"
        assert all(measure([part])[0] <= most or len(part) == 1 for part in parts)  # type: ignore[operator]
        assert all(part and part == part.strip() for part in parts)


def test_a_paragraph_ends_a_sentence_and_white_space_is_one_blank() -> None:
    document = "  First\tline\nwrapped\n\n\n \nSecond. Third  "
    assert split_document(document) == ["First line wrapped", "Second.", "Third"]


@pytest.mark.parametrize("unit", ["x", "word ", "a. ", "\n\nab"])
def test_many_characters_of_anything_are_divided(unit: str) -> None:
    document = unit * (100_000 // len(unit))
    sentences = split_document(document)
    assert " ".join(sentences).replace(" ", "") == "".join(document.split())
    assert all(len(sentence) <= 8192 for sentence in sentences)
