"""Labels from earlier outputs (``--reuse``): a row whose key is there, under the same signature, keeps its label.

A shard is used by the rule that a resume skips one by: its receipt is whole, and the file has the size, SHA-256 or
version, and rows of its receipt. ``_SUCCESS`` is not needed, since every shard stands for itself.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..errors import DamagedFileError, OutputError, SchemaError, UsageError, count_of
from ..metric import ColumnNames
from ..metric.columns import output_schema
from ..metric.verdict import FINE, ROUGH
from ..scoring.summary import ComputeEnvironment, ReusedOutput
from ..storage.location import Location, local_path, parse_location
from ..storage.output_folder import OutputFolder
from ..storage.plan import RUN, Plan, PlannedReuse, check_parts, find_outputs
from ..storage.receipts import Receipt, Signature, canonical
from ..storage.store import Store
from ..system.codec import OpenRecord, decode
from ..system.waiting import map_in_threads, note_progress
from .executors import ReuseInfo

KEY, LABEL = "row_key", "fine"
DAMAGED_RECEIPT, DAMAGED_FILE, OTHER_SIGNATURE = "damaged receipt", "damaged file", "other signature"
CACHE_BYTES = 256 << 20
"""Decoded row groups that are kept."""
PARTITIONS, MOST_ROWS = 64, 2**32
_REQUESTS = 8
_VALUES = {"fine": FINE, "rough": ROUGH}
Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class EarlierShard:
    """A shard that is used. ``version``: of its file. ``prefix``: of its label columns. ``groups``: int64, *Shape:*
    (row groups + 1,), number of the first row of each row group."""

    store: Store
    relative: str
    version: str
    sha256: str
    prefix: str
    groups: Numbers

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.groups[-1])


@dataclass
class EarlierOutput:
    """The output of an earlier run. ``signature``: that of its plan. ``origins``: where its labels were computed, empty
    where its ``_run.json`` does not say. ``refused``: shards that are not used, by reason."""

    name: str
    signature: Signature
    origins: tuple[ComputeEnvironment, ...]
    shards: list[EarlierShard] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 over the receipts of the shards that are used, as hex."""
        content = [[shard.relative, shard.sha256, shard.rows] for shard in self.shards]
        return hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()


class _Origins(OpenRecord, frozen=True, kw_only=True):
    origins: tuple[ComputeEnvironment, ...] = ()


def check_earlier(given: Sequence[Location], out: Location | None) -> list[Location]:
    """The earlier outputs to use, each once, in the order given; opens only their plans.

    Raises:
        UsageError: one does not exist, or is OUT itself. OutputError: one is not an output, parts of a run are missing,
            or the store cannot be used. MissingDependencyError: one is in a store, and ``obstore`` is not installed.
    """
    found: dict[Location, Location] = {}
    plans: dict[str, Plan] = {}
    for one in given:
        if isinstance(one, Path):
            local_path(one, "--reuse")
            if not one.is_dir():
                state = "is a file" if one.exists() else "does not exist"
                raise UsageError(f"--reuse {one} {state}; name the output folder of an earlier run")
        for output in find_outputs([one]):
            if out is not None and _resolved(output) == _resolved(out):
                raise UsageError(
                    f"--reuse {one} is the output folder itself; a run resumes there without being asked, so leave "
                    "--reuse out, or choose another --out"
                )
            plan = OutputFolder(output, patient=False).read_plan(lambda message: None)
            if plan is None:
                raise OutputError(f"--reuse {one} is not an output of `scorer run`: it has no readable _plan.json")
            if _resolved(output) not in found:
                found[_resolved(output)] = output
                plans[str(output)] = plan
    of_one_run: dict[tuple[object, ...], dict[str, Plan]] = {}
    for name, plan in plans.items():
        if plan.part is not None:
            run = (plan.part.count, plan.part.shards, plan.signature, canonical(plan.signature_parts))
            of_one_run.setdefault(run, {})[name] = plan
    for parts in of_one_run.values():
        check_parts(parts, advice="pass --reuse with the folder above them")
    return list(found.values())


def _resolved(place: Location) -> Location:
    return place.resolve() if isinstance(place, Path) else place


def open_earlier(out: Location, signature: Signature, labels: pa.Schema) -> EarlierOutput:
    """Look at every shard of an earlier output that has a receipt; the usable ones in the order of their paths.

    Args:
        signature: that labels must have. labels: the columns to take over, :data:`KEY` among them.

    Raises:
        OutputError: its plan or a receipt cannot be read, or the store cannot.
    """
    folder = OutputFolder(out)
    plan = folder.read_plan()
    try:
        origins = decode(folder.store.read(RUN) or b"", _Origins, RUN).origins
    except (DamagedFileError, SchemaError):
        origins = ()
    found = EarlierOutput(str(out), Signature.of(plan) if plan is not None else Signature.of_line(""), origins)
    refused: Counter[str] = Counter()
    # A footer in a store is a request, of which several are made at a time; a file is hashed, one after the other.
    look = partial(_open_shard, folder, signature, labels)
    for shard in map_in_threads(look, folder.receipts().items(), _REQUESTS if folder.store.is_remote else 1):
        if isinstance(shard, str):
            refused[shard] += 1
        else:
            found.shards.append(shard)
    found.refused = dict(sorted(refused.items()))
    return found


def open_all(outs: Sequence[str], signature: Signature, labels: pa.Schema) -> list[EarlierOutput]:
    """The outputs at some paths or URIs, or the parts of one below them, each once; see :func:`open_earlier`."""
    places = find_outputs([parse_location(out) for out in outs])
    return [open_earlier(out, signature, labels) for out in {_resolved(out): out for out in places}.values()]


def _open_shard(
    folder: OutputFolder, signature: Signature, labels: pa.Schema, found: tuple[str, Receipt | str]
) -> EarlierShard | str:
    """A shard, or why it is not used.

    Raises:
        OutputError: the store cannot be read.
    """
    relative, receipt = found
    if isinstance(receipt, str):
        return DAMAGED_RECEIPT
    if Signature.of(receipt.fingerprint) != signature:
        return OTHER_SIGNATURE
    store, info = folder.store, folder.store.list(relative).get(relative)
    if info is None or not folder.is_intact(receipt, info):
        return DAMAGED_FILE
    try:
        with store.open(relative, info.version) as file, pq.ParquetFile(file) as parquet:
            schema = parquet.schema_arrow
            if Signature.of_footer(schema.metadata) != signature:
                return OTHER_SIGNATURE
            # The columns of a run come last, so the last one of a name is the run's own.
            prefix = next((name.removesuffix(KEY) for name in reversed(schema.names) if name.endswith(KEY)), "")
            missing = [one.name for one in labels if not _has(schema, prefix + one.name, one.type)]
            if missing:
                return f"no column {missing[0]}"
            rows = [parquet.metadata.row_group(i).num_rows for i in range(parquet.num_row_groups)]
    except (OSError, pa.ArrowException) as error:
        if store.is_remote:  # it has the version that its receipt names, so the store cannot be read
            raise _unreadable(store.uri(relative), error) from error
        return DAMAGED_FILE
    groups = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    return EarlierShard(store, relative, info.version, receipt.output.sha256, prefix, groups)


def _has(schema: pa.Schema, name: str, wanted: pa.DataType) -> bool:
    if schema.names.count(name) != 1:
        return False
    found = schema.field(name).type
    if pa.types.is_dictionary(wanted):  # Parquet has its own width of indices
        return pa.types.is_dictionary(found) and bool(found.value_type == wanted.value_type)
    return bool(found.equals(wanted))


def _unreadable(name: str, error: Exception) -> OutputError:
    return OutputError(f"{name}: cannot be read for --reuse: {' '.join(str(error).split())}")


class EarlierRows:
    """The rows of shards, numbered through in the order given: all keys once, then the rows that are asked for.

    A window mostly needs the rows of one row group, so whole row groups are decoded and kept, and the least recently
    used given up beyond a byte budget. ``decoded``: row groups decoded by :meth:`take` so far.

    Args:
        columns: what :meth:`take` gives, without prefix, :data:`KEY` among them.
    """

    def __init__(
        self, shards: Sequence[EarlierShard], columns: Sequence[str], *, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._shards, self._columns = list(shards), list(columns)
        self._starts = np.concatenate([[0], np.cumsum([shard.rows for shard in shards])]).astype(np.int64)
        self._groups: OrderedDict[tuple[int, int], pa.Table] = OrderedDict()
        self._cache_bytes, self._held, self.decoded = cache_bytes, 0, 0

    def all_keys(self) -> Iterator[tuple[Words, Numbers]]:
        """First words of the keys and row numbers of all rows with a label, a row group at a time.

        Raises:
            OutputError: a file changed or cannot be read.
        """
        for start, shard in zip(self._starts, self._shards, strict=False):
            with _opened(shard) as parquet:
                for group, first in enumerate(shard.groups[:-1]):
                    table = _read(parquet, shard.prefix, group, [KEY, LABEL])
                    labelled = np.flatnonzero(table[LABEL].is_valid().to_numpy())
                    yield key_words(one_chunk(table[KEY]))[labelled, 0], labelled + int(start + first)

    def take(self, numbers: Numbers) -> pa.Table:
        """The columns of rows by number, in the order asked for. int64, *Shape:* (n,) → n rows.

        Raises:
            OutputError: a file changed or cannot be read.
        """
        order = np.argsort(numbers, kind="stable")
        wanted = numbers[order]
        tables, done = [], 0
        while done < len(wanted):
            shard = int(np.searchsorted(self._starts, wanted[done], side="right")) - 1
            start, groups = self._starts[shard], self._shards[shard].groups
            group = int(np.searchsorted(groups, wanted[done] - start, side="right")) - 1
            end = int(np.searchsorted(wanted, start + groups[group + 1]))
            rows = wanted[done:end] - start - groups[group]
            tables.append(self._group(shard, group).take(pa.array(rows)))
            done = end
        return pa.concat_tables(tables).take(pa.array(np.argsort(order)))

    def _group(self, shard: int, group: int) -> pa.Table:
        place, source = (shard, group), self._shards[shard]
        if place not in self._groups:
            with _opened(source) as parquet:
                self._groups[place] = _read(parquet, source.prefix, group, self._columns)
            self.decoded += 1
            self._held += self._groups[place].nbytes
            while self._held > self._cache_bytes and len(self._groups) > 1:
                self._held -= self._groups.popitem(last=False)[1].nbytes
        self._groups.move_to_end(place)
        return self._groups[place]


@contextmanager
def _opened(shard: EarlierShard) -> Iterator[pq.ParquetFile]:
    try:
        with (
            shard.store.open(shard.relative, shard.version) as file,
            pq.ParquetFile(file, page_checksum_verification=True) as parquet,
        ):
            yield parquet
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(shard.store.uri(shard.relative), error) from error


def _read(parquet: pq.ParquetFile, prefix: str, group: int, columns: list[str]) -> pa.Table:
    """Columns of a row group, under their plain names, in the order asked for."""
    names = [prefix + name for name in columns]
    note_progress()
    # Parquet is asked by dotted paths; where a name has a dot, it could mean a part of another column.
    dotted = any("." in name for name in parquet.schema_arrow.names)
    table = parquet.read_row_group(group, columns=None if dotted else names, use_threads=False).select(names)
    # The dictionary of one row group is not that of the next, and Arrow joins only what has the same.
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(plain, names=columns)


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    found = column.combine_chunks()
    return found.chunk(0) if isinstance(found, pa.ChunkedArray) else found


def key_words(keys: pa.Array) -> Words:
    """16-byte keys as two numbers each. fixed_size_binary(16), *Shape:* (rows,) → uint64, (rows, 2)."""
    raw = np.frombuffer(keys.buffers()[1], np.uint64) if len(keys) else np.empty(0, np.uint64)
    return raw[2 * keys.offset : 2 * (keys.offset + len(keys))].reshape(-1, 2)


class KeyIndex:
    """Row numbers by row key, in 12 bytes a key; of rows with one key, the first is kept.

    Keys are digests, so their first eight bytes are as good as random numbers: they partition evenly, and almost never
    agree by chance. Only they are kept, with a 32-bit row number; when a row is fetched, its whole key is compared.
    Where two keys share their first eight bytes, one of them is not found, and its row is scored again.

    Args:
        keys: first words, and their row numbers, larger than all before. *Shape:* (n,) each.

    Raises:
        UsageError: a row number needs more than 32 bits.
    """

    def __init__(self, keys: Iterable[tuple[Words, Numbers]]) -> None:
        runs: list[list[tuple[Words, npt.NDArray[np.uint32]]]] = [[] for _ in range(PARTITIONS)]
        for words, numbers in keys:
            if len(numbers) and int(numbers[-1]) >= MOST_ROWS:
                raise UsageError(f"the earlier outputs have more than {MOST_ROWS:,} rows together; give fewer of them")
            for partition, chosen in _split(words):
                runs[partition].append((words[chosen], numbers[chosen].astype(np.uint32)))
        self._partitions = [_sorted(runs.pop(0)) for _ in range(PARTITIONS)]  # by itself: no copy of the whole
        self.keys = sum(len(words) for words, _ in self._partitions)

    def find(self, words: Words) -> Numbers:
        """Row numbers of keys given by their first words, -1 where there is none. *Shape:* (n,) → int64, (n,)."""
        found = np.full(len(words), -1, np.int64)
        for partition, chosen in _split(words):
            known, numbers = self._partitions[partition]
            if len(known):
                at = np.minimum(np.searchsorted(known, words[chosen]), len(known) - 1)
                found[chosen] = np.where(known[at] == words[chosen], numbers[at].astype(np.int64), -1)
        return found

    def count_between(self, first: int, end: int) -> int:
        """How many of the row numbers lie in [first, end)."""
        return sum(int(((numbers >= first) & (numbers < end)).sum()) for _, numbers in self._partitions)


def _split(words: Words) -> Iterator[tuple[int, Numbers]]:
    """The partitions of keys, and the positions of the keys of each, in their order."""
    partition = (words >> np.uint64(58)).astype(np.int64)
    order = np.argsort(partition, kind="stable")
    bounds = np.searchsorted(partition[order], np.arange(PARTITIONS + 1))
    for number in np.flatnonzero(np.diff(bounds)).tolist():
        yield number, order[bounds[number] : bounds[number + 1]]


def _sorted(runs: list[tuple[Words, npt.NDArray[np.uint32]]]) -> tuple[Words, npt.NDArray[np.uint32]]:
    """The keys of a partition in order, each once, with the lowest of its row numbers."""
    if not runs:
        return np.empty(0, np.uint64), np.empty(0, np.uint32)
    words, numbers = (np.concatenate(part) for part in zip(*runs, strict=True))
    order = np.argsort(words, kind="stable")
    words = words[order]
    first = np.concatenate([[True], words[1:] != words[:-1]])
    return words[first], numbers[order][first]


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

    def find(self, keys: pa.Array, wanted: npt.NDArray[np.bool_]) -> tuple[Numbers, dict[str, pa.Array]]:
        """Find the rows of a window by their keys: positions of those that are found, and their labels by column.

        Args:
            wanted: of each row, whether to look for it. *Shape:* (rows,)
        """
        words = key_words(keys)
        numbers = np.full(len(keys), -1, np.int64)
        if self._index is not None and self._index.keys:
            numbers[wanted] = self._index.find(words[wanted, 0])
        found = np.flatnonzero(numbers >= 0)
        table = self._labels.empty_table()
        if len(found):
            table = self._rows.take(numbers[found])
            same = (key_words(one_chunk(table[KEY])) == words[found]).all(axis=1)
            found, table = found[same], table.filter(pa.array(same))
        return found, {one.name: _label_column(table[one.name], one) for one in self._labels if one.name != KEY}


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
