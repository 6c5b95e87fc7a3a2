"""A window split into rows to score and rows that bring their labels along, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import OutputError
from ...metric.checks import verbalise
from ...metric.facts import Rows, take
from ...metric.options import Options
from ...metric.row_key import row_keys
from ...metric.templates import Templates
from ...metric.verdict import FINE, ROUGH
from ...system.closing import Closing
from ..counts import ReusedCounts
from ..summary import ReusedOutput
from .earlier_rows import EarlierRows
from .key_index import KeyIndex, KeyIndexBuilder, key_words
from .sources import KEY, LABELLED, Sources

_CODES = {"fine": FINE, "rough": ROUGH}


@dataclass
class ReuseMatch:
    """What is known of a window before the model is asked.

    ``keys``: of all rows. ``to_score``: int64, positions of the rows that have no label yet. ``reused``: int64,
    positions of the rows that have one; ``labels``: their columns by name, in that order. ``backoff``: bool, of the
    distinct triples of the whole window. ``to_judge``: the rows to score.
    """

    rows: Rows
    keys: pa.Array
    to_score: npt.NDArray[np.int64]
    reused: npt.NDArray[np.int64]
    labels: dict[str, pa.Array]
    backoff: npt.NDArray[np.bool_]
    to_judge: Rows = field(init=False)

    def __post_init__(self) -> None:
        self.to_judge = self.rows if not len(self.reused) else take(self.rows, self.to_score)

    def merge(self, names: Sequence[str], columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Output columns of the judged rows to those of the whole window, in its order."""
        places = np.empty(len(self.rows), np.int64)
        places[self.to_score] = np.arange(len(self.to_score))
        places[self.reused] = len(self.to_score) + np.arange(len(self.reused))
        order = pa.array(places)
        if not len(self.reused):
            return list(columns)
        merged = []
        for name, column in zip(names, columns, strict=True):
            if name == KEY:
                merged.append(self.keys)
            elif name == "reused":
                mask = np.zeros(len(self.rows), bool)
                mask[self.reused] = True
                merged.append(pa.array(mask))
            else:
                merged.append(pa.concat_arrays([column, self.labels[name]]).take(order))
        return merged

    def counts(self) -> ReusedCounts:
        """For the counts of the window."""
        fine = self.labels["fine"].indices.to_numpy().astype(np.int8)
        notes = pc.value_counts(self.labels["note"].drop_null())
        counted = dict(zip(notes.field("values").to_pylist(), notes.field("counts").to_pylist(), strict=True))
        return ReusedCounts(self.rows, self.backoff, fine, counted)


class Reuse(Closing):
    """Finds rows in earlier outputs.

    Raises (all methods that read):
        OutputError: an earlier output changed since it was opened, or cannot be read.
    """

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        shards = [shard for output in sources.outputs for shard in output.shards]
        self._rows = EarlierRows(shards, sources.labels.names, key=KEY, labelled=LABELLED)
        counts = [sum(shard.rows for shard in output.shards) for output in sources.outputs]
        self._ends = np.cumsum(counts)
        self._index: KeyIndex | None = None
        self._keys: list[int] | None = None

    def summary(self) -> tuple[ReusedOutput, ...]:
        """What ``_run.json`` says of the earlier outputs."""
        return self.sources.summary(self._keys)

    def load(self) -> None:
        """Read all keys. Until then no row is found."""
        builder = KeyIndexBuilder()
        for words, numbers in self._rows.all_keys():
            builder.add(words, numbers)
        self._index = builder.finish()
        ends = self._ends.tolist()
        spans = zip([0, *ends[:-1]], ends, strict=True)
        self._keys = [self._index.count_between(first, end) for first, end in spans]

    def close(self) -> None:
        """Close the earlier outputs."""
        self._rows.close()

    def match(self, rows: Rows, templates: Templates, options: Options) -> ReuseMatch:
        """Find the rows of a window. Rows that cannot be scored are never looked for.

        Raises:
            TemplateError: as :func:`scorer.metric.checks.verbalise`, also for rows that are found.
        """
        keys = row_keys(rows)
        words = key_words(keys)
        numbers = np.full(len(rows), -1, np.int64)
        if self._index is not None and self._index.keys:
            good = np.ones(len(rows), bool)
            good[list(rows.errors)] = False
            numbers[good] = self._index.find(words[good, 0])
        reused = np.flatnonzero(numbers >= 0)
        table = self.sources.labels.empty_table()
        if len(reused):
            table = self._rows.take(numbers[reused])
            same = (key_words(_one(table[KEY])) == words[reused]).all(axis=1)
            if not same.all():
                reused, table = reused[same], table.filter(pa.array(same))
        return ReuseMatch(
            rows,
            keys,
            np.setdiff1d(np.arange(len(rows)), reused),
            reused,
            {column.name: _labels(table[column.name], column) for column in self.sources.labels if column.name != KEY},
            np.array([fact.backoff for fact in verbalise(rows, templates, options)], bool),
        )


def _one(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found.chunk(0) if isinstance(found, pa.ChunkedArray) else found


def _labels(column: pa.ChunkedArray, wanted: pa.Field) -> pa.Array:
    """A column as a run makes it: Parquet gives dictionaries in another width and order.

    Raises:
        OutputError: a label that there is not.
    """
    names = _CODES.get(wanted.name)
    if names is None:
        return _one(column)
    found = _one(column.cast(pa.string()))
    codes = pc.index_in(found, pa.array(names))
    if codes.null_count:
        unknown = found.filter(codes.is_null())[0].as_py()
        raise OutputError(f"an earlier output has {wanted.name} = {unknown!r}, which is not a label; do not --reuse it")
    return pa.DictionaryArray.from_arrays(codes.cast(pa.int8()), pa.array(names))
