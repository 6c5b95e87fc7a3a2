"""Labels from earlier outputs (``--reuse``): a row with its key there, under the same signature, keeps its label.

A shard is used by the rule that a resume skips one by: its receipt is whole, and the file has the size, SHA-256 or
version, and rows of its receipt. ``_SUCCESS`` is not needed, since every shard stands for itself.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..errors import DamagedFileError, OutputError, SchemaError, UsageError
from ..metric import ColumnNames
from ..metric.columns import output_schema
from ..metric.verdict import FINE, ROUGH
from ..scoring.summary import ComputeEnvironment, ReusedOutput, RunSummary
from ..storage.location import Location, parse_location, resolved
from ..storage.output_folder import OutputFolder
from ..storage.receipts import Receipt, Signature, Unusable, canonical
from ..storage.run_plan import RUN, Plan, PlannedReuse, check_parts, find_outputs
from ..storage.store import Store
from ..system.codec import decode
from ..system.waiting import map_in_threads, note_progress
from .executors import ReuseInfo

KEY, LABEL = "row_key", "fine"
DAMAGED_RECEIPT, DAMAGED_FILE, OTHER_SIGNATURE = "damaged receipt", "damaged file", "other signature"
CACHED_GROUPS = 64
"""Decoded row groups that are kept; one has the rows of a window."""
_REQUESTS = 8
_VALUES = {"fine": FINE, "rough": ROUGH}
Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]


def find_earlier(outs: Iterable[Location], out: Location | None = None) -> list[Location]:
    """The outputs of earlier runs, or their parts below these locations, each once; opens only their plans.

    Args:
        outs: values of ``--reuse``.
        out: output of this run, which may not be one of them.

    Raises:
        UsageError: one is ``out``.
        OutputError: one is not an output, or a part is missing.
    """
    locations: dict[Location, Location] = {}
    parts: dict[str, dict[str, Plan]] = {}
    for location in find_outputs(outs):
        real = resolved(location)
        if out is not None and real == resolved(out):
            raise UsageError(
                f"--reuse {location} is the output folder itself; a run resumes there without being asked, so leave "
                "--reuse out, or choose another --out"
            )
        plan = OutputFolder(location, patient=False).read_plan(lambda message: None)
        if plan is None:
            raise OutputError(f"--reuse {location} is not an output of `scorer run`: it has no readable _plan.json")
        if real not in locations and plan.part is not None:
            run = canonical([plan.part.count, plan.part.shards, plan.signature, plan.signature_parts])
            parts.setdefault(run, {})[str(location)] = plan
        locations.setdefault(real, location)
    for of_one_run in parts.values():
        check_parts(of_one_run, advice="pass --reuse with the folder above them")
    return list(locations.values())


@dataclass(frozen=True)
class EarlierShard:
    """A shard with usable labels."""

    store: Store
    """Store of its output folder."""
    relative: str
    """Path below the output folder."""
    version: str
    """Version of the file in the store."""
    sha256: str
    """Digest of the file, as hex."""
    names: ColumnNames
    """Names of its label columns."""
    groups: tuple[int, ...]
    """Rows of each row group."""

    @contextmanager
    def open(self) -> Iterator[pq.ParquetFile]:
        """Raises :class:`.OutputError`: it changed, or cannot be read."""
        try:
            with (
                self.store.open(self.relative, self.version) as file,
                pq.ParquetFile(file, page_checksum_verification=True) as parquet,
            ):
                yield parquet
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(self.store.uri(self.relative), error) from error


@dataclass
class EarlierOutput:
    """The output of an earlier run."""

    name: str
    """Path or URI."""
    signature: Signature
    """Signature of its plan."""
    origins: tuple[ComputeEnvironment, ...]
    """Environments in which its labels were computed; empty where its ``_run.json`` does not say."""
    shards: list[EarlierShard] = field(default_factory=list)
    """Shards that are used."""
    refused: Counter[str] = field(default_factory=Counter)
    """Number of shards that are not used, by reason."""

    @property
    def rows(self) -> int:
        return sum(sum(shard.groups) for shard in self.shards)

    @property
    def digest(self) -> str:
        """SHA-256 over the receipts of the shards that are used, as hex."""
        content = [[shard.relative, shard.sha256, sum(shard.groups)] for shard in self.shards]
        return hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()


def open_earlier(out: Location, signature: Signature, labels: pa.Schema) -> EarlierOutput:
    """Look at every shard of an earlier output that has a receipt; a shard is used if its labels have this
    signature."""
    folder = OutputFolder(out)
    plan = folder.read_plan()
    try:
        origins = decode(folder.store.read(RUN) or b"", RunSummary, RUN).origins
    except (DamagedFileError, SchemaError):
        origins = ()
    earlier = EarlierOutput(str(out), Signature.of(plan) if plan is not None else Signature.of_line(""), origins)
    # A footer in a store is a request, of which several are made at a time; a file is hashed, one after the other.
    look = partial(_open_shard, folder, signature, labels)
    for shard in map_in_threads(look, folder.receipts().items(), _REQUESTS if folder.store.is_remote else 1):
        if isinstance(shard, Unusable):
            earlier.refused[shard.reason] += 1
        else:
            earlier.shards.append(shard)
    return earlier


def _open_shard(
    folder: OutputFolder, signature: Signature, labels: pa.Schema, entry: tuple[str, Receipt | Unusable]
) -> EarlierShard | Unusable:
    """A shard, or why it is not used."""
    relative, receipt = entry
    if isinstance(receipt, Unusable):
        return Unusable(DAMAGED_RECEIPT)
    if Signature.of(receipt.fingerprint) != signature:
        return Unusable(OTHER_SIGNATURE)
    store, info = folder.store, folder.store.list(relative).get(relative)
    if info is None or not folder.is_intact(receipt, info):
        return Unusable(DAMAGED_FILE)
    try:
        with store.open(relative, info.version) as file:
            footer = pq.read_metadata(file)
    except (OSError, pa.ArrowException) as error:
        if store.is_remote:  # it has the version that its receipt names, so the store cannot be read
            raise _unreadable(store.uri(relative), error) from error
        return Unusable(DAMAGED_FILE)
    schema = footer.schema.to_arrow_schema()
    if Signature.of_footer(schema.metadata) != signature:
        return Unusable(OTHER_SIGNATURE)
    # The columns of a run come last, so the last one of a name is the run's own.
    names = ColumnNames(
        prefix=next((name.removesuffix(KEY) for name in reversed(schema.names) if name.endswith(KEY)), "")
    )
    for label in labels:
        position = schema.get_field_index(names.output(label.name))  # -1 also for a name that two columns have
        if position < 0 or _plain(schema.types[position]) != _plain(label.type):
            return Unusable(f"no column {label.name}")
    groups = tuple(footer.row_group(i).num_rows for i in range(footer.num_row_groups))
    return EarlierShard(store, relative, info.version, receipt.output.sha256, names, groups)


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type without its dictionary: Parquet gives it an index of another width."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _unreadable(name: str, error: Exception) -> OutputError:
    return OutputError(f"{name}: cannot be read for --reuse: {' '.join(str(error).split())}")


class EarlierRows:
    """The rows of shards, numbered through in their order: all keys once, then rows by number.

    A window mostly needs one row group, so whole ones are decoded, and the last ones kept.

    Args:
        shards: shards with the rows.
        columns: columns to read, without prefix; the key is one of them.
        cached: number of decoded row groups to keep.
    """

    def __init__(self, shards: Sequence[EarlierShard], columns: Sequence[str], cached: int = CACHED_GROUPS) -> None:
        self._groups = [(shard, group) for shard in shards for group in range(len(shard.groups))]
        self._starts = np.cumsum([0, *(rows for shard in shards for rows in shard.groups)])
        self.group = lru_cache(cached)(partial(self._read, columns))

    def all_keys(self) -> Iterator[tuple[Words, Numbers]]:
        """First words of the keys and row numbers of all rows with a label, a row group at a time."""
        for group, start in enumerate(self._starts[:-1]):
            table = self._read([KEY, LABEL], group)
            labelled = np.flatnonzero(table[LABEL].is_valid().to_numpy())
            yield key_words(one_chunk(table[KEY]))[labelled, 0], labelled + start

    def take(self, numbers: Numbers) -> pa.Table:
        """The columns of rows by number, in the order asked for. int64, *Shape:* (n,) → n rows."""
        groups = np.searchsorted(self._starts, numbers, side="right") - 1
        tables, positions = [], []
        for group in np.unique(groups).tolist():
            positions.append(np.flatnonzero(groups == group))
            tables.append(self.group(group).take(pa.array(numbers[positions[-1]] - self._starts[group])))
        return pa.concat_tables(tables).take(pa.array(np.argsort(np.concatenate(positions))))

    def _read(self, columns: Sequence[str], number: int) -> pa.Table:
        """Columns of a row group, under their plain names."""
        shard, group = self._groups[number]
        names = [shard.names.output(name) for name in columns]
        note_progress()
        with shard.open() as parquet:
            # Parquet is asked by dotted paths; where a name has a dot, it could mean a part of another column.
            dotted = any("." in name for name in parquet.schema_arrow.names)
            table = parquet.read_row_group(group, columns=None if dotted else names, use_threads=False).select(names)
        # The dictionary of one row group is not that of the next, and Arrow joins only what has the same.
        return pa.table([column.cast(_plain(column.type)) for column in table.columns], names=list(columns))


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined


def key_words(keys: pa.Array) -> Words:
    """16-byte keys as two numbers each. fixed_size_binary(16), *Shape:* (rows,) → uint64, (rows, 2)."""
    raw = np.frombuffer(keys.buffers()[1], np.uint64) if len(keys) else np.empty(0, np.uint64)
    return raw[2 * keys.offset : 2 * (keys.offset + len(keys))].reshape(-1, 2)


class KeyIndex:
    """Row numbers by row key, in eight bytes a key; of rows with one key, the first is kept.

    Keys are digests, so the first bits of any are as good as random numbers. An entry has as many of them as the row
    number leaves of 64 bits: 39 for 25 million rows. When a row is fetched, its whole key is compared; where two keys
    agree in these bits (one in 20,000 then), one is not found, and its row is scored again.

    Args:
        keys: first words, and their row numbers. *Shape:* (n,) each.
        rows: number of all rows, with and without a label.
    """

    def __init__(self, keys: Iterable[tuple[Words, Numbers]], rows: int) -> None:
        self._bits = np.uint64(rows.bit_length())
        parts = [self._prefixes(words) | numbers.astype(np.uint64) for words, numbers in keys]
        entries = np.concatenate([np.empty(0, np.uint64), *parts])
        del parts  # as large as all entries
        entries.sort()
        is_first = np.ones(len(entries), bool)
        np.not_equal(self._prefixes(entries[1:]), self._prefixes(entries[:-1]), out=is_first[1:])
        self._entries = entries[is_first]

    def __len__(self) -> int:
        return len(self._entries)

    def _prefixes(self, words: Words) -> Words:
        return words >> self._bits << self._bits

    def find(self, words: Words) -> Numbers:
        """Row numbers of keys given by their first words, -1 where there is none. *Shape:* (n,) → int64, (n,)."""
        if not len(self):
            return np.full(len(words), -1, np.int64)
        prefixes = self._prefixes(words)
        positions = np.searchsorted(self._entries, prefixes)  # behind all entries that are less
        distances = self._entries[np.minimum(positions, len(self) - 1)] - prefixes
        return np.where(distances >> self._bits == 0, distances.astype(np.int64), -1)

    def count_between(self, first: int, end: int) -> int:
        """Number of row numbers in [first, end)."""
        numbers = self._entries - self._prefixes(self._entries)
        return int(((numbers >= first) & (numbers < end)).sum())


class Reuse:
    """Finds rows in earlier outputs; an :class:`.OutputError` if one changed since it was opened, or cannot be read.

    Args:
        outs: paths or URIs; a row of several outputs gets the label of the first.
        signature: signature of this run.
        names: column names of this run.
    """

    def __init__(self, outs: Sequence[str], signature: Signature, names: ColumnNames) -> None:
        self._signature = signature
        self._labels = pa.schema([column for column in output_schema(names) if column.name != "reused"])
        locations = find_earlier(map(parse_location, outs))
        self._outputs = [open_earlier(location, signature, self._labels) for location in locations]
        self._rows = EarlierRows([shard for output in self._outputs for shard in output.shards], self._labels.names)
        self._index: KeyIndex | None = None

    def load(self) -> None:
        """Read all keys. Until then no row is found."""
        self._index = KeyIndex(self._rows.all_keys(), sum(output.rows for output in self._outputs))

    def info(self) -> ReuseInfo:
        """Record of the earlier outputs for ``_plan.json`` and ``_run.json``."""
        used = [output for output in self._outputs if output.shards]
        digests = json.dumps([output.digest for output in self._outputs]).encode("ascii")
        outputs, end = [], 0
        for output in self._outputs:
            first, end = end, end + output.rows
            differs = tuple(map(str, output.signature.changes_to(self._signature)))
            outputs.append(
                ReusedOutput(
                    out=output.name,
                    signature_equal=output.signature == self._signature,
                    differs=differs,
                    keys=None if self._index is None else self._index.count_between(first, end),
                    shards_used=len(output.shards),
                    shards_refused=dict(sorted(output.refused.items())),
                )
            )
        return ReuseInfo(
            digest=hashlib.sha256(digests).hexdigest() if used else "",
            planned=tuple(
                PlannedReuse(output.name, output.signature.line, len(output.shards), output.digest)
                for output in self._outputs
            ),
            origins=tuple(dict.fromkeys(origin for output in used for origin in output.origins)),
            outputs=tuple(outputs),
        )

    def find(self, keys: pa.Array, is_sought: npt.NDArray[np.bool_]) -> tuple[Numbers, dict[str, pa.Array]]:
        """Find the rows of a window by their keys.

        Args:
            keys: row keys. *Shape:* (rows,).
            is_sought: whether to look for each row. *Shape:* (rows,).

        Returns:
            Positions of the rows that were found, and their labels by column. *Shape:* (found,) each.
        """
        words = key_words(keys)
        numbers = np.full(len(keys), -1, np.int64)
        if self._index is not None:
            numbers[is_sought] = self._index.find(words[is_sought, 0])
        rows = np.flatnonzero(numbers >= 0)
        table = self._labels.empty_table()
        if len(rows):
            table = self._rows.take(numbers[rows])
            has_key = (key_words(one_chunk(table[KEY])) == words[rows]).all(axis=1)
            rows, table = rows[has_key], table.filter(pa.array(has_key))
        return rows, {
            label.name: _label_column(table[label.name], label) for label in self._labels if label.name != KEY
        }


def _label_column(column: pa.ChunkedArray, label: pa.Field) -> pa.Array:
    """A column as a run makes it: Parquet gives dictionaries in another width and order."""
    values = _VALUES.get(label.name)
    if values is None:
        return one_chunk(column)
    texts = one_chunk(column.cast(pa.string()))
    codes = pc.index_in(texts, pa.array(values))
    if codes.null_count:
        unknown = texts.filter(codes.is_null())[0].as_py()
        raise OutputError(f"an earlier output has {label.name} = {unknown!r}, which is not a label; do not --reuse it")
    return pa.DictionaryArray.from_arrays(codes.cast(pa.int8()), pa.array(values))
