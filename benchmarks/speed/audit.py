"""Measure time and memory of an audit of a million scored rows, or of many times as many.

    python -m benchmarks.speed.audit [--rows 1000000] [--shards 20] [--copies 1] [--changed 0.05] [--keep FOLDER]

Two outputs are generated without a model (see :mod:`tests.scored_outputs`); in the second, a share of the texts is
changed. With ``--copies`` each shard is written so many times, each time with other row keys. Measured, each in a
separate process: the audit of the second output alone, by system; the same against the first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.scored_outputs import finish, scored

from . import machine
from .make_rows import SLOTS, inputs, render

_MEASURE = """
import json, resource, sys, time
from pathlib import Path
began = time.perf_counter()
from scorer.audit import AuditOptions, audit
from scorer.system.codec import encode
out, baseline = Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None
document = audit(out, AuditOptions(baseline=baseline, by=(("system",),)))
encode(document)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "rows": document.rows.all, "baseline_rows": document.baseline.rows if baseline else 0,
    "seconds": round(time.perf_counter() - began, 2), "cpu_seconds": round(sum(used[:2]), 2),
    "peak_mb": round(used.ru_maxrss * 1024 / 1e6),
}))
"""


def shards(rows: int, count: int, changed: float) -> Iterator[tuple[str, pa.Table]]:
    """Scored shards (name, table) of invented restaurants and 20 systems.

    The texts of the first share ``changed`` of the rows of each shard differ.
    """
    struct = pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())])
    done = 0
    for number in range(count):
        n = rows * (number + 1) // count - done
        rng = np.random.default_rng([7, number])
        asked = inputs(rng, -(-n // 20))
        mine = [asked[i // 20] for i in range(n)]
        texts = [render(rng, facts, i % 3) for i, facts in enumerate(mine)]
        fact, text = (rng.beta(8, 0.4, size) for size in (sum(map(len, mine)), n))
        for i in range(round(changed * n)):
            texts[i] += " Indeed."
        triples = [[dict(zip(("subject", "predicate", "object"), t, strict=True)) for t in facts] for facts in mine]
        table = pa.table(
            {
                "id": pa.array(np.arange(done, done + n)),
                "system": pa.array([f"system-{i % 20}" for i in range(n)]).dictionary_encode(),
                "triples": pa.array(triples, pa.list_(struct)),
                "text": pa.array(texts),
            }
        )
        yield f"part-{number:04d}.parquet", scored(table, fact, text)
        done += n


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
            finish(output, Copies(dict(shards(rows, count, share)), copies), by_predicate=counted)
    return outputs


def measure(*arguments: Path) -> dict[str, float]:
    """Seconds and peak memory of one audit, in a separate process."""
    command = [sys.executable, "-c", _MEASURE, *map(str, arguments)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=20)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--changed", type=float, default=0.05)
    parser.add_argument("--keep", type=Path, help="folder for the outputs; those in it are used")
    args = parser.parse_args()
    print(machine.in_words(machine.describe()))
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch)
        # In other processes, since a child starts with the peak memory of its parent.
        with ProcessPoolExecutor(1, get_context("spawn")) as making:
            first, second = making.submit(make, folder, args.rows, args.shards, args.changed, args.copies).result()
        for what, arguments in (("alone", (second,)), ("against a baseline", (second, first))):
            print(f"{what}: {measure(*arguments)}")


if __name__ == "__main__":
    main()
