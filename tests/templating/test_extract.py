"""Templates from references: what is counted, what is chosen; what a template file lacks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import InputError
from scorer.inference.engine import Predictions
from scorer.metric import ColumnNames
from scorer.metric.fact_templates import Templates
from scorer.metric.facts import Triple
from scorer.status import SCORED
from scorer.templating import ExtractOptions
from scorer.templating.coverage import review
from scorer.templating.extract import (
    Candidate,
    Key,
    find_candidates,
    make_templates,
    read_references,
    score_candidates,
    template_file,
)
from tests.run.calls import scorer


def triple(subject: str, predicate: str, value: str) -> dict[str, str]:
    return {"subject": subject, "predicate": predicate, "object": value}


ROWS: list[tuple[Any, str | None]] = [
    ([triple("A_B", "near", "C")], "A B is near C."),
    ([triple("A_B", "near", "C")], "A B is near C."),
    ([triple("D", "near", "E")], "D lies by E"),
    ([triple("D", "near", "E"), triple("D", "far", "F")], "D."),
    ([triple("D", "near", "E")], None),
    ([triple("D", "near", "E")], "  "),
    ([triple("D", "", "E")], "D E."),
    ([], "D E."),
    ([triple("Alan Bean", "mayor", "Rome")], "Bean is the mayor of Rome."),
    ([triple("Alan Bean", "lost", "Rome")], "He lost it."),
    ([triple("D", "$x", "E")], "D E."),
]


@pytest.fixture
def data(tmp_path: Path) -> str:
    triples, text = zip(*ROWS, strict=True)
    pq.write_table(pa.table({"triples": triples, "text": text}), tmp_path / "refs.parquet")
    return str(tmp_path / "refs.parquet")


def test_all_is_counted(data: str, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    report = make_templates([data], out, ExtractOptions())
    assert report.rejected == {
        "several_triples": 1, "null_text": 1, "blank_text": 1, "malformed_triples": 1, "no_triples": 1,
        "no_subject": 1, "neither": 1, "reserved_predicate": 1,
    }  # fmt: skip
    assert (report.references, report.used) == (11, 3) and report.references == 3 + sum(report.rejected.values())
    assert (report.predicates, report.missing, report.candidates) == (4, ["$x", "lost", "mayor"], 2)
    templates = Templates.load(out)
    assert templates.fill(Triple("X", "near", "Y")).text == "X is near Y."
    candidates = json.loads((tmp_path / "t.candidates.json").read_text())
    assert candidates == {
        "near": [
            {"template": "<subject> is near <object>.", "count": 2, "chosen": True},
            {"template": "<subject> lies by <object>.", "count": 1},
        ]
    }


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.string())])
def test_a_row_may_have_several_references(tmp_path: Path, kind: pa.DataType) -> None:
    texts = pa.array([["D is near E.", "D: E."], [], None, ["A is near B."]], kind)
    pairs = [["D | near | E"], ["D | near | E"], ["D | near | E"], ["A | near | B"]]
    pq.write_table(pa.table({"triples": pairs, "references": texts}), tmp_path / "refs.parquet")
    found = read_references([str(tmp_path / "refs.parquet")], ColumnNames(text="references"), Counter())
    assert list(found) == [
        (Triple("D", "near", "E"), "D is near E."),
        (Triple("D", "near", "E"), "D: E."),
        (Triple("A", "near", "B"), "A is near B."),
    ]
    assert sum(found.values()) == 3


def test_nothing_is_overwritten_and_nothing_is_written_for_nothing(data: str, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    few = tmp_path / "few.parquet"
    pq.write_table(pa.table({"triples": [["Alan Bean | mayor | Rome"]], "text": ["Bean is the mayor of Rome."]}), few)
    with pytest.raises(InputError, match="1 no_subject"):
        make_templates([str(few)], out, ExtractOptions())
    assert "F.json" in scorer("templates", "extract", data, "--out", tmp_path / "t.parquet", code=2).stderr
    assert not list(tmp_path.glob("t.*"))
    (tmp_path / "t.candidates.json").write_text("mine")
    assert "--force" in scorer("templates", "extract", data, "--out", out, code=2).stderr
    assert (tmp_path / "t.candidates.json").read_text() == "mine"
    assert "go together" in scorer("templates", "extract", data, "--out", out, "--choose", "nli", code=2).stderr
    scorer("templates", "extract", data, "--out", out, "--force")
    assert Templates.load(out).plain


def overlap(premise: str, hypothesis: str) -> float:
    """The share of the hypothesis' words that the premise has."""
    words = hypothesis.rstrip(".").split()
    return sum(word in premise.rstrip(".").split() for word in words) / len(words)


class WordModel:
    """Stands in for an engine: P(entailment) is :func:`overlap`. ``asked``: all pairs so far."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def encode(self, texts: list[str], premise: Any, hypothesis: Any) -> Any:
        assert len(set(texts)) == len(texts)
        return [(texts[p], texts[h]) for p, h in zip(premise.tolist(), hypothesis.tolist(), strict=True)]

    def predict(self, work: Any, stop: Any = None) -> Predictions:
        self.asked += work
        entailment = np.array([overlap(*pair) for pair in work], np.float32)
        probabilities = np.stack([(1 - entailment) / 2] * 2 + [entailment], axis=1)
        return Predictions(probabilities, np.full(len(work), SCORED, np.int8), np.zeros(len(work), bool))


def extraction(*references: tuple[str, str, str, str]) -> dict[Key, list[Candidate]]:
    counts = Counter((Triple(*parts), text) for *parts, text in references)
    return find_candidates(counts, Counter())


NEAR = extraction(
    ("A", "near", "B", "A is a cheap pub near B."),
    ("C", "near", "D", "C is near D."),
    ("E", "near", "F", "E is near F."),
    ("G", "near", "H", "G lies near H."),
    ("A", "kids", "yes", "A welcomes kids."),
    ("A", "kids", "no", "A is for adults."),
)


def test_the_file_by_hand() -> None:
    content = template_file({key: found[-1].template for key, found in NEAR.items()})
    assert content == {
        "$version": 1,
        "kids": {"no": "<subject> is for adults.", "yes": "<subject> welcomes kids."},
        "near": "<subject> lies near <object>.",
    }
    assert template_file({("p", None): "<subject>.", ("p", "yes"): "yes"}) == {"$version": 1, "p": "<subject>."}
    assert [one.count for one in NEAR["near", None]] == [1, 2, 1]


def test_nli_scores_by_hand() -> None:
    model = WordModel()
    assert score_candidates(NEAR, model, 16, 0) == 2 * (3 + 2 + 3 + 0 + 0)
    assert len(model.asked) == 16
    scores = {c.template: c.score for c in NEAR["near", None]}
    # Against "C is near D.", "E is near F." and "G lies near H.": all 4 words of the first two are in the filled
    # sentence of 7, 3 of 4 of the third ("lies" is not); of its 7 words the references have 4, 4 and 3.
    assert scores["<subject> is a cheap pub near <object>."] == pytest.approx(
        ((1 + 4 / 7) + (1 + 4 / 7) + (3 / 4 + 3 / 7)) / 6, abs=1e-6
    )
    # Against the pub (4 of 4, 4 of 7) and "G lies near H." (3 of 4 both ways).
    assert scores["<subject> is near <object>."] == pytest.approx(((1 + 4 / 7) + (3 / 4 + 3 / 4)) / 4, abs=1e-6)
    assert [c.score for c in NEAR["kids", "yes"]] == [None], "there is nothing to compare it with"


def test_nli_never_asks_about_a_candidate_s_own_references_and_stops_at_the_limit() -> None:
    many = extraction(*((f"S{i}", "near", f"O{i}", f"S{i} is near O{i}.") for i in range(9)),
                      ("A", "near", "B", "A, near B."), ("A", "near", "B", "A lies close to B."))  # fmt: skip
    own = {text for candidate in many["near", None] if candidate.count == 9 for _, text in candidate.sources}
    for seed in range(5):
        model = WordModel()
        score_candidates(many, model, 4, seed)
        filled_by_own = {pair for pair in model.asked if pair[0] in own and pair[1] in own}
        assert not filled_by_own
        per_candidate = {"is near": 2, ", near": 4, "lies close": 4}  # references of other triples first
        assert len(model.asked) == 2 * sum(per_candidate.values())
        assert ("A, near B.", "A lies close to B.") not in model.asked, "same triple: only where no other is left"


FILE: dict[str, Any] = {
    "near": ["<subject> is near <object>.", "not used"],
    "rating": "Rated <object>.",
    "kids": {"yes": "<subject> welcomes kids.", "no": "Adults only."},
    "area": "Nowhere.",
    "$aliases": {"customer rating": "rating"},
}
TEMPLATES = Templates.from_dict(FILE)
Row = tuple[list[str], str]


def save(path: Path, rows: Sequence[Row]) -> str:
    triples, text = zip(*rows, strict=True)
    pq.write_table(pa.table({"triples": triples, "text": text}), path)
    return str(path)


def test_coverage_by_hand(tmp_path: Path) -> None:
    rows: list[Row] = [
        (["A | near | B", "B | customer rating | high", "A | kids | maybe"], "x"),
        (["A | near | B", "A | kids | yes", "A | colour | red"], "y"),
        (["A | colour | blue", 'A | kids | "no"'], "y"),
        (["A | near"], "y"),
    ]
    report = review(TEMPLATES, "t.json", [save(tmp_path / "a.parquet", rows)], ColumnNames())
    assert (report.rows, report.errors) == (4, {"malformed_triples": 1})
    assert (report.facts, report.backoff, report.predicates, report.unused) == (8, 3, 4, ["area"])
    missing = {(one.predicate, one.object): one.facts for one in report.missing}
    assert missing == {("colour", None): 2, ("kids", "maybe"): 1}
    slots = {(one.predicate, one.object): (one.slots, one.facts) for one in report.without_slot}
    assert slots == {
        ("rating", None): (("subject",), 1),
        ("area", None): (("subject", "object"), 0),
        ("kids", "no"): (("subject",), 1),
    }
