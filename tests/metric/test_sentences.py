"""Which checks the sentences of a text become, with words for tokens; and what their answers mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from scorer.metric.checks import SENTENCE, Checks, Options, build_checks
from scorer.metric.columns import OUTPUT, to_columns, to_details, to_sentences
from scorer.metric.rows import Rows, from_pairs
from scorer.metric.sentences import Room, SentenceSide, add_sentences
from scorer.metric.templates import Templates
from scorer.metric.verdict import decide
from scorer.status import NOT_FINITE, NOT_TOKENISED, SCORED, TOO_LONG
from tests.metric.reference import asked, count, split

TEMPLATES = Templates.from_dict({"PTS": "<subject> scored <object> points.", "REB": "<subject> got <object> rebounds."})
ANN, BOB = ("Ann Ash", "PTS", "9"), ("Bob Birch", "REB", "4")  # five words each
TEXT = "Ann Ash scored 9 points. Bob Birch got 5 rebounds."  # two sentences of five words


def ask(rows: Rows, limit: int, *, checks: Options | None = None) -> Checks:
    options = checks or Options(sides="hallucination")
    return add_sentences(build_checks(rows, TEMPLATES, options), rows, SentenceSide(split, Room(limit, count, count)))


ALL = "Ann Ash scored 9 points. Bob Birch got 4 rebounds."
FIRST, SECOND = TEXT[:24], TEXT[25:]


def test_where_everything_fits_each_sentence_is_asked_beside_the_whole() -> None:
    checks = ask(from_pairs([([ANN, BOB], TEXT)]), 20)
    assert asked(checks) == [
        (0, "hallucination", ALL, TEXT),
        (0, "sentence", ALL, FIRST),
        (0, "sentence", ALL, SECOND),
    ]
    assert checks.sentences is not None
    assert checks.sentences.starts.tolist() == [0, 25]
    assert checks.sentences.ends.tolist() == [24, 50]
    assert not checks.sentences.decides.any()
    assert not checks.sentences.selected.any()


def test_where_the_whole_text_does_not_fit_its_sentences_stand_for_it() -> None:
    checks = ask(from_pairs([([ANN, BOB], TEXT)]), 19)
    assert asked(checks) == [(0, "sentence", ALL, FIRST), (0, "sentence", ALL, SECOND)]
    assert checks.sentences is not None
    assert checks.sentences.decides.all()
    assert not checks.sentences.selected.any()


def test_where_the_facts_do_not_fit_a_sentence_has_those_it_speaks_of() -> None:
    checks = ask(from_pairs([([ANN, BOB], TEXT)]), 14)
    assert asked(checks) == [
        (0, "sentence", "Ann Ash scored 9 points.", FIRST),
        (0, "sentence", "Bob Birch got 4 rebounds.", SECOND),
    ]
    assert checks.sentences is not None
    assert checks.sentences.selected.all()


def test_the_chosen_facts_stand_in_the_order_of_the_row_and_fill_the_room() -> None:
    ann = [("Ann Ash", "PTS", "9"), ("Ann Ash", "REB", "3"), ("Ann Ash", "PTS", "10")]
    rows = from_pairs([([BOB, *ann], "Ann Ash got 3 rebounds.")])
    for limit, expected in ((10, [2]), (14, [2]), (15, [1, 2]), (20, [1, 2, 3])):
        words = ["Bob Birch got 4 rebounds.", "Ann Ash scored 9 points.", "Ann Ash got 3 rebounds.",
                 "Ann Ash scored 10 points."]  # fmt: skip
        assert asked(ask(rows, limit)) == [(0, "sentence", " ".join(words[i] for i in expected), words[2])]


def test_a_sentence_that_shares_nothing_has_the_first_facts() -> None:
    checks = ask(from_pairs([([ANN, BOB], "What a night for all.")]), 11)
    assert asked(checks) == [(0, "sentence", "Ann Ash scored 9 points.", "What a night for all.")]


def test_a_pronoun_speaks_of_whom_the_sentence_before_named() -> None:
    checks = ask(from_pairs([([ANN, BOB], "Bob Birch got 4 rebounds. He also scored 7 points.")]), 11)
    assert [premise for _, _, premise, _ in asked(checks)] == ["Bob Birch got 4 rebounds."] * 2


def test_a_sentence_longer_than_the_model_is_still_asked_once() -> None:
    text = "Bob " * 30
    checks = ask(from_pairs([([ANN, BOB], text)]), 12)
    assert asked(checks) == [(0, "sentence", "Bob Birch got 4 rebounds.", text)]


def test_a_text_too_long_to_tokenise_is_not_divided_where_its_facts_are_an_error() -> None:
    huge, divided = "Ann. " * 1_000, []

    def tokens(texts: Sequence[str]) -> npt.NDArray[np.int64]:
        return np.array([NOT_TOKENISED if text == huge else len(text.split()) for text in texts], np.int64)

    def dividing(text: str) -> list[tuple[int, int]]:
        divided.append(text)
        return split(text)

    def found(options: Options, truncates: bool = False) -> Checks:
        rows, side = (
            from_pairs([([ANN], huge), ([ANN], TEXT)]),
            SentenceSide(dividing, Room(40, tokens, tokens), truncates),
        )
        divided.clear()
        return add_sentences(build_checks(rows, TEMPLATES, options), rows, side)

    checks = found(Options())
    assert divided == [TEXT] and checks.refused == {0: "too_long:omission"}
    assert [int(row) for row, kind in zip(checks.row, checks.kind, strict=True) if kind == SENTENCE] == [1, 1]
    for options, truncates in ((Options(sides="hallucination"), False), (Options(), True)):
        assert found(options, truncates).refused == {} and set(divided) == {huge, TEXT}
    optional = Options(optional=frozenset({(ANN[1], ANN[2])}))
    assert found(optional).refused == {}, "no fact is asked for"


def test_a_tokenizer_whose_parts_do_not_add_up_is_asked_again() -> None:
    """Here a premise of n facts takes n² tokens more than its words."""

    def premise(texts: Sequence[str]) -> npt.NDArray[np.int64]:
        return np.array([len(text.split()) + (text.count(".") ** 2 if text.count(".") > 1 else 0) for text in texts])

    row = [("Ann Ash", "PTS", str(i)) for i in range(10)]
    rows = from_pairs([(row, "Ann Ash ran.")])
    side = SentenceSide(split, Room(40, premise, count))
    ((_, _, shown, _),) = asked(
        add_sentences(build_checks(rows, TEMPLATES, Options(sides="hallucination")), rows, side)
    )
    assert shown.count(".") == 4, "4 · 5 + 16 + 3 fits into 40, 5 · 5 + 25 + 3 does not"


def test_selected_facts_alone_are_shown() -> None:
    rows = from_pairs([([ANN, BOB, ("Ann Ash", "REB", "1")], TEXT)] * 2)
    rows.used = np.array([True, False, True, True, True, False])
    shown = {(row, premise) for row, _, premise, _ in asked(ask(rows, 11))}
    assert not any("Bob" in premise for row, premise in shown if row == 0)
    assert not any("1 rebounds" in premise for row, premise in shown if row == 1)


# --- what the answers mean

PASS, FAIL = (0.1, 0.1, 0.8), (0.2, 0.7, 0.1)


def judge(
    rows: Rows,
    limit: int,
    answers: dict[str, tuple[float, float, float]],
    status: dict[str, int] | None = None,
    truncated: Sequence[str] = (),
    options: Options | None = None,
) -> list[dict]:
    """Verdicts where hypotheses have these answers, and all others pass."""
    options = options or Options(sides="hallucination")
    checks = ask(rows, limit, checks=options)
    hypotheses = [checks.texts[h] for h in checks.hypothesis]
    probabilities = np.array([answers.get(h, PASS) for h in hypotheses], np.float32)
    codes = np.array([(status or {}).get(h, SCORED) for h in hypotheses], np.int8)
    cut = np.array([h in truncated for h in hypotheses])
    verdicts = decide(rows, checks, probabilities, codes, cut, omission_side=options.sides == "both")
    table = pa.table(to_columns(rows, verdicts), schema=OUTPUT)
    table = table.append_column("sentences", to_sentences(rows, checks, verdicts))
    table = table.append_column("details", to_details(rows, checks, probabilities, codes))
    table.validate(full=True)
    return table.to_pylist()


def test_sentences_do_not_touch_the_label_of_a_text_that_fits() -> None:
    (row,) = judge(from_pairs([([ANN, BOB], TEXT)]), 20, {SECOND: FAIL})
    assert (row["fine"], row["note"]) == ("OK", None)
    assert row["confidence"] == pytest.approx(0.8)
    assert row["sentences"] == [
        {"start": 0, "end": 24, "entailment": pytest.approx(0.8)},
        {"start": 25, "end": 50, "entailment": pytest.approx(0.1)},
    ]
    assert [check["check"] for check in row["details"]] == ["hallucination", "sentence", "sentence"]


@pytest.mark.parametrize(("limit", "note"), [(19, "by_sentences"), (14, "facts_selected")])
def test_sentences_decide_a_text_that_does_not_fit(limit: int, note: str) -> None:
    rows = from_pairs([([ANN, BOB], TEXT)])
    (row,) = judge(rows, limit, {SECOND: FAIL})
    assert (row["fine"], row["note"], row["error"]) == ("hallucination", note, None)
    assert row["confidence"] == pytest.approx(0.1)
    assert row["text_entailment"] is None, "the whole text was not asked"
    (row,) = judge(rows, limit, {})
    assert (row["fine"], row["note"]) == ("OK", note)


def test_a_sentence_without_an_answer_costs_the_label_only_where_it_decides() -> None:
    rows = from_pairs([([ANN, BOB], TEXT)])
    (row,) = judge(rows, 20, {}, status={SECOND: NOT_FINITE})
    assert (row["fine"], row["error"]) == ("OK", None)
    assert [sentence["entailment"] for sentence in row["sentences"]] == [pytest.approx(0.8), None]
    (row,) = judge(rows, 19, {}, status={SECOND: TOO_LONG})
    assert (row["fine"], row["error"]) == (None, "too_long:hallucination")


def test_a_text_in_which_no_sentence_is_found_is_one() -> None:
    rows = from_pairs([([ANN], "…")])
    checks = build_checks(rows, TEMPLATES, Options())
    found = add_sentences(checks, rows, SentenceSide(lambda text: [], Room(40, count, count)))
    assert found.sentences is not None
    assert (found.sentences.starts.tolist(), found.sentences.ends.tolist()) == ([0], [1])
