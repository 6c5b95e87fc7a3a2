"""Sentences and their offsets: into the very text, in order, nothing lost but blanks; documents as facts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.metric import Options
from scorer.metric.checks import build_checks
from scorer.metric.columns import row_keys
from scorer.metric.facts import Rows, from_arrow, take
from scorer.metric.formats import from_documents
from scorer.metric.sentences import LEAST_TOKENS, SentenceSide, add_sentences, cut, split_document, split_text
from scorer.metric.templates import Templates
from scorer.scoring.tables import from_fact_pairs
from tests.metric.reference import asked, count, split, triples_of


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


def rows(documents: pa.Array, texts: list[str | None] | None = None) -> Rows:
    return from_arrow(from_documents(documents), pa.array(texts or ["A."] * len(documents), pa.string()))


def premises(document: str, text: str, limit: int) -> list[str]:
    """The premise of each sentence of a text; tokens are words."""
    given = rows(pa.array([document]), [text])
    checks = build_checks(given, Templates(), Options(sides="hallucination"))
    checks = add_sentences(checks, given, SentenceSide(split, limit, count, count))
    return [premise for _, kind, premise, _ in asked(checks) if kind == "sentence"]


def test_sentences_of_strings_and_of_passages_are_the_facts() -> None:
    strings = pa.array(["One is. Two\n are.\n\nThree", '["One is. Two are.", null, "Three"]', " ", "[null]", None])
    lists = pa.array([["One is. Two are.", " ", "Three"], None, [None], [], ["[A.]"]], pa.list_(pa.string()))
    sentences = ["One is.", "Two are.", "Three"]
    for column, errors in ((strings, {2, 3, 4}), (lists, {1, 2, 3})):
        found = rows(column)
        assert found.errors == dict.fromkeys(errors, "no_triples") and found.triples.sentences
        assert [fact.sentence for fact in triples_of(found.triples)[0]] == sentences
    keys = row_keys(rows(strings)).to_pylist()
    assert keys[0] == keys[1] == row_keys(from_fact_pairs([(sentences, "A.")]))[0].as_py()
    assert len(set(keys)) == 3
    assert row_keys(take(rows(strings), np.array([4, 0]))).to_pylist() == [keys[4], keys[0]]


def test_bytes_that_are_not_utf8_cost_their_row_alone() -> None:
    passages = pa.array([b"D.", b"\xff", b"D.", b"\xff"]).view(pa.string())
    column = pa.ListArray.from_arrays([0, 2, 3, 4], passages)
    found = from_documents(column)
    assert found.errors == {0: "invalid_utf8", 2: "invalid_utf8"}
    assert found.lengths.tolist() == [0, 1, 0] and found.raw.keys() == found.errors.keys()


def long_document(sentences: int) -> str:
    """Sentences that share common words; the support of a claim stands behind more of them than fit any model."""
    common = "the committee of the city said that the report about water was late again in part"
    return " ".join(f"In part {i} {common} number{i}." for i in range(sentences))


def test_support_is_found_at_the_end_of_a_long_document() -> None:
    document = long_document(4000) + " The committee said that Okonkwo wrote the report about water."
    for claim in (
        "The committee said that Okonkwo wrote the report.",
        "The report about water was late in part number3999.",
    ):
        (premise,) = premises(document, claim, 64)
        assert ("Okonkwo" if "Okonkwo" in claim else "number3999.") in premise
        assert len(premise.split()) + len(claim.split()) <= 64


def test_a_sentence_of_a_document_that_is_longer_than_the_model_is_cut() -> None:
    words = [f"word{i}" for i in range(500)]
    document = " ".join(words) + ". A pub."
    (premise,) = premises(document, "It has word300.", 50)
    assert "word300" in premise.split() and len(premise.split()) <= 47
    assert all(word in document for word in premise.split())
    (premise,) = premises(document, "word300 " * 40, 50)  # leaves less room than a part has
    assert len(premise.split()) <= LEAST_TOKENS
