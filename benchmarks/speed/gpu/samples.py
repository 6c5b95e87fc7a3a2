"""The rows and pairs of a measurement: `samples BUNDLE OUT [PAIRS ROWS]`.

OUT/sample: 39,346 distinct pairs of restaurant texts (rows/rows.parquet, and pairs.json for peers).
OUT/many/rows.parquet: 67,000 rows, 401,909 distinct pairs, without a list of them.
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.speed import make_rows
from benchmarks.speed.sample import write_sample
from scorer.inference.bundle import Bundle

from .steps import report


def main(bundle: str, out: Path, pairs: int = 32768, rows: int = 67000) -> None:
    """Write both samples."""
    began = time.perf_counter()
    sample = write_sample(out / "sample", Bundle.load(bundle), pairs=pairs, systems=1, seed=5)
    make_rows.write(out / "many", rows, 1, 6, 1)
    (out / "many" / "part-0000.parquet").rename(out / "many" / "rows.parquet")
    counted = {key: value for key, value in asdict(sample).items() if not key.endswith("_file")}
    report("samples", **counted, many=rows, made_in=round(time.perf_counter() - began, 1))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
