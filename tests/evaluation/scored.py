"""Scored tables made by hand, and finished outputs whose metric errs as told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.metric.columns import SENTENCES
from scorer.metric.verdict import FINE
from scorer.storage.receipts import SIGNATURE_KEY
from tests import scored_outputs

SIGNATURE = "model:hand@0|prec:fp32|optional:none|metric:1"


def scored(predicted: Sequence[str | None], **columns: Any) -> pa.Table:
    """A table with the output columns that an evaluation reads; ``None`` predicts nothing.

    Each row is an input of its own unless ``triples`` says otherwise. Other columns as given.
    """
    n = len(predicted)
    codes = [None if label is None else FINE.index(label) for label in predicted]
    made: dict[str, Any] = {
        "fine": pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), list(FINE)),
        "confidence": pa.array([None if label is None else float(label == "OK") for label in predicted]),
        "error": pa.array([None if label else "null_text" for label in predicted], pa.string()),
        "triples": [[f"s{row} | p | o"] for row in range(n)],
    }
    return pa.table(made | columns)


def scored_texts(texts: dict[str, tuple[str, list[tuple[int, int, float | None]]]], **columns: Any) -> pa.Table:
    """The output of a run with ``--sentences``: by id each text, and its sentences with P(entailment)."""
    said, sentences = zip(*texts.values(), strict=True)
    made = {"text_id": list(texts), "text": said, "sentences": pa.array(sentences, SENTENCES.type)}
    return pa.table({**made, **columns})


def save(table: pa.Table, path: Path, signature: str | None = SIGNATURE) -> Path:
    """Write a table as a run would, its signature in the footer."""
    metadata = {SIGNATURE_KEY: signature} if signature else None
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


def output(out: Path, rows: int = 400, wrong: float = 0.1, seed: int = 1, **settings: Any) -> Path:
    """Two shards of rows with one fact; a quarter is not OK (an omission), and the metric is wrong at random.

    Columns: ``system`` (a, b), ``truth`` (FINE), ``rating`` (3 where OK, else 1).
    """
    rng = np.random.default_rng(seed)
    bad = rng.random(rows) < 0.25
    said = np.where(bad ^ (rng.random(rows) < wrong), rng.uniform(0.01, 0.4, rows), rng.uniform(0.6, 0.99, rows))
    table = pa.table(
        {
            "text": [f"text {row}" for row in range(rows)],
            "triples": [[f"s{row} | food | o{row}"] for row in range(rows)],
            "system": ["a" if row % 4 else "b" for row in range(rows)],
            "truth": ["omission" if one else "OK" for one in bad],
            "rating": np.where(bad, 1.0, 3.0),
        }
    )
    whole = scored_outputs.scored(table, said, np.full(rows, 0.9))
    half = rows // 2
    shards = {"x/part-0.parquet": whole.slice(0, half), "x/part-1.parquet": whole.slice(half)}
    return scored_outputs.finish(out, shards, **settings)
