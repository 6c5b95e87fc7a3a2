"""Labels from earlier outputs (``--reuse``): a row whose key is there, under the same signature, keeps its label."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import OutputError, count_of
from ..metric import ColumnNames, Options
from ..metric.checks import verbalise
from ..metric.columns import output_schema, row_keys
from ..metric.facts import Rows
from ..metric.templates import Templates
from ..metric.verdict import FINE, ROUGH
from ..scoring.pipeline import ReuseMatch
from ..scoring.summary import ReusedOutput
from ..storage.plan import PlannedReuse
from ..storage.receipts import Signature
from .earlier import KEY, EarlierOutput, EarlierRows, KeyIndex, key_words, one_chunk, open_all
from .messages import ReuseInfo

_VALUES = {"fine": FINE, "rough": ROUGH}


class Reuse:
    """Finds rows in earlier outputs.

    ``digest``: SHA-256 over the receipts of all shards that are used, as hex; empty when there are none.

    Args:
        outputs: in the order given; of a row in several, the first one's label is taken.
        labels: the columns that are taken over.

    Raises (all methods that read):
        OutputError: an earlier output changed since it was opened, or cannot be read.
    """

    def __init__(self, outputs: Sequence[EarlierOutput], signature: Signature, labels: pa.Schema) -> None:
        self._outputs, self._signature, self._labels = list(outputs), signature, labels
        shards = [shard for output in outputs for shard in output.shards]
        digests = json.dumps([output.digest for output in outputs]).encode("ascii")
        self.digest = hashlib.sha256(digests).hexdigest() if shards else ""
        self._rows = EarlierRows(shards, labels.names)
        self._index: KeyIndex | None = None

    @classmethod
    def open(cls, outs: Sequence[str], signature: Signature, names: ColumnNames) -> Reuse:
        """Verify the shards of earlier outputs.

        Args:
            outs: paths or URIs of outputs, or of folders of the parts of one.
            signature: of this run. names: its columns.

        Raises:
            OutputError: a plan or a receipt is there and cannot be read.
        """
        labels = pa.schema([column for column in output_schema(names) if column.name != "reused"])
        return cls(open_all(outs, signature, labels), signature, labels)

    def info(self) -> ReuseInfo:
        """Record of the earlier outputs for ``_plan.json`` and ``_run.json``."""
        planned = [(one.name, one.signature.line, len(one.shards), one.digest) for one in self._outputs]
        origins = [origin for one in self._outputs if one.shards for origin in one.origins]
        return ReuseInfo(
            digest=self.digest,
            planned=tuple(PlannedReuse(*one) for one in planned),
            origins=tuple(dict.fromkeys(origins)),
            outputs=self.outputs(),
        )

    def outputs(self) -> tuple[ReusedOutput, ...]:
        """Record of the earlier outputs for ``_run.json``; ``keys`` is ``None`` until :meth:`load`."""
        ends = np.cumsum([sum(shard.rows for shard in one.shards) for one in self._outputs]).tolist()
        return tuple(
            ReusedOutput(
                out=one.name,
                signature_equal=one.signature == self._signature,
                differs=tuple(one.signature.changes_to(self._signature)),
                keys=None if self._index is None else self._index.count_between(first, end),
                shards_used=len(one.shards),
                shards_refused=one.refused,
            )
            for one, first, end in zip(self._outputs, [0, *ends], ends, strict=False)
        )

    def notes(self) -> list[str]:
        """A line for people on each earlier output: how much of it is used, and why not all."""
        found = []
        for one in self._outputs:
            rows = sum(shard.rows for shard in one.shards)
            line = f"--reuse {one.name}: {count_of(len(one.shards), 'shard')} with {count_of(rows, 'row')}"
            if differs := one.signature.changes_to(self._signature):
                line += f"; its signature differs ({', '.join(differs)})"
            if one.refused:
                reasons = ", ".join(f"{reason} {count:,}" for reason, count in one.refused.items())
                line += f"; shards not used: {reasons}"
            found.append(line)
        return found

    def load(self) -> None:
        """Read all keys. Until then no row is found."""
        self._index = KeyIndex(self._rows.all_keys())

    def close(self) -> None:
        """Close the earlier outputs."""
        self._rows.close()

    def match(self, rows: Rows, templates: Templates, options: Options) -> ReuseMatch:
        """Find the rows of a window. Rows that cannot be scored are not looked for.

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
        table = self._labels.empty_table()
        if len(reused):
            table = self._rows.take(numbers[reused])
            same = (key_words(one_chunk(table[KEY])) == words[reused]).all(axis=1)
            if not same.all():
                reused, table = reused[same], table.filter(pa.array(same))
        return ReuseMatch(
            rows=rows,
            keys=keys,
            reused=reused,
            labels={one.name: _label_column(table[one.name], one) for one in self._labels if one.name != KEY},
            backoff=np.array([fact.backoff for fact in verbalise(rows, templates, options)], bool),
        )


def _label_column(column: pa.ChunkedArray, wanted: pa.Field) -> pa.Array:
    """A column as a run makes it: Parquet gives dictionaries in another width and order.

    Raises:
        OutputError: a label that does not exist.
    """
    values = _VALUES.get(wanted.name)
    if values is None:
        return one_chunk(column)
    found = one_chunk(column.cast(pa.string()))
    codes = pc.index_in(found, pa.array(values))
    if codes.null_count:
        unknown = found.filter(codes.is_null())[0].as_py()
        raise OutputError(f"an earlier output has {wanted.name} = {unknown!r}, which is not a label; do not --reuse it")
    return pa.DictionaryArray.from_arrays(codes.cast(pa.int8()), pa.array(values))
