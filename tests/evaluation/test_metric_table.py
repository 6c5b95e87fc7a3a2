"""``scorer evaluate --metric all``: which metrics there are, how they are marked, and the rows without text apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scorer.evaluation import EvaluateOptions
from scorer.evaluation.ratings import HAS_TEXT, known_metrics
from scorer.evaluation.report import evaluate
from tests.evaluation.scored import save, scored


def test_known_metrics() -> None:
    names = ["m_confidence", "m_fact_entailment", "entities", "ter", "meteor", "human_semantics", "text"]
    expected = ["confidence", "min:fact_entailment", "mean:fact_entailment", "entities", "meteor", "neg:ter"]
    assert known_metrics(names, "m_") == expected


def test_marks_and_levels(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    n = 60
    human = rng.normal(size=n)
    empty = np.arange(n) % 10 == 0
    human[empty] = -5
    columns = {
        "confidence": np.where(empty, 0.0, 0.5 + 0.1 * human),
        "sacrebleu_ter": -human,
        "meteor": rng.normal(size=n),
        "custom": human**3,
        "human_semantics": human,
        "note": ["empty_text" if e else None for e in empty],
        "system": [f"s{i % 6}" for i in range(n)],
        "triples": [[f"s{i // 6} | p | o"] for i in range(n)],
    }
    out = save(scored(["OK"] * n, **columns), tmp_path / "out.parquet")
    report = evaluate(out, EvaluateOptions(metrics=("all", "custom"), resamples=50))
    lines = {line["metric"]: line for line in report["metrics"]}
    assert set(lines) == {"confidence", "neg:sacrebleu_ter", "meteor", "custom", HAS_TEXT}
    marks = {name: line["references"] for name, line in lines.items()}
    assert marks == {"confidence": False, "neg:sacrebleu_ter": True, "meteor": True, "custom": None, HAS_TEXT: False}
    ter = lines["neg:sacrebleu_ter"]
    levels = ("pooled", "pooled_with_empty", "within", "system")
    assert [ter[level]["n"] for level in levels] == [54, 60, 10, 6]
    assert all(ter[level]["value"] == pytest.approx(1.0) for level in levels)
    has_text = lines[HAS_TEXT]
    assert has_text["pooled"]["value"] is None  # all of these rows have a text
    assert has_text["pooled_with_empty"]["value"] == pytest.approx(np.sqrt(3 * 6 * 54 / 60**2), abs=0.05)
    assert lines["meteor"]["pooled"]["interval"] is not None
    assert "metrics" not in evaluate(out, EvaluateOptions(resamples=0))
