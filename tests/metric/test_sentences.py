"""Sentences of texts and documents, the checks that they become with words for tokens, and what their answers mean."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.metric import Options, Sides
from scorer.metric.checks import SENTENCE, Checks, build_checks
from scorer.metric.columns import OUTPUT, row_keys, to_columns, to_details, to_sentences
from scorer.metric.fact_templates import Templates
from scorer.metric.facts import Rows, from_arrow, take
from scorer.metric.formats import from_documents
from scorer.metric.sentences import LEAST_TOKENS, SentenceSide, add_sentences, cut, split_document, split_text
from scorer.metric.verdict import decide
from scorer.scoring.tables import from_fact_pairs, from_pairs
from scorer.status import NOT_TOKENISED, SCORED, TOO_LONG, RowError
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
        assert found.errors == dict.fromkeys(errors, RowError("no_triples")) and found.triples.sentences
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


TEMPLATES = Templates.from_dict({"PTS": "<subject> scored <object> points.", "REB": "<subject> got <object> rebounds."})
ANN, BOB = ("Ann Ash", "PTS", "9"), ("Bob Birch", "REB", "4")  # five words each
TEXT = "Ann Ash scored 9 points. Bob Birch got 5 rebounds."  # two sentences of five words


def ask(rows: Rows, limit: int, sides: Sides = "hallucination") -> Checks:
    options = Options(sides=sides)
    return add_sentences(build_checks(rows, TEMPLATES, options), rows, SentenceSide(split, limit, count, count))


ALL = "Ann Ash scored 9 points. Bob Birch got 4 rebounds."
FIRST, SECOND = TEXT[:24], TEXT[25:]


@pytest.mark.parametrize(
    ("limit", "expected", "decides", "selected"),
    [
        (20, [("hallucination", ALL, TEXT), ("sentence", ALL, FIRST), ("sentence", ALL, SECOND)], False, False),
        (19, [("sentence", ALL, FIRST), ("sentence", ALL, SECOND)], True, False),
        (14, [("sentence", ALL[:24], FIRST), ("sentence", ALL[25:], SECOND)], True, True),
    ],
    ids=["everything fits", "the text does not fit", "the facts do not fit"],
)
def test_sentences_are_asked_with_what_fits(limit: int, expected: list[Any], decides: bool, selected: bool) -> None:
    checks = ask(from_pairs([([ANN, BOB], TEXT)]), limit)
    assert asked(checks) == [(0, *one) for one in expected]
    found = checks.sentences
    assert found is not None
    assert (found.starts.tolist(), found.ends.tolist()) == ([0, 25], [24, 50])
    assert (found.decides.tolist(), found.selected.tolist()) == ([decides], [selected])


def test_the_chosen_facts_stand_in_the_order_of_the_row_and_fill_the_room() -> None:
    ann = [("Ann Ash", "PTS", "9"), ("Ann Ash", "REB", "3"), ("Ann Ash", "PTS", "10")]
    rows = from_pairs([([BOB, *ann], "Ann Ash got 3 rebounds.")])
    for limit, expected in ((10, [2]), (14, [2]), (15, [1, 2]), (20, [1, 2, 3])):
        words = ["Bob Birch got 4 rebounds.", "Ann Ash scored 9 points.", "Ann Ash got 3 rebounds.",
                 "Ann Ash scored 10 points."]  # fmt: skip
        assert asked(ask(rows, limit)) == [(0, "sentence", " ".join(words[i] for i in expected), words[2])]


@pytest.mark.parametrize(
    ("text", "premises"),
    [
        ("What a night for all.", ["Ann Ash scored 9 points."]),  # nothing shared: the first facts
        ("Bob Birch got 4 rebounds. He also scored 7 points.", ["Bob Birch got 4 rebounds."] * 2),
        ("Bob " * 30, ["Bob Birch got 4 rebounds."]),  # longer than the model, and asked once
    ],
)
def test_a_sentence_has_the_facts_it_speaks_of(text: str, premises: list[str]) -> None:
    assert [premise for _, _, premise, _ in asked(ask(from_pairs([([ANN, BOB], text)]), 11))] == premises


def test_a_text_too_long_to_tokenise_is_not_divided_where_its_facts_are_an_error() -> None:
    huge, divided = "Ann. " * 1_000, []

    def tokens(texts: Sequence[str]) -> npt.NDArray[np.int64]:
        return np.array([NOT_TOKENISED if text == huge else len(text.split()) for text in texts], np.int64)

    def dividing(text: str) -> list[tuple[int, int]]:
        divided.append(text)
        return split(text)

    def found(options: Options, truncates: bool = False) -> Checks:
        rows = from_pairs([([ANN], huge), ([ANN], TEXT)])
        side = SentenceSide(dividing, 40, tokens, tokens, truncates)
        divided.clear()
        return add_sentences(build_checks(rows, TEMPLATES, options), rows, side)

    checks = found(Options())
    assert divided == [TEXT] and checks.refused == {0: RowError("too_long", ("omission",))}
    assert [int(row) for row, kind in zip(checks.row, checks.kind, strict=True) if kind == SENTENCE] == [1, 1]
    for options, truncates in ((Options(sides="hallucination"), False), (Options(), True)):
        assert found(options, truncates).refused == {} and set(divided) == {huge, TEXT}
    optional = Options(optional=frozenset({(ANN[1], ANN[2])}))
    assert found(optional).refused == {}, "no fact is asked for"


def test_selected_facts_alone_are_shown() -> None:
    rows = from_pairs([([ANN, BOB, ("Ann Ash", "REB", "1")], TEXT)] * 2)
    rows.used = np.array([True, False, True, True, True, False])
    shown = {(row, premise) for row, _, premise, _ in asked(ask(rows, 11))}
    assert not any("Bob" in premise for row, premise in shown if row == 0)
    assert not any("1 rebounds" in premise for row, premise in shown if row == 1)


# --- what the answers mean

PASS, FAIL = (0.1, 0.1, 0.8), (0.2, 0.7, 0.1)


@pytest.mark.parametrize(
    ("limit", "answer", "status", "label", "note", "error", "entailments"),
    [
        (20, FAIL, SCORED, "OK", None, None, [0.8, 0.1]),  # the whole text was asked, and passed
        (19, FAIL, SCORED, "hallucination", "by_sentences", None, [0.8, 0.1]),
        (14, FAIL, SCORED, "hallucination", "by_sentences+facts_selected", None, [0.8, 0.1]),
        (14, PASS, SCORED, "OK", "by_sentences+facts_selected", None, [0.8, 0.8]),
        (19, FAIL, TOO_LONG, None, "by_sentences", "too_long:hallucination", [0.8, None]),
    ],
)
def test_sentences_decide_where_the_whole_text_does_not_fit(
    limit: int,
    answer: tuple[float, float, float],
    status: int,
    label: str | None,
    note: str | None,
    error: str | None,
    entailments: list[float],
) -> None:
    rows = from_pairs([([ANN, BOB], TEXT)])
    checks = ask(rows, limit)
    second = np.array([checks.texts[h] == SECOND for h in checks.hypothesis])
    probabilities = np.where(second[:, None], answer, PASS).astype(np.float32)
    codes = np.where(second, status, SCORED).astype(np.int8)
    verdicts = decide(rows, checks, probabilities, codes, omission_side=False)
    table = pa.table(to_columns(rows, verdicts), schema=OUTPUT)
    table = table.append_column("sentences", to_sentences(rows, checks, verdicts))
    table = table.append_column("details", to_details(rows, checks, probabilities, codes))
    table.validate(full=True)
    (row,) = table.to_pylist()
    assert (row["fine"], row["note"], row["error"]) == (label, note, error)
    assert [(s["start"], s["end"]) for s in row["sentences"]] == [(0, 24), (25, 50)]
    assert [s["entailment"] for s in row["sentences"]] == [p and pytest.approx(p) for p in entailments]
    whole = ["hallucination"] if limit == 20 else []
    assert [check["check"] for check in row["details"]] == [*whole, "sentence", "sentence"]
    assert (row["text_entailment"] is None) == (limit < 20), "asked of the whole text alone"
    if label is not None:
        assert row["confidence"] == pytest.approx(0.8 if limit == 20 else min(entailments))
