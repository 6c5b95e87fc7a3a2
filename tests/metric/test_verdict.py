from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.metric import Options
from scorer.metric.checks import build_checks
from scorer.metric.objects import from_pairs
from scorer.metric.templates import Templates, parse_optional
from scorer.status import NOT_FINITE, OUT_OF_MEMORY, SCORED, TOO_LONG
from tests.metric.reference import judge, pairs_of, verdicts

PASS, FAIL, TIE = (0.1, 0.1, 0.8), (0.1, 0.8, 0.1), (0.45, 0.1, 0.45)
A, B = ("X", "p", "a"), ("X", "q", "b")


def test_the_worked_example_of_the_paper() -> None:
    """Figure 1: Blue Spice, a coffee shop in the city centre; the text says a pizza place and leaves the shop out."""
    triples = [("Blue Spice", "eat_type", "pub"), ("Blue Spice", "area", "riverside")]
    rows = from_pairs([(triples, "You can bring your kids to Blue Spice in the riverside area.")])
    (row,) = verdicts(rows, [(0.87, 0.09, 0.04), (0.01, 0.02, 0.97), (0.17, 0.72, 0.11)])
    assert row["fine"] == "omission+hallucination"
    assert row["rough"] == "not_OK"
    assert row["confidence"] == pytest.approx(0.04)
    assert row["omitted"] == [0]
    assert row["fact_entailment"] == pytest.approx([0.04, 0.97])
    assert row["text_entailment"] == pytest.approx(0.11)


def test_the_third_check_alone_makes_an_omission_and_counts_in_the_confidence() -> None:
    (row,) = verdicts(from_pairs([([A, B], "t")]), [PASS, PASS, PASS, (0.3, 0.65, 0.05)], Options(protocol="nlgi_eval"))
    assert row["fine"] == "omission"
    assert row["omitted"] == []
    assert row["confidence"] == row["all_facts_entailment"] == pytest.approx(0.05)


def test_without_an_omission_check_that_side_passes() -> None:
    (row,) = verdicts(from_pairs([([A], "t")]), [PASS], Options(optional=parse_optional(["p=a"])))
    assert (row["fine"], row["omitted"]) == ("OK", [])
    (row,) = verdicts(from_pairs([([A], "t")]), [FAIL], Options(sides="hallucination"))
    assert (row["fine"], row["omitted"], row["fact_entailment"]) == ("hallucination", None, None)


@pytest.mark.parametrize(
    ("status", "error", "omitted", "facts", "text"),
    [
        ([SCORED, TOO_LONG, SCORED], "too_long:omission", None, [0.8, None], 0.8),
        ([NOT_FINITE, SCORED, NOT_FINITE], "not_finite:omission+hallucination", None, [None, 0.8], None),
        ([OUT_OF_MEMORY, TOO_LONG, SCORED], "too_long:omission", None, [None, None], 0.8),
    ],
)
def test_a_check_without_an_answer_costs_the_label_and_keeps_the_other_answers(
    status: list[int], error: str, omitted: list[int] | None, facts: list[float | None], text: float | None
) -> None:
    nan = (float("nan"),) * 3
    given = [PASS if code == SCORED else nan for code in status]
    (row,) = verdicts(from_pairs([([A, B], "t")]), given, status=status)
    assert (row["fine"], row["rough"], row["confidence"], row["error"]) == (None, None, None, error)
    assert row["omitted"] == omitted
    assert row["fact_entailment"] == [pytest.approx(f) if f is not None else None for f in facts]
    assert row["text_entailment"] == (pytest.approx(text) if text is not None else None)


PART = st.sampled_from(["a", "Blue_Spice", "birthPlace", '"x"', "é", "a b"])
TRIPLES = st.lists(st.tuples(PART, PART, PART), max_size=4)
TEXTS = st.one_of(st.none(), st.sampled_from(["", " ", "t", "u", "Blue Spice is é."]))
PROBABILITY = st.sampled_from([PASS, FAIL, TIE, (0.2, 0.3, 0.5), (0.5, 0.25, 0.25)])


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(TRIPLES, TEXTS), max_size=12),
    protocol=st.sampled_from(["paper", "nlgi_eval"]),
    data=st.data(),
)
def test_the_columns_say_what_the_paper_says_row_by_row(rows: list, protocol: str, data: st.DataObject) -> None:
    answers: dict[tuple[str, str], tuple[float, float, float]] = {}
    for triples, text in rows:
        for _, premise, hypothesis in pairs_of(triples, text or "", protocol):
            if (premise, hypothesis) not in answers:
                answers[premise, hypothesis] = data.draw(PROBABILITY)
    parsed = from_pairs(rows)
    checks = build_checks(parsed, Templates(), Options(protocol=protocol))  # type: ignore[arg-type]  # drawn
    asked = zip(checks.premise.tolist(), checks.hypothesis.tolist(), strict=True)
    given_ = [answers[checks.texts[p], checks.texts[h]] for p, h in asked]
    table = verdicts(parsed, given_, Options(protocol=protocol))  # type: ignore[arg-type]  # drawn
    for (triples, text), row in zip(rows, table, strict=True):
        assert row["row_key"] is not None
        expected = judge(triples, text, answers, protocol)
        assert row["fine"] == expected.fine
        assert row["rough"] == (expected.fine if expected.fine in (None, "OK") else "not_OK")
        assert row["error"] == expected.error
        assert row["note"] == expected.note
        assert row["omitted"] == expected.omitted
        assert row["confidence"] == (pytest.approx(expected.confidence) if expected.confidence is not None else None)
