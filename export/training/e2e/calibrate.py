"""Set one number after training, from training inputs only: the bias of *entailment*.

Training has more failures than systems make, so the raw model reports too many. A constant added to the entailment
logit corrects the balance of both sides, and the rule of a check is unchanged: entailment is the most probable label.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from export.training.e2e.corpus import is_validation, read_outputs
from export.training.e2e.evaluate import figures, verdicts
from export.training.e2e.facts import TEMPLATES
from export.training.e2e.scoring import Checkpoint, score_rows
from scorer.metric.templates import Templates

SHIFTS = tuple(step / 8 for step in range(-8, 17))
_BIAS = "classifier.out_proj.bias"
_WINDOW = 3  # choose by the mean over neighbouring shifts, since a single peak may be chance


def quality(rows: list[dict[str, Any]], scored: list[dict[str, Any]], shift: float) -> float:
    """Mean of both sides' F1 and of FINE accuracy at a shift of the entailment logit."""
    found = figures([row["gold_fine"] for row in rows], verdicts(scored, shift, shift))
    return float(found["omission"]["f1"] + found["hallucination"]["f1"] + found["fine"]) / 3


def best_shift(qualities: list[float]) -> float:
    """The shift whose neighbourhood has the best mean; of equals the one nearest to 0. `qualities`: one per shift of
    SHIFTS."""
    reach = _WINDOW // 2
    smooth = [
        sum(qualities[max(0, i - reach) : i + reach + 1]) / len(qualities[max(0, i - reach) : i + reach + 1])
        for i in range(len(SHIFTS))
    ]
    return max(zip(smooth, SHIFTS, strict=True), key=lambda pair: (round(pair[0], 6), -abs(pair[1])))[1]


def calibrate(data: Path, folder: Path, seed: int, count: int = 2000) -> float:
    """Adds the best shift to the bias of the checkpoint in `folder`, from `count` primary outputs; returns it."""
    rows = [
        row
        for row in read_outputs(data)
        if row["is_primary"] and not row["gold_suspect"] and not is_validation(row["mr"])
    ]
    rows = random.Random(seed).sample(rows, min(count, len(rows)))
    scored = score_rows(Checkpoint(folder), rows, Templates.load(TEMPLATES))
    qualities = [quality(rows, scored, shift) for shift in SHIFTS]
    shift = best_shift(qualities)
    for each, value in zip(SHIFTS, qualities, strict=True):
        print(f"entailment {each:+.3f}: {value:.4f}{'  <' if each == shift else ''}")
    file = folder / "model.safetensors"
    tensors = load_file(file)
    tensors[_BIAS][2] += shift
    save_file(tensors, file, metadata={"format": "pt"})
    return shift
