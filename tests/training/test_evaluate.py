"""The evaluation of a bundle on NLI sets: every pair gets its own answer, whatever pairs are asked along with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.inference.bundle import Bundle
from scorer.inference.engine import Engine
from training.general.evaluate import nli
from training.network import NLI_LABELS

PAIRS = [
    ("Blue Spice is a pub by the riverside.", "Blue Spice is a pub."),
    ("The Mill serves French food.", "The Mill serves Italian food."),
    ("Blue Spice is a pub by the riverside.", "Blue Spice is a pub."),
    ("Zizzi is a cheap coffee shop.", "Zizzi is a coffee shop."),
    ("The Mill serves French food.", "The Mill is popular."),
]


@pytest.mark.slow
def test_each_pair_is_judged_by_its_own_answer(tmp_path: Path) -> None:
    with Engine.open(Bundle.load("embedded"), device="cpu", precision="fp32") as engine:
        found = [NLI_LABELS[int(np.argmax(engine.logits([p], [h])[0]))] for p, h in PAIRS]
    assert set(found) == set(NLI_LABELS)
    three = ["contradiction", *found[1:]]  # one is wrong, and all three labels are there
    two = ["not_entailment", *("entailment" if label == "entailment" else "not_entailment" for label in found[1:])]
    rows = [
        {"premise": premise, "hypothesis": hypothesis, "label": label, "set": name}
        for name, gold in (("three", three), ("two", two))
        for (premise, hypothesis), label in zip(PAIRS, gold, strict=True)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "nli.parquet")
    report = nli("embedded", "fp32", tmp_path / "nli.parquet")
    assert [(name, one["pairs"], one["accuracy"]) for name, one in report.items()] == [
        ("three", 5, 0.8),
        ("two", 5, 0.8),
    ]
