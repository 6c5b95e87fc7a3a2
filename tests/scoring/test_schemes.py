"""Bundles with two logits, with one, and of one string for a triple and a text: what a row says, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from scorer import Scorer
from scorer.errors import BundleError, UsageError
from scorer.inference.bundle import BINARY, SCORE
from scorer.scoring.pipeline import ColumnNames
from tests.bundles import edit_manifest, expected_logits, make_bundle, tokenizer

ROWS = [
    ("Blue Spice", "area", "riverside", "Blue Spice is a coffee shop in the riverside area."),
    ("The Mill", "food", "French", "The Mill serves cheap food."),
    ("The Mill", "near", "Crowne Plaza Hotel", "Alan Bean."),
]
THRESHOLD = 0.35
"""Some probabilities lie between it and a half."""


def supported(kind: str, *texts: str) -> float:
    """P(entailment) of a pair, or of one string, by hand, in float64, through the tokenizer's own encoding."""
    made = tokenizer()
    logits = expected_logits(made.encode(*texts).ids, made.get_vocab_size())
    z = logits[0] if kind == SCORE else logits[1] - logits[0]
    return float(1 / (1 + np.exp(-z)))


@pytest.mark.parametrize(("kind", "order"), [(BINARY, "hypothesis_first"), (SCORE, "premise_first")])
def test_rows_are_judged_by_the_threshold(tmp_path: Path, kind: str, order: str) -> None:
    labels = ("not_entailment", "entailment") if kind == BINARY else ("score",)
    scheme = (kind, "entailment" if kind == BINARY else None, THRESHOLD)
    bundle = make_bundle(tmp_path / "b", labels=labels, scheme=scheme, order=order, precisions=("fp32", "int8"))
    triples = [[{"subject": s, "predicate": p, "object": o}] for s, p, o, _ in ROWS]
    table = pa.table({"triples": triples, "text": [row[3] for row in ROWS]})
    for options in ({"precision": "fp32"}, {"precision": "int8", "exact": True}):
        with Scorer(bundle, device="cpu", columns=ColumnNames(details=True), **options) as scorer:  # type: ignore[arg-type]
            assert scorer.signature.endswith(f"|scheme:{kind}")
            found = scorer.score_table(table).to_pylist()
            checks = scorer.score([ROWS[0][:3]], ROWS[0][3]).checks
        assert [(c.contradiction, c.neutral) for c in checks] == [(None, None)] * 2
        for row, (subject, predicate, value, text) in zip(found, ROWS, strict=True):
            fact = f"The {predicate} of {subject} is {value}."
            pairs = [(text, fact), (fact, text)]
            pairs = pairs if order == "premise_first" else [pair[::-1] for pair in pairs]
            omission, hallucination = (supported(kind, *pair) for pair in pairs)
            assert row["fact_entailment"] == [pytest.approx(omission, abs=1e-5)]
            assert row["text_entailment"] == pytest.approx(hallucination, abs=1e-5)
            said = [name for name, p in (("omission", omission), ("hallucination", hallucination)) if p < THRESHOLD]
            assert row["fine"] == ("+".join(said) or "OK")
            assert [(c["contradiction"], c["neutral"]) for c in row["details"]] == [(None, None)] * 2


TRIPLES = [("Blue Spice", "eatType", "coffee shop"), ("Blue Spice", "area", "riverside"), ("The Mill", "near", "Café")]
FACTS = [
    "predicate: eat type, subject: blue spice, object: coffee shop",
    "predicate: area, subject: blue spice, object: riverside",
    "predicate: near, subject: the mill, object: cafe",
]


@pytest.fixture(scope="module")
def spotter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, scheme = tmp_path_factory.mktemp("spotter") / "tiny", (BINARY, "present", 0.5)
    return make_bundle(folder, labels=("absent", "present"), scheme=scheme, order="hypothesis_first", one_text=True)


def test_factspotter_asks_every_triple_in_one_string(spotter: Path) -> None:
    texts = ["Blue Spice is a coffee shop in the riverside area.", "The Mill serves cheap French food!", "Nowhere"]
    with Scorer(spotter, protocol="factspotter", device="cpu") as scorer:
        found = [scorer.score(TRIPLES, text) for text in texts]
    for verdict, text in zip(found, texts, strict=True):
        expected = [supported(BINARY, f"{fact}, sentence: {text.lower().strip('.!')}") for fact in FACTS]
        assert verdict.facts == FACTS
        assert verdict.fact_entailment == pytest.approx(expected, abs=1e-5)
        assert verdict.confidence == pytest.approx(np.mean(expected), abs=1e-5)
        assert verdict.omitted == [i for i, p in enumerate(expected) if p < 0.5]
        assert verdict.fine == ("omission" if verdict.omitted else "OK")
        assert verdict.text_entailment is None
    assert len({str(verdict.omitted) for verdict in found}) > 1


def test_a_bundle_is_asked_what_it_was_trained_for(spotter: Path, tmp_path: Path) -> None:
    for protocol in ("paper", "nlgi_eval"):
        with pytest.raises(UsageError, match="score with --protocol factspotter"):
            Scorer(spotter, protocol=protocol)
    with pytest.raises(UsageError, match="scorer export --task factspotter"):
        Scorer(make_bundle(tmp_path / "nli"), protocol="factspotter")


def test_a_bundle_whose_string_is_another_is_refused(tmp_path: Path) -> None:
    """Two strings without a separator: joining the ids is not what the tokenizer makes of a pair."""
    other = make_bundle(tmp_path / "b", labels=("no", "yes"), scheme=(BINARY, "yes", 0.5))
    edit_manifest(other, pair_layout={"prefix": [0], "separator": [], "suffix": [2], "pad_id": 1})
    with pytest.raises(BundleError, match="joined from its parts"):
        Scorer(other)
