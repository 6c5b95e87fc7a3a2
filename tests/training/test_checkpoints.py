"""Checkpoints after a run: their mean, the one number set at the end, and the evaluation of a bundle on NLI sets."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from scorer.inference.bundle import Bundle
from scorer.inference.engine import Engine
from training.general import average
from training.general.calibrate import best_bias, calibration_error, margin, probability
from training.general.evaluate import nli
from training.network import NLI_LABELS, Network, Size, load_checkpoint, save_checkpoint

SIZE = Size(vocabulary=7, hidden=32, layers=3, inner=8, heads=1, positions=5)


def test_a_checkpoint_named_twice_counts_twice_and_all_have_one_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = folders = [tmp_path / "1", tmp_path / "2"]
    for value, folder in enumerate(folders, 1):
        state = {name: torch.full_like(tensor, value) for name, tensor in Network(SIZE).state_dict().items()}
        save_checkpoint(state, SIZE, folder)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            (folder / name).write_text("{}")
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["average", *map(str, (one, two, two, one, two, two)), "--out", str(out)])
    average.main()
    mean = torch.tensor(10 / 6).half().float()
    assert all(bool((tensor == mean).all()) for tensor in load_checkpoint(out).state_dict().values())
    (two / "tokenizer.json").write_text('{"other": 1}')
    with pytest.raises(SystemExit, match=r"tokenizer\.json: another one"):
        average.main()


def test_a_margin_is_the_log_odds_of_entailment() -> None:
    logits = np.array([[0.3, -1.0, 2.0], [4.0, 1.0, 0.0]])
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert probability(margin(logits)) == pytest.approx(p[:, 2])


@pytest.mark.parametrize("prior", [0.5, 0.8])
def test_the_bias_is_where_the_log_loss_is_least(prior: float) -> None:
    rng = np.random.default_rng(0)
    true = rng.random(2000) < 0.5
    margins = np.where(true, 1.0, -1.0) + rng.normal(size=2000) - 1.5
    weight = np.where(true, prior / true.mean(), (1 - prior) / (1 - true.mean()))

    def loss(bias: float) -> float:
        p = probability(margins + bias)
        return float(-(weight * np.log(np.where(true, p, 1 - p))).mean())

    tried = np.arange(-3, 6, 0.01)
    best = tried[np.argmin([loss(bias) for bias in tried])]
    assert best_bias(margins, true, prior) == pytest.approx(best, abs=0.011)


def test_calibration_error_by_hand() -> None:
    p = np.array([0.05, 0.05, 0.95, 0.95])
    true = np.array([False, True, True, True])
    assert calibration_error(p, true) == pytest.approx(0.5 * 0.45 + 0.5 * 0.05)
    assert calibration_error(np.array([1.0]), np.array([True])) == 0


@pytest.mark.slow
def test_each_pair_is_judged_by_its_own_answer_whatever_is_asked_along_with_it(tmp_path: Path) -> None:
    pairs = [
        ("Blue Spice is a pub by the riverside.", "Blue Spice is a pub."),
        ("The Mill serves French food.", "The Mill serves Italian food."),
        ("Blue Spice is a pub by the riverside.", "Blue Spice is a pub."),
        ("Zizzi is a cheap coffee shop.", "Zizzi is a coffee shop."),
        ("The Mill serves French food.", "The Mill is popular."),
    ]
    with Engine.open(Bundle.load("embedded"), device="cpu", precision="fp32") as engine:
        found = [NLI_LABELS[int(np.argmax(engine.logits([p], [h])[0]))] for p, h in pairs]
    assert set(found) == set(NLI_LABELS)
    three = ["contradiction", *found[1:]]  # one is wrong, and all three labels are there
    two = ["not_entailment", *("entailment" if label == "entailment" else "not_entailment" for label in found[1:])]
    rows = [
        {"premise": premise, "hypothesis": hypothesis, "label": label, "set": name}
        for name, gold in (("three", three), ("two", two))
        for (premise, hypothesis), label in zip(pairs, gold, strict=True)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "nli.parquet")
    report = nli("embedded", "fp32", tmp_path / "nli.parquet")
    assert {name: (one["pairs"], one["accuracy"]) for name, one in report.items()} == {
        "three": (5, 0.8),
        "two": (5, 0.8),
    }
