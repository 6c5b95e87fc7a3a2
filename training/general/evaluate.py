"""Accuracy of a bundle on the public NLI tests; none of them was trained on.

    python -m training.general.evaluate --bundle B --data ../shared/data/nli

It prints JSON, by set: pairs, accuracy with its interval, and the calibration error of P(entailment). All other
figures of the card come from `scorer evaluate` and `scorer challenge`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from scorer.inference.bundle import Bundle
from scorer.inference.verification import open_engine
from scorer.stats.intervals import wilson
from training.general.finish import E, calibration_error
from training.network import NLI_LABELS


def nli(bundle: str, path: Path, step: int = 1) -> dict[str, dict[str, object]]:
    """Figures of every set of a Parquet file of premise, hypothesis, label and set; of each `step`-th row.

    Entailment against the rest where the gold has fewer than three classes: a two-way set does not say which of
    *neutral* and *contradiction* it means.
    """
    rows = pq.read_table(path).to_pylist()[::step]
    texts = sorted({row[side] for row in rows for side in ("premise", "hypothesis")})
    place = {text: i for i, text in enumerate(texts)}
    first, second = (np.array([place[row[side]] for row in rows], np.int32) for side in ("premise", "hypothesis"))
    with open_engine(Bundle.load(bundle), device="cpu", truncate=True) as engine:
        p = engine.predict(engine.encode(texts, first, second)).probabilities
    gold, answers = np.array([row["label"] for row in rows]), np.array(NLI_LABELS)[p.argmax(1)]
    report: dict[str, dict[str, object]] = {}
    for name in sorted({row["set"] for row in rows}):
        at = np.array([row["set"] == name for row in rows])
        true = gold[at] == NLI_LABELS[E]
        right = gold[at] == answers[at] if len(set(gold[at])) == 3 else true == (answers[at] == NLI_LABELS[E])
        hits, n = int(right.sum()), len(right)
        error = calibration_error(p[at, E].astype(float), true)
        report[name] = {"pairs": n, "accuracy": hits / n, "interval": wilson(hits, n), "calibration_error": error}
    return report


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.general.evaluate", description=__doc__)
    parser.add_argument("--bundle", required=True, help="bundle folder, or embedded")
    parser.add_argument("--data", type=Path, required=True, help="folder with nli_test_public.parquet")
    parser.add_argument("--step", type=int, default=1, help="use each N-th row")
    options = parser.parse_args()
    print(json.dumps(nli(options.bundle, options.data / "nli_test_public.parquet", options.step), indent=1))


if __name__ == "__main__":
    main()
