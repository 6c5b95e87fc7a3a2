"""Peak memory of a night with many rows, by stage: a run with ``--reuse``, an audit against the night before, a report.

    python -m benchmarks.speed.nightly --rows 200000 1000000 [--changed 1] [--folder DIR] [--out FILE]

The model is that of ``benchmarks.speed.host_overhead``, which answers at once. For each number of rows: rows are made
and scored, ``--changed`` percent of their inputs are changed, and the rows are scored with ``--reuse`` and audited
against the first output by system, with the HTML report. Each stage is a process of its own. With several numbers of
rows, the bytes a row are the slope of the first to the last.

Stages that are in the folder are not repeated, so the command may be interrupted and given again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from . import machine
from .make_rows import write

SYSTEMS = 20
"""Rows that follow each other and have one input."""
MADE = 100_000
"""Distinct rows; the others are copies with a number appended to the text, so that no two share a key."""
STAGES = ("run", "run with --reuse", "audit", "report")

_MEASURED = """
import json, resource, sys, time
from pathlib import Path
import msgspec
from benchmarks.speed.nightly import without_model
from scorer.system.codec import decode, encode
what, *paths = sys.argv[1:]
paths = [Path(path) for path in paths]
began = time.perf_counter()
rows = None
if what in ("run", "run with --reuse"):
    rows = without_model(*paths)
elif what == "audit":
    from scorer.audit import AuditOptions, audit
    document = audit(paths[0], AuditOptions(baseline=paths[1], by=(("system",),)))
    paths[2].write_bytes(encode(document))
    rows = msgspec.to_builtins(document.rows)
else:
    from scorer.audit.document import Document
    from scorer.audit.report import render
    paths[1].write_text(render(decode(paths[0].read_bytes(), Document, str(paths[0]))))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
seconds = round(time.perf_counter() - began, 1)
print(json.dumps({"seconds": seconds, "peak": peak, "rows": rows}))
"""


def change(data: Path, out: Path, percent: float) -> int:
    """Copy a data set, change that percentage of its inputs, and return the number of changed rows."""
    out.mkdir(exist_ok=True)
    changed = 0
    for path in sorted(data.glob("*.parquet")):
        table = pq.read_table(path)
        inputs = -(-len(table) // SYSTEMS)
        edited = np.linspace(0, inputs - 1, round(inputs * percent / 100)).astype(int)
        chosen = np.isin(np.arange(len(table)) // SYSTEMS, edited)
        texts = [
            f"{text} Do visit soon." if other else text
            for text, other in zip(table["text"].to_pylist(), chosen.tolist(), strict=True)
        ]
        place = table.schema.get_field_index("text")
        pq.write_table(table.set_column(place, "text", pa.array(texts)), out / path.name, compression="zstd")
        changed += int(chosen.sum())
    return changed


def without_model(data: Path, out: Path, *reuse: Path) -> dict[str, Any]:
    """The counts of rows of a run whose model answers at once, in this process."""
    from .host_overhead import free_scorer
    from .runners.ours import run_here

    with free_scorer() as scorer:
        summary = run_here(scorer, str(data), out, reuse=tuple(reuse)).summary
    return dict(msgspec.to_builtins(summary.rows))


def copies(base: Path, rows: int, out: Path) -> None:
    """Write ``rows`` rows to a folder, in shards of :data:`MADE` rows at most."""
    source = base / "made.parquet"
    if not source.exists():
        write(base / "made", MADE, 1)
        (base / "made" / "part-0000.parquet").rename(source)
    table = pq.read_table(source)
    place = table.schema.get_field_index("text")
    out.mkdir(exist_ok=True)
    for number in range(-(-rows // MADE)):
        texts = pc.binary_join_element_wise(table["text"], str(number), " ")
        part = table.set_column(place, "text", texts).slice(0, min(MADE, rows - number * MADE))
        pq.write_table(part, out / f"part-{number:05d}.parquet", compression="zstd")


def kept(file: Path, make: Callable[[], Any]) -> Any:
    """What a stage found, made if the file is not there."""
    if not file.exists():
        file.write_text(json.dumps(make()))
    return json.loads(file.read_text())


def measure(what: str, *paths: Path) -> dict[str, Any]:
    """One stage in a process of its own: seconds, and peaks in bytes."""
    command = [sys.executable, "-c", _MEASURED, what, *map(str, paths)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


def night(base: Path, rows: int, percent: float) -> dict[str, dict[str, Any]]:
    """The figures of the stages for one number of rows."""
    folder = base / str(rows)
    folder.mkdir(parents=True, exist_ok=True)
    before, now, first, second = (folder / name for name in ("in-0", "in-1", "out-0", "out-1"))
    # In another process, since a child starts with the peak memory of its parent.
    with ProcessPoolExecutor(1, get_context("spawn")) as making:
        kept(folder / "made.json", lambda: making.submit(copies, base, rows, before).result())
        kept(folder / "changed.json", lambda: making.submit(change, before, now, percent).result())
    document, page = folder / "audit-document.json", folder / "report.html"
    paths = {
        "run": (before, first),
        "run with --reuse": (now, second, first),
        "audit": (second, first, document),
        "report": (document, page),
    }
    found = {}
    for number, what in enumerate(STAGES):
        one = found[what] = kept(folder / f"stage-{number}.json", partial(measure, what, *paths[what]))
        of = f", {one['rows']['in']:,} rows, {one['rows']['reused']:,} reused" if one["rows"] else ""
        peak = f"peak {one['peak'] / 1e6:,.0f} MB"
        print(f"{rows:>12,} rows, {what}: {peak}, {one['seconds']:.1f} s{of}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000, 1_000_000])
    parser.add_argument("--changed", type=float, default=1.0, metavar="PERCENT")
    parser.add_argument("--folder", type=Path, help="work folder to keep, with the stages that are done")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    args = parser.parse_args()
    about = machine.describe()
    print(machine.in_words(about))
    with tempfile.TemporaryDirectory() as scratch:
        base = args.folder or Path(scratch)
        base.mkdir(parents=True, exist_ok=True)
        found = {rows: night(base, rows, args.changed) for rows in sorted(args.rows)}
    few, many = min(found), max(found)
    if few < many:
        slopes = {what: (found[many][what]["peak"] - found[few][what]["peak"]) / (many - few) for what in STAGES}
        print("bytes a row:", ", ".join(f"{what} {slope:.0f}" for what, slope in slopes.items()))
    if args.out:
        args.out.write_text(json.dumps({"machine": about, "nights": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
