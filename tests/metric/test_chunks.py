"""Chunks of a document: nothing left out, none longer than asked, sentences whole wherever that is possible."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.metric.chunks import Span, chunks_of, one_line, sentences_of, units_of
from tests.metric.reference import split


def words(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """A tokenizer whose tokens are words, of eight characters at most."""
    return np.array([sum(-(-len(word) // 8) for word in text.split()) for text in texts], np.int64)


def characters(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    return np.array([len(text) for text in texts], np.int64)


def merging(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """One whose tokens do not add up: each pair of words next to each other costs a token more."""
    return np.array([max(2 * len(text.split()) - 1, 0) for text in texts], np.int64)


def chunked(document: str, most: int, measure: object) -> list[Span]:
    sentences = sentences_of(document, split)
    return chunks_of(document, units_of(document, sentences, most, measure), most, measure)  # type: ignore[arg-type]


DOCUMENTS = st.lists(
    st.sampled_from(["word", "two words", "end.", "A b c.", ".", "\n\n", " \n ", "\t", "ünï 😀", "x" * 90, "é\u0301"]),
    max_size=60,
).map(" ".join) | st.text(max_size=200)


@given(DOCUMENTS, st.integers(2, 40), st.sampled_from([words, characters, merging]))
def test_chunks_cover_the_document_and_none_is_longer_than_asked(document: str, most: int, measure: object) -> None:
    found = chunked(document, most, measure)
    texts = [one_line(document[start:end]) for start, end in found]
    assert all(measure([text])[0] <= most or len(text) == 1 for text in texts)  # type: ignore[operator]
    assert all(text and text == text.strip() for text in texts)
    covered = np.zeros(len(document), bool)
    for start, end in found:
        covered[start:end] = True
    assert all(covered[i] or char.isspace() for i, char in enumerate(document))
    assert found == sorted(found)
    ends = [end for _, end in found]
    assert len(set(ends)) == len(ends), "each chunk adds something"


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(9, 30))
def test_sentences_that_fit_stay_whole_and_one_is_shared(lengths: list[int], most: int) -> None:
    document = " ".join(" ".join(["w"] * (length - 1) + [f"e{i}."]) for i, length in enumerate(lengths))
    sentences = sentences_of(document, split)
    assert len(sentences) == len(lengths)
    found = chunked(document, most, words)
    starts, ends = [start for start, _ in sentences], [end for _, end in sentences]
    places = [(starts.index(start), ends.index(end) + 1) for start, end in found]
    assert places[0][0] == 0 and places[-1][1] == len(lengths)
    for (first, end), (then, _) in pairwise(places):
        assert sum(lengths[first : end + 1]) > most, "as many as fit"
        shares = lengths[end - 1] + lengths[end] <= most
        assert then == (end - 1 if shares else end)


def test_a_paragraph_ends_a_sentence_and_white_space_is_one_blank() -> None:
    document = "  First\tline\nwrapped\n\n\n \nSecond. Third  "
    assert [document[a:b] for a, b in sentences_of(document, split)] == ["First\tline\nwrapped", "Second.", "Third"]
    (only,) = chunked(document, 400, words)
    assert one_line(document[slice(*only)]) == "First line wrapped Second. Third"


@pytest.mark.parametrize("unit", ["x", "word ", "\n", "a. ", "é", "\n\nab"])
def test_many_characters_of_anything_are_divided(unit: str) -> None:
    document = unit * (100_000 // len(unit))
    found = chunked(document, 400, words)
    tokens = int(words([document])[0])
    assert len(found) <= 1 + tokens // 100
