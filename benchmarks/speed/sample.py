"""The sample of the benchmark: rows, and the distinct pairs of their checks.

Rows come from :mod:`benchmarks.speed.make_rows`. The pairs are those that ``scorer run`` computes for these, so
that its rate can be compared with that of programs that are given the pairs.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.speed import make_rows
from scorer.inference.bundle import Bundle
from scorer.inference.tokenizer import TextTokenizer
from scorer.metric.checks import Checks, build_checks
from scorer.metric.inputs import find_columns
from scorer.metric.options import ColumnNames, Options
from scorer.metric.templates import Templates


@dataclass(frozen=True)
class Sample:
    """The files of a sample and their counts. ``checks``: number of pairs; ``pairs``: number of distinct pairs."""

    rows_file: str
    pairs_file: str
    rows: int
    checks: int
    pairs: int
    tokens: int
    shortest: int
    longest: int


def write_sample(folder: Path, bundle: Bundle, *, rows: int = 0, pairs: int = 0, systems: int, seed: int) -> Sample:
    """Write ``rows.parquet`` and ``pairs.json`` into ``folder``.

    ``rows``: number of rows, or 0 for as many as give at least ``pairs`` distinct pairs. ``systems``: number of texts
    for each input; with 1, all texts are different. Facts use the bundle's templates, otherwise backoff.
    """
    # Every row gives more than one pair, and nearly every row more than three.
    make_rows.write(folder, rows or max(min(pairs, 4096), pairs // 3), 1, seed, systems)
    table = pq.read_table(folder / "part-0000.parquet")
    (folder / "part-0000.parquet").unlink()
    templates = Templates.load(bundle.templates_file) if bundle.templates_file else Templates()
    columns = find_columns(table.schema, ColumnNames())
    checks = build_checks(columns.rows(table), templates, Options())
    first = _first_of_each(checks)
    count = rows or _enough(checks.row[first], pairs)
    first = first[checks.row[first] < count]
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    rows_file = folder / "rows" / "rows.parquet"
    pq.write_table(table.slice(0, count), rows_file, compression="zstd")
    chosen = [(checks.texts[checks.premise[i]], checks.texts[checks.hypothesis[i]]) for i in first.tolist()]
    tokenizer = TextTokenizer(bundle)
    texts = tokenizer.encode(checks.texts).lengths
    lengths = texts[checks.premise[first]] + texts[checks.hypothesis[first]] + bundle.layout.overhead
    pairs_file = folder / "pairs.json"
    pairs_file.write_text(json.dumps({"pairs": chosen, "tokens": lengths.tolist()}))
    sample = Sample(
        rows_file=str(rows_file),
        pairs_file=str(pairs_file),
        rows=count,
        checks=int((checks.row < count).sum()),
        pairs=len(chosen),
        tokens=int(lengths.sum()),
        shortest=int(lengths.min()),
        longest=int(lengths.max()),
    )
    (folder / "sample.json").write_text(json.dumps(asdict(sample)))
    return sample


def _first_of_each(checks: Checks) -> np.ndarray:
    """Positions of the first check of every distinct pair, int64, *Shape:* (distinct,), ascending."""
    keys = checks.premise.astype(np.int64) << 32 | checks.hypothesis.astype(np.int64)
    return np.sort(np.unique(keys, return_index=True)[1])


def _enough(rows: np.ndarray, pairs: int) -> int:
    """The number of rows whose checks give at least ``pairs`` distinct pairs. ``rows``: int64, *Shape:* (distinct,),
    the row of each distinct pair, ascending."""
    return int(rows[min(pairs, len(rows)) - 1]) + 1
