"""Which checks a row becomes, under each protocol, and what their answers mean; for the paper row by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.errors import ColumnError, TemplateError
from scorer.metric import Options, Protocol, factspotter
from scorer.metric.checks import build_checks
from scorer.metric.fact_templates import Templates, parse_optional
from scorer.metric.facts import INVALID_SELECTION, Triple, from_arrow
from scorer.metric.formats import from_lists
from scorer.scoring.tables import from_fact_pairs, from_pairs, from_python
from scorer.status import NOT_FINITE, OUT_OF_MEMORY, SCORED, TOO_LONG, RowError
from tests.metric.reference import asked, judge, pairs_of, verdicts

A, B = ("X", "p", "a"), ("X", "q", "b")
FACT_A, FACT_B = "The p of X is a.", "The q of X is b."


def test_optional_facts_stay_in_the_premise_and_leave_the_omission_side() -> None:
    optional = parse_optional(["p=a"])
    rows = from_pairs([([A, B], "text"), ([A], "text")])
    paper = build_checks(rows, Templates(), Options(optional=optional))
    assert asked(paper) == [
        (0, "omission", "text", FACT_B),
        (0, "hallucination", f"{FACT_A} {FACT_B}", "text"),
        (1, "hallucination", FACT_A, "text"),
    ]
    code = build_checks(rows, Templates(), Options(protocol="nlgi_eval", optional=optional))
    assert asked(code)[len(paper.row) :] == [(0, "all_facts", "text", FACT_B)]


def test_a_selection_limits_both_sides() -> None:
    triples = from_python([[A, B], [A, B], [A, B], [A, B], [A]])
    selected = [[1], None, [], [2], [0, 0]]
    rows = from_arrow(triples, pa.array(["t"] * 5), selected)
    assert rows.errors == {2: RowError("no_triples"), 3: RowError(INVALID_SELECTION)}
    assert asked(build_checks(rows, Templates(), Options())) == [
        (0, "omission", "t", FACT_B),
        (1, "omission", "t", FACT_A),
        (1, "omission", "t", FACT_B),
        (4, "omission", "t", FACT_A),
        (0, "hallucination", FACT_B, "t"),
        (1, "hallucination", f"{FACT_A} {FACT_B}", "t"),
        (4, "hallucination", FACT_A, "t"),
    ]


def test_a_missing_template_can_be_refused() -> None:
    rows = from_pairs([([A, B], "t")])
    with pytest.raises(TemplateError, match="'q'"):
        build_checks(rows, Templates.from_dict({"p": "<subject> <object>"}), Options(missing_template="error"))


@pytest.mark.parametrize(
    ("file", "templates", "protocol", "pairs", "unique"),
    [
        ("e2e_primary", "e2e", "nlgi_eval", 61_593, 58_537),
        ("e2e_primary", "e2e", "paper", 53_802, 51_038),
        ("webnlg17_humeval", "webnlg", "nlgi_eval", 6_390, 5_793),
        ("webnlg17_humeval", "webnlg", "paper", 5_060, 4_836),
    ],
)
def test_pair_counts_of_the_public_data(
    shared_data: Path, file: str, templates: str, protocol: str, pairs: int, unique: int
) -> None:
    """The counts were taken independently of this code; they are for rows that have a text."""
    table = pq.read_table(shared_data / f"{file}.parquet")
    rows = from_arrow(from_lists(table["triples"].combine_chunks()), table["text"].combine_chunks())
    filled = Templates.load(shared_data / "templates" / f"nlgi_eval_{templates}_templates.json")
    checks = build_checks(rows, filled, Options(protocol=protocol))  # type: ignore[arg-type]  # parametrised
    blank = rows.triples.lengths[checks.blank]
    # The counts asked about empty texts too; this program judges them without asking.
    not_asked = int((blank + 1 + (protocol == "nlgi_eval")).sum())
    assert len(checks.row) + not_asked == pairs
    if not not_asked:
        assert len(np.unique(checks.premise.astype(np.int64) << 32 | checks.hypothesis)) == unique


SPOTTING = Options(protocol="factspotter")
NAN = float("nan")


@pytest.mark.parametrize(
    ("triple", "predicate", "subject", "value"),
    [
        (("Tomás_Rivera", "almaMater", '"Straße",_Bonn'), "alma mater", "tomas rivera", '"strasse", bonn'),
        (("X", "is_part_of", "Łódź?"), "is part of", "x", "lodz?"),
        (("X", "ISBN_number", "东京"), "isbn number", "x", "dong jing"),
    ],
)
def test_triples_in_the_words_of_the_classifier(
    triple: tuple[str, str, str], predicate: str, subject: str, value: str
) -> None:
    said = f"predicate: {predicate}, subject: {subject}, object: {value}"
    assert factspotter.describe(factspotter.plain_parts(Triple(*triple))) == said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Is Łódź  in\nPoland?! ", "is lodz in poland"),
        ("...No. 5 is “Ümit”.", 'no. 5 is "umit"'),
    ],
)
def test_texts_in_the_words_of_the_classifier(text: str, expected: str) -> None:
    assert factspotter.plain_text(text) == expected


PUB, AREA = ("Blue_Spice", "eatType", "pub"), ("Blue Spice", "area", "riverside")


def test_blank_texts_and_rows_whose_facts_are_all_optional() -> None:
    options = Options(protocol="factspotter", optional=parse_optional(["eatType=pub"]))
    rows = from_pairs([([AREA], " "), ([PUB], "t"), ([PUB, AREA], "t")])
    blank, optional, both = verdicts(rows, [(NAN, NAN, 0.25)], options)
    assert (blank["fine"], blank["confidence"], blank["note"]) == ("omission", 0.0, "empty_text")
    assert (optional["fine"], optional["confidence"], optional["omitted"]) == ("OK", 1.0, [])
    assert (both["fine"], both["confidence"], both["omitted"]) == ("omission", 0.25, [1])


def test_facts_as_sentences_have_no_parts_to_ask_about() -> None:
    with pytest.raises(ColumnError, match="takes triples, and these facts are sentences"):
        build_checks(from_fact_pairs([(["Blue Spice is a pub."], "t")]), Templates(), SPOTTING)


PASS, FAIL, TIE = (0.1, 0.1, 0.8), (0.1, 0.8, 0.1), (0.45, 0.1, 0.45)


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


@pytest.mark.parametrize(("protocol", "answers"), [("paper", [PASS, FAIL]), ("nlgi_eval", [PASS, FAIL, PASS])])
def test_the_omission_side_alone(protocol: Protocol, answers: list[tuple[float, float, float]]) -> None:
    options = Options(sides="omission", protocol=protocol)
    (row,) = verdicts(from_pairs([([A, B], "t")]), answers, options)
    assert (row["fine"], row["omitted"], row["text_entailment"]) == ("omission", [1], None)
    assert row["confidence"] == pytest.approx(FAIL[2]) and len(row["fact_entailment"]) == 2
    optional = Options(sides="omission", optional=parse_optional(["p=a"]), protocol=protocol)
    (row,) = verdicts(from_pairs([([A], "t")]), [], optional)
    assert (row["fine"], row["omitted"], row["confidence"]) == ("OK", [], 1.0)


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
