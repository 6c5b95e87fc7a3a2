"""Two outputs of as many rows as asked, without a model: rows of the benchmarks, written several times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.speed.sample import SLOTS, make_rows
from tests.scored_outputs import finish, scored


def shard(rows: int, changed: float) -> pa.Table:
    """Scored rows about invented restaurants, of 20 systems; the texts of the first share ``changed`` differ."""
    rng = np.random.default_rng(7)
    table = make_rows(rng, rows)
    fact, text = (rng.beta(8, 0.4, size) for size in (pc.sum(pc.list_value_length(table["triples"])).as_py(), rows))
    texts = table["text"].to_pylist()
    texts = [f"{one} Indeed." if i < round(changed * rows) else one for i, one in enumerate(texts)]
    return scored(table.set_column(table.schema.get_field_index("text"), "text", pa.array(texts)), fact, text)


class Copies(Mapping[str, pa.Table]):
    """A shard written several times, each made when it is asked for. Row keys differ between the copies."""

    def __init__(self, original: pa.Table, copies: int) -> None:
        self._original, self._copies = original, copies

    def __len__(self) -> int:
        return self._copies

    def __iter__(self) -> Iterator[str]:
        return (f"copy-{number:04d}.parquet" for number in range(self._copies))

    def __getitem__(self, name: str) -> pa.Table:
        mask = np.random.default_rng(int(name[5:9])).bytes(16)
        column = self._original["row_key"].combine_chunks()
        keys = np.frombuffer(column.buffers()[1], np.uint64).reshape(-1, 2) ^ np.frombuffer(mask, np.uint64)
        changed = pa.Array.from_buffers(column.type, len(column), [None, pa.py_buffer(keys.tobytes())])
        return self._original.set_column(self._original.schema.get_field_index("row_key"), "row_key", changed)


def two_outputs(folder: Path, rows: int, copies: int, changed: float) -> tuple[Path, Path]:
    """An output, and one in which a share of the texts is another."""
    counted = {slot: {"template": 1, "backoff": 0} for slot in SLOTS}
    outputs = folder / "first", folder / "second"
    for output, share in zip(outputs, (0.0, changed), strict=True):
        finish(output, Copies(shard(rows, share), copies), by_predicate=counted)
    return outputs
