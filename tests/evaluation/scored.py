"""Scored tables made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.metric.columns import SENTENCES
from scorer.metric.verdict import FINE
from scorer.storage.receipts import SIGNATURE_KEY

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
