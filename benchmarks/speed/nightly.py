"""Peak memory of a night with many rows, by stage: a run with ``--reuse``, an audit alone and against the night before,
a report.

    python -m benchmarks.speed.nightly --rows 200000 1000000 [--changed 1] [--folder DIR] [--out FILE]

The model is that of ``benchmarks.speed.host_overhead``, which answers at once. Each stage is a process of its own;
those that are in the folder are not repeated. With several numbers of rows, the bytes a row are the slope of the first
to the last.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .harness import describe, in_words, measured
from .host_overhead import run_free
from .sample import make_rows

SYSTEMS = 20
"""Rows that follow each other and have one input."""
DISTINCT = 100_000
"""Distinct rows; the others are copies with a number appended to the text, so that no two share a key."""


def write_night(folder: Path, rows: int) -> None:
    folder.mkdir()
    table = make_rows(np.random.default_rng(0), min(rows, DISTINCT), 0, SYSTEMS)
    for number in range(-(-rows // DISTINCT)):
        texts = pc.binary_join_element_wise(table["text"], str(number), " ")
        shard = table.set_column(table.schema.get_field_index("text"), "text", texts)
        shard = shard.slice(0, min(DISTINCT, rows - number * DISTINCT))
        pq.write_table(shard, folder / f"part-{number:05d}.parquet", compression="zstd")


def change(data: Path, out: Path, percent: float) -> None:
    out.mkdir()
    for path in sorted(data.glob("*.parquet")):
        table = pq.read_table(path)
        inputs = -(-len(table) // SYSTEMS)
        edited = np.linspace(0, inputs - 1, round(inputs * percent / 100)).astype(int)
        chosen = pa.array(np.isin(np.arange(len(table)) // SYSTEMS, edited))
        texts = pc.if_else(chosen, pc.binary_join_element_wise(table["text"], "Do visit soon.", " "), table["text"])
        place = table.schema.get_field_index("text")
        pq.write_table(table.set_column(place, "text", texts), out / path.name, compression="zstd")


def audit_night(out: Path, baseline: Path | None, document: Path) -> None:
    from scorer.audit import AuditOptions, audit
    from scorer.system.codec import encode

    document.write_bytes(encode(audit(out, AuditOptions(baseline=baseline, by=(("system",),)))))


def render_report(document: Path, page: Path) -> None:
    from scorer.audit.document import Document
    from scorer.audit.report import render
    from scorer.system.codec import decode

    page.write_text(render(decode(document.read_bytes(), Document, str(document))))


def run_night(base: Path, rows: int, percent: float) -> dict[str, dict[str, Any]]:
    folder = base / str(rows)
    folder.mkdir(parents=True, exist_ok=True)
    before, now, first, second = (folder / name for name in ("in-0", "in-1", "out-0", "out-1"))
    document, page = folder / "audit-document.json", folder / "report.html"
    stages: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "made": (write_night, (before, rows)),
        "changed": (change, (before, now, percent)),
        "run": (run_free, (before, first)),
        "run with --reuse": (run_free, (now, second, first)),
        "audit": (audit_night, (second, None, document)),
        "audit against the night before": (audit_night, (second, first, document)),
        "report": (render_report, (document, page)),
    }
    found = {}
    for name, (function, arguments) in stages.items():
        file = folder / f"{name.replace(' ', '-')}.json"
        if not file.exists():
            file.write_text(json.dumps(measured(function, *arguments)))
        one = found[name] = json.loads(file.read_text())
        print(f"{rows:>12,} rows, {name}: peak {one['peak_mb']:,} MB, {one['seconds']:.1f} s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000, 1_000_000])
    parser.add_argument("--changed", type=float, default=1.0, metavar="PERCENT")
    parser.add_argument("--folder", type=Path, help="work folder to keep, with the stages that are done")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    args = parser.parse_args()
    print(in_words(describe()))
    with tempfile.TemporaryDirectory() as scratch:
        base = args.folder or Path(scratch)
        found = {rows: run_night(base, rows, args.changed) for rows in sorted(args.rows)}
    few, many = min(found), max(found)
    if few < many:
        grown = {name: found[many][name]["peak_mb"] - found[few][name]["peak_mb"] for name in found[many]}
        print("bytes a row:", ", ".join(f"{name} {1e6 * mb / (many - few):.0f}" for name, mb in grown.items()))
    if args.out:
        args.out.write_text(json.dumps({"machine": describe(), "nights": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
