"""The evaluation of a bundle on NLI sets: every pair gets its own answer, whatever pairs are asked along with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from export.training.general.evaluate import Task, nli
from export.training.network import NLI_LABELS
from scorer.inference.bundle import Bundle
from scorer.inference.engine import Engine

PAIRS = [
    ("Blue Spice is a pub by the riverside.", "Blue Spice is a pub."),
    ("The Mill serves French food.", "The Mill serves Italian food."),
    ("Blue Spice is a pub by the riverside.", "Blue Spice is a pub."),
    ("Zizzi is a cheap coffee shop.", "Zizzi is a coffee shop."),
    ("A pub.", "Blue Spice is near Café Sicilia and serves Japanese food."),
    ("The Mill serves French food.", "The Mill serves French food."),
]


def test_each_pair_is_judged_by_its_own_answer(tmp_path: Path) -> None:
    premise, hypothesis = (list(side) for side in zip(*PAIRS, strict=True))
    with Engine(Bundle.load("embedded"), device="cpu", precision="fp32") as engine:
        alone = [
            NLI_LABELS[int(np.argmax(engine.logits([p], [h])[0]))] for p, h in zip(premise, hypothesis, strict=True)
        ]
    assert len(set(alone)) > 1
    gold = [label if i % 2 else "contradiction" for i, label in enumerate(alone)]
    table = pa.table({"premise": premise, "hypothesis": hypothesis, "label": gold, "set": ["a"] * len(gold)})
    (tmp_path / "nli").mkdir()
    pq.write_table(table, tmp_path / "nli" / "nli_test_public.parquet")
    report, wrong = nli(Task("embedded", "fp32", tmp_path, None, None))
    expected = (
        [a == b for a, b in zip(alone, gold, strict=True)]
        if len(set(gold)) == 3
        else [(a == "entailment") == (b == "entailment") for a, b in zip(alone, gold, strict=True)]
    )
    assert report["a"]["n"] == len(PAIRS)
    assert report["a"]["accuracy"] == np.mean(expected)
    assert [row["found"] for row in wrong] == [a for a, hit in zip(alone, expected, strict=True) if not hit]
