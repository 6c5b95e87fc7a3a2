"""Documents: their sentences are the facts, and the facts that bear on a sentence are found among thousands of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from scorer.metric import Options
from scorer.metric.checks import build_checks
from scorer.metric.columns import row_keys
from scorer.metric.facts import Rows, from_arrow, iterate, take
from scorer.metric.formats import from_documents
from scorer.metric.objects import from_fact_pairs
from scorer.metric.sentences import LEAST_TOKENS, SentenceSide, add_sentences
from scorer.metric.templates import Templates
from tests.metric.reference import asked, count, split


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
        found = from_documents(column)
        assert found.errors == dict.fromkeys(errors, "no_triples") and found.sentences
        assert [fact.sentence for fact in next(iterate(found))] == sentences
    keys = row_keys(rows(strings)).to_pylist()
    assert keys[0] == keys[1] == row_keys(from_fact_pairs([(sentences, "A.")]))[0].as_py()
    assert len(set(keys)) == 4
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
