"""Earlier outputs as a source of rows: which of their shards are believed, and why the others are not.

A shard is believed by the rule that a resume skips one by: its receipt is whole, and the file's size, SHA-256 and row
count are those of the receipt. Only then is the file opened. ``_SUCCESS`` is not asked for, since every shard stands
for itself.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import OutputError, UsageError
from ...storage.local_paths import local_path
from ...storage.location import Location
from ...storage.output import OutputFile, SeenOutput
from ...system.waiting import several
from ..origin import Origin
from ..plan import Plan
from ..signature import Signature
from ..summary import origins_of

DAMAGED_RECEIPT, DAMAGED_FILE, OTHER_SIGNATURE = "damaged receipt", "damaged file", "other signature"
_REQUESTS = 8


@dataclass(frozen=True)
class Wanted:
    """What a shard must offer.

    ``signature``: of its receipt and in its Parquet footer. ``columns``: the columns to be had, without the prefix they
    may carry there; ``key``: the one of row keys, the last of them in the file but for those that a run adds behind it.
    """

    signature: Signature
    columns: pa.Schema
    key: str = "row_key"


@dataclass(frozen=True)
class EarlierShard:
    """A believed shard.

    ``file``: the version that is believed. ``groups``: int64, *Shape:* (row groups + 1,), where each row group begins.
    """

    file: OutputFile
    relative: str
    sha256: str
    rows: int
    prefix: str
    groups: npt.NDArray[np.int64]


@dataclass
class EarlierOutput:
    """The output of an earlier run.

    ``out``: as it was given. ``name``: its absolute path or URI. ``signature``: that of its plan. ``origins``: where
    its labels were computed, empty where its ``_run.json`` does not say. ``refused``: shards not believed, by reason.
    """

    out: Location
    name: str
    signature: Signature
    origins: tuple[Origin, ...]
    shards: list[EarlierShard] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 over the receipts of the believed shards, as hex."""
        content = [[shard.relative, shard.sha256, shard.rows] for shard in self.shards]
        return hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()


def check_earlier(given: Sequence[Location], out: Location | None) -> list[Location]:
    """The earlier outputs to use, each once, in the order given. Opens nothing but their plans.

    Raises:
        UsageError: one is not there, or is OUT itself. OutputError: one is not an output of this program, or the store
            cannot be used.
        MissingDependencyError: one is in a store, and ``obstore`` is not installed.
    """
    found: dict[Location, Location] = {}
    for place in given:
        if isinstance(place, Path):
            local_path(place, "--reuse")
            if not place.is_dir():
                state = "is a file" if place.exists() else "does not exist"
                raise UsageError(f"--reuse {place} {state}; name the output folder of an earlier run")
        if out is not None and _resolved(place) == _resolved(out):
            raise UsageError(
                f"--reuse {place} is the output folder itself; a run resumes there without being asked, so leave "
                "--reuse out, or choose another --out"
            )
        if Plan.usable(place) is None:
            raise OutputError(f"--reuse {place} is not an output folder of `scorer run`: it has no readable _plan.json")
        found.setdefault(_resolved(place), place)
    return list(found.values())


def _resolved(place: Location) -> Location:
    return place.resolve() if isinstance(place, Path) else place


def open_earlier(out: Location, wanted: Wanted) -> EarlierOutput:
    """Look at every shard of an earlier output that has a receipt; the believed ones in the order of their paths.

    Raises:
        OutputError: its plan or a receipt is there and cannot be read, or the store cannot.
    """
    output = SeenOutput(out)
    plan = Plan.load(output)
    signature = plan.signature if plan is not None else Signature("")
    found = EarlierOutput(out, output.name, signature, origins_of(output))
    refused: Counter[str] = Counter()
    relatives = list(output.receipts.all())
    # A footer in a store is a request, of which several are made at a time; a file is hashed, one after the other.
    shards = several(partial(_open_shard, output, wanted), relatives, 1 if isinstance(out, Path) else _REQUESTS)
    for shard in shards:
        if isinstance(shard, str):
            refused[shard] += 1
        else:
            found.shards.append(shard)
    found.refused = dict(sorted(refused.items()))
    return found


def _open_shard(output: SeenOutput, wanted: Wanted, relative: str) -> EarlierShard | str:
    """A shard, or why it is not believed.

    Raises:
        OutputError: the store cannot be read.
    """
    try:
        receipt = output.receipts.read(relative)
    except OutputError:
        receipt = None  # a name that no output has
    if receipt is None:
        return DAMAGED_RECEIPT
    if not wanted.signature.is_of(receipt.fingerprint):
        return OTHER_SIGNATURE
    try:
        source = output.file(relative)
        if not output.receipts.is_intact(receipt):
            return DAMAGED_FILE
    except OSError:
        return DAMAGED_FILE
    try:
        with source.open() as file, pq.ParquetFile(file) as parquet:
            if Signature.of_footer(parquet.schema_arrow.metadata) != wanted.signature:
                return OTHER_SIGNATURE
            prefix = _prefix(parquet.schema_arrow, wanted.key)
            lacking = _lacking(parquet.schema_arrow, prefix, wanted)
            if lacking is not None:
                return f"no column {lacking}"
            rows = [parquet.metadata.row_group(i).num_rows for i in range(parquet.num_row_groups)]
    except (OSError, pa.ArrowException) as error:
        if source.is_remote:  # it has the version that its receipt names, so the store cannot be read
            raise OutputError(f"{source.name}: cannot be read for --reuse: {' '.join(str(error).split())}") from error
        return DAMAGED_FILE
    groups = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    sha256 = receipt.output.sha256
    return EarlierShard(source, relative, sha256, int(groups[-1]), prefix, groups)


def _prefix(schema: pa.Schema, name: str) -> str:
    """What stands before the names of a run's columns: they come last, so the last one of a name is the run's own."""
    found = [one for one in schema.names if one.endswith(name)]
    return found[-1].removesuffix(name) if found else ""


def _lacking(schema: pa.Schema, prefix: str, wanted: Wanted) -> str | None:
    for column in wanted.columns:
        name = prefix + column.name
        if schema.names.count(name) != 1 or not _same_type(schema.field(name).type, column.type):
            return str(column.name)
    return None


def _same_type(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_dictionary(wanted):  # Parquet has its own width of indices
        return pa.types.is_dictionary(found) and bool(found.value_type == wanted.value_type)
    return bool(found.equals(wanted))
