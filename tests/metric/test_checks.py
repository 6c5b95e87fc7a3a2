from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import TemplateError
from scorer.metric import Options
from scorer.metric.checks import build_checks
from scorer.metric.facts import INVALID_SELECTION, from_arrow
from scorer.metric.formats import from_lists
from scorer.metric.objects import from_pairs, from_python
from scorer.metric.templates import Templates, parse_optional
from tests.metric.reference import asked

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
    assert rows.errors == {2: "no_triples", 3: INVALID_SELECTION}
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
