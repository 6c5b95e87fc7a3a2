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

from scorer.metric import ColumnNames, Options
from scorer.metric.checks import OMISSION, build_checks
from scorer.metric.columns import OUTPUT, to_columns
from scorer.metric.fact_templates import Templates
from scorer.metric.inputs import find_columns
from scorer.metric.verdict import ENTAILMENT, decide
from scorer.scoring.summary import ComputeDevice, RunSummary, ShardCounts, Speed
from scorer.status import SCORED, RowError
from scorer.storage.output_writer import lock_output
from scorer.storage.receipts import CheckCounts, FactCounts, PredicateCounts, RowCounts, Signature, TokenCounts
from scorer.storage.run_plan import Part
from scorer.storage.windows import ShardWriter
from scorer.system.codec import encode
from tests.storage.records import make_plan, make_receipt, make_shard

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
    rows.errors.update({row: RowError.parse(error) for row, error in (errors or {}).items()})
    checks = build_checks(rows, Templates(), Options())
    probabilities = np.full((len(checks.row), 3), np.nan, np.float32)
    about_fact = checks.kind == OMISSION
    probabilities[about_fact, ENTAILMENT] = np.array(fact_entailment, np.float32)[checks.fact[about_fact]]
    probabilities[~about_fact, ENTAILMENT] = np.array(text_entailment, np.float32)[checks.row[~about_fact]]
    verdicts = decide(rows, checks, probabilities, np.full(len(checks.row), SCORED, np.int8))
    for field, column in zip(OUTPUT, to_columns(rows, verdicts), strict=True):
        table = table.append_column(field.with_name(names.prefix + field.name), column)
    return table


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
    part: Part | None = None,
) -> Path:
    """Write shards that have their output columns as a finished output folder."""
    found = {"in": 0, "scored": 0, "reused": 0, "errors": {}, "notes": {}}
    columns = asdict(ColumnNames(prefix=prefix))
    planned = [make_shard(relative, len(table)) for relative, table in shards.items()]
    plan = make_plan(planned, signature, settings={"columns": columns, **(settings or {})}, part=part)
    with lock_output(out) as locked:
        folder = locked.begin(locked.compare(plan, planned, None))
        for shard, table in zip(planned, shards.values(), strict=True):
            temporary = folder.temporary(shard.relative)
            writer = ShardWriter(
                temporary, table.schema, metadata=Signature.of_line(signature).footer, path=out / shard.relative
            )
            for start in range(0, len(table), WINDOW):
                writer.write(table.slice(start, WINDOW))
            folder.publish(temporary, make_receipt(shard, plan, output=writer.finish()))
            _count(found, table, prefix)
        counted = {name: PredicateCounts(**n) for name, n in (by_predicate or {}).items()}
        template, backoff = (sum(getattr(n, kind) for n in counted.values()) for kind in ("template", "backoff"))
        summary = RunSummary(
            signature_line=Signature.of_line(signature).line,
            signature_parts=Signature.of_line(signature).parts,
            rows=convert(found, RowCounts),
            labels={},
            facts=FactCounts(template, backoff, counted),
            checks=CheckCounts(),
            tokens=TokenCounts(),
            shards=ShardCounts(0, 0, 0),
            seconds={},
            computed_now=0,
            speed=Speed(seconds=0.0, rows_per_s=0.0),
            exact=None,
            device=ComputeDevice("cpu", "made up"),
            bound=None,
            invariance_error=invariance_error,
            origins=(),
            reuse=(),
            versions={"d2t-scorer": "0"},
            finished=finished,
        )
        folder.finish(encode(summary, indent=1), folder.totals(planned))
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
