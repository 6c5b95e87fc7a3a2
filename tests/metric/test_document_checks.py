"""What is asked of a text and its document, and what the answers mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scorer.metric.checks import Checks
from scorer.metric.columns import OUTPUT, to_columns, to_details, to_mean_entailment, to_sentences
from scorer.metric.document_checks import MOST_PAIRS, document_checks
from scorer.metric.documents import from_documents
from scorer.metric.keys import row_keys
from scorer.metric.rows import Rows, from_arrow, from_document_pairs, from_fact_pairs
from scorer.metric.sentences import Room, SentenceSide
from scorer.metric.subset import take
from scorer.metric.verdict import decide
from scorer.status import NOT_FINITE, SCORED
from tests.metric.reference import count, split

LIMIT = 60


def ask(rows: Rows, limit: int = LIMIT, truncates: bool = False) -> Checks:
    return document_checks(rows, SentenceSide(split, Room(limit, count, count), truncates))


def answers(checks: Checks) -> npt.NDArray[np.float32]:
    """Probabilities that depend on the pair alone."""
    found = np.zeros((len(checks), 3), np.float32)
    for c, (premise, hypothesis) in enumerate(zip(checks.premise, checks.hypothesis, strict=True)):
        rng = np.random.default_rng([len(checks.texts[premise]), len(checks.texts[hypothesis])])
        found[c] = rng.dirichlet([1, 1, 3])
    return found


def judged(rows: Rows, checks: Checks, status: npt.NDArray[np.int8] | None = None) -> list[dict[str, Any]]:
    known = status if status is not None else np.full(len(checks), SCORED, np.int8)
    verdicts = decide(rows, checks, answers(checks), known, omission_side=False)
    columns = dict(zip(OUTPUT.names, to_columns(rows, verdicts), strict=True))
    columns |= {"sentences": to_sentences(rows, checks, verdicts), "mean_entailment": to_mean_entailment(verdicts)}
    columns |= {"details": to_details(rows, checks, answers(checks), known)}
    return pa.table(columns).to_pylist()


DOCUMENT = " ".join(f"Sentence {i} of the document has {i} things." for i in range(30))


def test_a_sentence_passes_with_any_chunk() -> None:
    """The best one may fail where two other classes share the rest; no label hangs on which of two is a bit better."""
    rows = from_document_pairs([("Word word word. " * 40, "One.")])
    checks = ask(rows)
    probabilities = np.full((len(checks), 3), [0.9, 0.05, 0.05], np.float32)
    probabilities[0], probabilities[1] = [0.0, 0.55, 0.45], [0.3, 0.3, 0.4]
    verdicts = decide(rows, checks, probabilities, np.full(len(checks), SCORED, np.int8), omission_side=False)
    assert verdicts.fine.tolist() == [0] and verdicts.confidence.tolist() == [np.float32(0.45)]
    probabilities[1] = [0.5, 0.1, 0.4]
    verdicts = decide(rows, checks, probabilities, np.full(len(checks), SCORED, np.int8), omission_side=False)
    assert verdicts.fine.tolist() == [2]


def test_rows_without_a_document_or_a_text() -> None:
    documents: list[Any] = [None, " ", [], [None], ["D.", "\ud800"], "D.", "D."]
    rows = from_document_pairs(list(zip(documents, [*["A."] * 5, None, " "], strict=True)))
    found = judged(rows, ask(rows))
    assert [row["error"] for row in found] == ["no_document"] * 4 + ["invalid_utf8", "null_text", None]
    assert [row["sentences"] for row in found] == [None] * 6 + [[]]
    blank = found[-1]
    assert (blank["fine"], blank["confidence"], blank["mean_entailment"]) == ("hallucination", 0.0, 0.0)
    assert (blank["note"], blank["omitted"]) == ("empty_text", None)


def test_a_string_of_a_json_list_is_a_list_of_passages() -> None:
    """JSON Lines with lists and strings in one column become strings, and CSV has no lists."""
    strings = ['["A.", null, "B."]', " [] ", "[null]", '["A.", {}]', "[A.]", "[" * 5000 + "]", "A.", None]
    lists = [["A.", None, "B."], [], [None], ['["A.", {}]'], ["[A.]"], ["[" * 5000 + "]"], ["A."], None]
    found, expected = from_documents(pa.array(strings)), from_documents(pa.array(lists))
    text = pa.array(["A."] * len(lists))
    assert row_keys(from_arrow(found, text)).equals(row_keys(from_arrow(expected, text)))
    assert found.errors == expected.errors == dict.fromkeys((1, 2, 7), "no_document")


def test_keys_are_those_of_documents_alone() -> None:
    rows = from_document_pairs([("A.", "T"), (["A."], "T"), (["A.", "B."], "T"), ("A.", "U"), (None, "T")])
    keys = row_keys(rows).to_pylist()
    assert keys[0] == keys[1] and len(set(keys)) == 4
    assert row_keys(from_fact_pairs([(["A."], "T")]))[0].as_py() not in keys
    assert row_keys(take(rows, np.array([2, 4]))).to_pylist() == [keys[2], keys[4]]


def test_a_sentence_that_is_too_long_is_an_error_unless_it_is_cut() -> None:
    rows = from_document_pairs([(DOCUMENT, "Short. " + "word " * 40), (DOCUMENT, "Short.")])
    checks = ask(rows)
    assert [row["error"] for row in judged(rows, checks)] == ["too_long:hallucination", None]
    assert set(checks.row.tolist()) == {1}, "a row that gets no label costs no pair"
    assert judged(rows, checks)[0]["sentences"] is None
    assert set(ask(rows, truncates=True).row.tolist()) == {0, 1}


def test_the_pairs_of_a_row_are_bounded() -> None:
    document = "One two three four five six. " * 4000
    few, many = "Said. " * 3, "Said. " * 200
    rows = from_document_pairs([(document, few), (document, many)])
    checks = ask(rows)
    assert 0 < len(checks) <= MOST_PAIRS
    assert [row["error"] for row in judged(rows, checks)] == [None, "too_long:document"]


def test_a_pair_without_an_answer_is_an_error_of_its_row() -> None:
    rows = from_document_pairs([(DOCUMENT, "One. Two."), (DOCUMENT, "One.")])
    checks = ask(rows)
    status = np.full(len(checks), SCORED, np.int8)
    status[1] = NOT_FINITE
    first, second = judged(rows, checks, status)
    assert first["error"] == "not_finite:hallucination" and first["fine"] is None and first["mean_entailment"] is None
    assert second["error"] is None
