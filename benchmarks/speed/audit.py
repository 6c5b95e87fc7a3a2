"""Measure time and memory of an audit of a million scored rows, or of many times as many.

    python -m benchmarks.speed.audit [--rows 1000000] [--shards 20] [--copies 1] [--changed 0.05] [--keep FOLDER]

Two outputs are generated without a model (see :mod:`tests.scored_outputs`); in the second, a share of the texts is
changed. With ``--copies`` each shard is written so many times, each time with other row keys. Measured, each in a
separate process: the audit of the second output alone, by system; the same against the first.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tests.scored_outputs import finish, scored

from .harness import describe, in_words, measured
from .sample import SLOTS, make_rows


def make_shards(rows: int, count: int, changed: float) -> Iterator[tuple[str, pa.Table]]:
    """Scored shards (name, table) of invented restaurants and 20 systems; the texts of the first share ``changed`` of
    the rows of each shard differ."""
    done = 0
    for number in range(count):
        rng = np.random.default_rng([7, number])
        table = make_rows(rng, rows * (number + 1) // count - done, done)
        facts = int(pc.sum(pc.list_value_length(table["triples"])).as_py())
        fact, text = (rng.beta(8, 0.4, size) for size in (facts, len(table)))
        texts = table["text"].to_pylist()
        for i in range(round(changed * len(table))):
            texts[i] += " Indeed."
        table = table.set_column(table.schema.get_field_index("text"), "text", pa.array(texts))
        yield f"part-{number:04d}.parquet", scored(table, fact, text)
        done += len(table)


class Copies(Mapping[str, pa.Table]):
    """Shards written several times, each made when it is asked for. Row keys differ between the copies."""

    def __init__(self, originals: Mapping[str, pa.Table], copies: int) -> None:
        self._originals, self._copies = originals, copies

    def __len__(self) -> int:
        return len(self._originals) * self._copies

    def __iter__(self) -> Iterator[str]:
        return (f"copy-{number:04d}/{name}" for number in range(self._copies) for name in self._originals)

    def __getitem__(self, name: str) -> pa.Table:
        folder, _, original = name.partition("/")
        table = self._originals[original]
        mask = np.random.default_rng(int(folder.removeprefix("copy-"))).bytes(16)
        column = table["row_key"].combine_chunks()
        keys = np.frombuffer(column.buffers()[1], np.uint64).reshape(-1, 2) ^ np.frombuffer(mask, np.uint64)
        changed = pa.Array.from_buffers(column.type, len(column), [None, pa.py_buffer(keys.tobytes())])
        return table.set_column(table.schema.get_field_index("row_key"), "row_key", changed)


def make(folder: Path, rows: int, count: int, changed: float, copies: int = 1) -> tuple[Path, Path]:
    """Make the two output folders; existing ones are used as they are."""
    outputs = folder / "first", folder / "second"
    counted = {slot: {"template": 1, "backoff": 0} for slot in SLOTS}
    for output, share in zip(outputs, (0.0, changed), strict=True):
        if not (output / "_SUCCESS").exists():
            finish(output, Copies(dict(make_shards(rows, count, share)), copies), by_predicate=counted)
    return outputs


def audit_output(out: Path, baseline: Path | None = None) -> int:
    """The rows of an output that was audited by system."""
    from scorer.audit import AuditOptions, audit
    from scorer.system.codec import encode

    document = audit(out, AuditOptions(baseline=baseline, by=(("system",),)))
    encode(document)
    return document.rows.all


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=20)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--changed", type=float, default=0.05)
    parser.add_argument("--keep", type=Path, help="folder for the outputs; those in it are used")
    args = parser.parse_args()
    print(in_words(describe()))
    with tempfile.TemporaryDirectory() as scratch:
        making = measured(make, args.keep or Path(scratch), args.rows, args.shards, args.changed, args.copies)
        first, second = making["result"]
        print("alone:", measured(audit_output, second))
        print("against a baseline:", measured(audit_output, second, first))


if __name__ == "__main__":
    main()
