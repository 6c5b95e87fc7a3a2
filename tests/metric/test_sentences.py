"""Which checks the sentences of a text become, with words for tokens; and what their answers mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from scorer.metric import Options
from scorer.metric.checks import SENTENCE, Checks, build_checks
from scorer.metric.columns import OUTPUT, to_columns, to_details, to_sentences
from scorer.metric.facts import Rows
from scorer.metric.sentences import SentenceSide, add_sentences
from scorer.metric.templates import Templates
from scorer.metric.verdict import decide
from scorer.scoring.tables import from_pairs
from scorer.status import NOT_TOKENISED, SCORED, TOO_LONG
from tests.metric.reference import asked, count, split

TEMPLATES = Templates.from_dict({"PTS": "<subject> scored <object> points.", "REB": "<subject> got <object> rebounds."})
ANN, BOB = ("Ann Ash", "PTS", "9"), ("Bob Birch", "REB", "4")  # five words each
TEXT = "Ann Ash scored 9 points. Bob Birch got 5 rebounds."  # two sentences of five words


def ask(rows: Rows, limit: int) -> Checks:
    options = Options(sides="hallucination")
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
    assert divided == [TEXT] and checks.refused == {0: "too_long:omission"}
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
