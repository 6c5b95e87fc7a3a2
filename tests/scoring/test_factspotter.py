"""The protocol ``factspotter`` from a bundle to labels: one string for each triple and text, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from scorer import Scorer
from scorer.errors import BundleError, UsageError
from tests.bundles import edit_manifest, expected_logits, make_bundle, tokenizer

TRIPLES = [("Blue Spice", "eatType", "coffee shop"), ("Blue Spice", "area", "riverside"), ("The Mill", "near", "Café")]
TEXTS = ["Blue Spice is a coffee shop in the riverside area.", "The Mill serves cheap French food!", "Nowhere"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spotter") / "tiny"
    scheme, labels = ("binary", "present", 0.5), ("absent", "present")
    return make_bundle(folder, labels=labels, scheme=scheme, order="hypothesis_first", one_text=True)


def present(said: str) -> float:
    """P(present) of a string by hand, in float64, through the tokenizer's own encoding of one text."""
    made = tokenizer()
    logits = expected_logits(made.encode(said).ids, made.get_vocab_size())
    return float(1 / (1 + np.exp(logits[0] - logits[1])))


def test_every_triple_is_asked_in_one_string(bundle: Path) -> None:
    triples = [{"subject": s, "predicate": p, "object": o} for s, p, o in TRIPLES]
    table = pa.table({"triples": [triples] * len(TEXTS), "text": TEXTS})
    with Scorer(bundle, protocol="factspotter", device="cpu") as scorer:
        found = scorer.score_table(table).to_pylist()
        verdict = scorer.score(TRIPLES, TEXTS[0])
    facts = [
        "predicate: eat type, subject: blue spice, object: coffee shop",
        "predicate: area, subject: blue spice, object: riverside",
        "predicate: near, subject: the mill, object: cafe",
    ]
    assert verdict.facts == facts
    for row, text in zip(found, TEXTS, strict=True):
        expected = [present(f"{fact}, sentence: {text.lower().strip('.!')}") for fact in facts]
        assert row["fact_entailment"] == pytest.approx(expected, abs=1e-5)
        assert row["confidence"] == pytest.approx(np.mean(expected), abs=1e-5)
        assert row["omitted"] == [i for i, p in enumerate(expected) if p < 0.5]
        assert row["fine"] == ("omission" if row["omitted"] else "OK")
        assert row["text_entailment"] is None
    assert len({str(row["omitted"]) for row in found}) > 1


def test_a_bundle_is_asked_what_it_was_trained_for(bundle: Path, tmp_path: Path) -> None:
    for protocol in ("paper", "nlgi_eval"):
        with pytest.raises(UsageError, match="score with --protocol factspotter"):
            Scorer(bundle, protocol=protocol)
    with pytest.raises(UsageError, match="scorer export --task factspotter"):
        Scorer(make_bundle(tmp_path / "nli"), protocol="factspotter")


def test_a_bundle_whose_string_is_another_is_refused(bundle: Path, tmp_path: Path) -> None:
    """Two strings without a separator: joining the ids is not what the tokenizer makes of a pair."""
    other = make_bundle(tmp_path / "b", labels=("no", "yes"), scheme=("binary", "yes", 0.5))
    layout = {"prefix": [0], "separator": [], "suffix": [2], "pad_id": 1}
    edit_manifest(other, pair_layout=layout)
    with pytest.raises(BundleError, match="joined from its parts"):
        Scorer(other)
