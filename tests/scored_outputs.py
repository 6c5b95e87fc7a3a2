"""Output folders of ``scorer run`` without a run: made-up labels, real writer, real receipts, real row keys.

What reads outputs can so be tested and measured at sizes that no model need score. ``finish`` turns tables that have
the output columns already into such a folder; ``scored`` adds made-up output columns to rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import convert

from scorer.metric.columns import OUTPUT
from scorer.metric.inputs import ColumnNames, find_columns
from scorer.metric.keys import row_keys
from scorer.metric.rows import Rows
from scorer.metric.verdict import FINE, ROUGH
from scorer.scoring.signature import Signature
from scorer.storage import InputRecord, Receipts, RunOutput, ShardWriter
from scorer.storage.counts import FactCounts, PredicateCounts, RowCounts
from tests.plans import made_plan, made_summary
from tests.storage.receipts import fingerprint, finish_output, receipt

SIGNATURE = (
    "model:made-up@0123456789ab|prec:fp32|ep:cpu|exact:no|templates:none|protocol:paper|optional:none|checks:both|"
    "maxlen:512|overlong:error|metric:1"
)
WINDOW = 16384


def scored(
    table: pa.Table,
    fact_entailment: Any,
    text_entailment: Any,
    *,
    names: ColumnNames | None = None,
    errors: Mapping[int, str] | None = None,
) -> pa.Table:
    """Add the output columns to rows, from given entailment probabilities; a check passes from 0.5 on.

    Args:
        table: rows with text and triples.
        fact_entailment: float32, *Shape:* (facts,), of all rows' facts one after the other.
        text_entailment: float32, *Shape:* (rows,).
        errors: by row, in addition to those of the rows themselves.
    """
    names = names or ColumnNames()
    rows = find_columns(table.schema, names).rows(table)
    made = _columns(rows, fact_entailment, text_entailment, {**rows.errors, **(errors or {})})
    for field in OUTPUT:
        table = table.append_column(field.with_name(names.prefix + field.name), made[field.name])
    return table


def _columns(rows: Rows, fact_entailment: Any, text_entailment: Any, errors: Mapping[int, str]) -> dict[str, pa.Array]:
    """Labels from probabilities; blank texts and errors as the metric has them. By name, as in ``OUTPUT``."""
    n, offsets = len(rows), rows.triples.offsets
    facts, texts = np.array(fact_entailment, np.float32), np.array(text_entailment, np.float32)
    owner = np.repeat(np.arange(n), rows.triples.lengths)
    broken = np.zeros(n, bool)
    broken[list(errors)] = True
    blank = np.array([text is not None and not text.strip() for text in rows.texts] + [False], bool)[rows.text_codes]
    blank &= ~broken
    unscored = broken | blank
    omitted = (facts < 0.5) | blank[owner]
    omission = np.zeros(n, bool)
    omission[owner[omitted]] = True
    fine = omission + 2 * ((texts < 0.5) & ~blank)
    confidence = texts.copy()
    np.minimum.at(confidence, owner, facts)
    confidence[blank] = 0.0
    kept = omitted & ~broken[owner]
    places = np.concatenate([[0], np.cumsum(np.bincount(owner[kept], minlength=n))])
    positions = np.arange(len(owner)) - offsets[:-1][owner]
    checked = ~unscored[owner]
    lengths = np.concatenate([[0], np.cumsum(np.bincount(owner[checked], minlength=n))])
    notes = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int8), mask=~blank), ["empty_text"])
    said: list[str | None] = [None] * n
    for row, kind in errors.items():
        said[row] = kind

    def lists(ends: Any, values: pa.Array, valid: Any) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), values, mask=pa.array(~valid))

    def labels(codes: Any, words: tuple[str, ...]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8), mask=broken), list(words))

    return {
        "fine": labels(fine, FINE),
        "rough": labels(np.minimum(fine, 1), ROUGH),
        "confidence": pa.array(confidence, mask=broken),
        "omitted": lists(places, pa.array(positions[kept].astype(np.int32)), ~broken),
        "fact_entailment": lists(lengths, pa.array(facts[checked]), ~unscored),
        "text_entailment": pa.array(texts, mask=unscored),
        "all_facts_entailment": pa.nulls(n, pa.float32()),
        "error": pa.array(said, pa.string()),
        "note": notes.dictionary_decode(),
        "reused": pa.array(np.zeros(n, bool)),
        "row_key": row_keys(rows),
    }


def finish(
    out: Path,
    shards: Mapping[str, pa.Table],
    *,
    signature: str = SIGNATURE,
    finished: str = "2026-01-01T03:00:00+00:00",
    settings: Mapping[str, Any] | None = None,
    by_predicate: Mapping[str, Mapping[str, int]] | None = None,
    prefix: str = "",
    invariance_error: float | None = 0.0,
) -> Path:
    """Write shards that have their output columns as a finished output folder."""
    found = {"in": 0, "scored": 0, "reused": 0, "errors": {}, "notes": {}}
    columns = asdict(ColumnNames(triples="triples", prefix=prefix))
    with RunOutput.open(out, create=True) as folder:
        plan = made_plan(signature, shards, settings={"columns": columns, **(settings or {})})
        folder.write_plan(plan.content)
        receipts = Receipts(out)
        for relative, table in shards.items():
            writer = ShardWriter(out / relative, table.schema, metadata=Signature(signature).footer)
            for start in range(0, len(table), WINDOW):
                writer.write(table.slice(start, WINDOW))
            written = writer.commit()
            receipts.write(receipt(relative, fingerprint(signature), written, InputRecord(relative, None)))
            _count(found, table, prefix)
        counted = {name: PredicateCounts(**n) for name, n in (by_predicate or {}).items()}
        template, backoff = (sum(getattr(n, kind) for n in counted.values()) for kind in ("template", "backoff"))
        summary = made_summary(
            signature,
            rows=convert(found, RowCounts),
            facts=FactCounts(template, backoff, counted),
            invariance_error=invariance_error,
            finished=finished,
        )
        folder.write_run(summary.content)
        finish_output(folder)
    return out


def _count(found: dict[str, Any], table: pa.Table, prefix: str) -> None:
    reused = int(pc.sum(pc.and_(table[prefix + "reused"], table[prefix + "fine"].is_valid())).as_py() or 0)
    labelled = len(table) - table[prefix + "fine"].null_count
    found["in"] += len(table)
    found["reused"] += reused
    found["scored"] += labelled - reused
    for column, kinds in (("error", found["errors"]), ("note", found["notes"])):
        for entry in pc.value_counts(table[prefix + column].drop_null()).to_pylist():
            kind = entry["values"].partition(":")[0]
            kinds[kind] = kinds.get(kind, 0) + entry["counts"]
