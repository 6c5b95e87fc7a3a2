"""What the inputs are, found from their footers before anything is read or written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b

import pyarrow as pa
from msgspec.structs import replace

from ..errors import ColumnError, InputError, ScorerError, ShardError
from ..scoring.plan import Plan
from ..scoring.signature import Signature
from ..scoring.windows import ShardColumns, Window
from ..storage import Fingerprint, InputFile, InputRecord, ShardInfo, ShardReader
from ..storage.canonical import normal
from ..storage.filesystems import refuse_overlap
from ..storage.pieces import Piece, piece_name, shard_of
from ..storage.records import content_sha256

LARGE_ROWS = 2_000_000
"""Rows of a unit above which a run names ``--split-rows``."""
_STARTS = 8
_START_ROWS = 4096
_START_BYTES = 16 << 20
"""Read of a shard at most, and in one window."""


@dataclass
class Shard:
    """A shard that can be scored, or a piece of one. ``file``: its relative path is that of the output. ``limit``: rows
    to score, all when ``None``. ``piece``: the rows of the input that it has, ``None`` for all."""

    file: InputFile
    info: ShardInfo
    columns: ShardColumns
    limit: int | None = None
    piece: Piece | None = None

    @property
    def all_rows(self) -> int:
        """Its rows without the limit."""
        return self.info.rows if self.piece is None else self.piece.rows

    @property
    def rows(self) -> int:
        """Its rows to score."""
        return self.all_rows if self.limit is None else min(self.limit, self.all_rows)

    @property
    def planned(self) -> InputRecord:
        """The input, for the plan."""
        return InputRecord(self.file.uri, self.info.identity, piece=self.piece)

    def windows(
        self,
        reader: ShardReader,
        *,
        max_rows: int,
        max_bytes: int,
        limit: int | None = None,
        first_rows: Sequence[int] = (),
    ) -> Iterator[pa.Table]:
        """Its rows to score; see :meth:`.ShardReader.windows`.

        Args:
            limit: read only the first ones.
            first_rows: of the first windows, where they are smaller, as a run cuts them.
        """
        whole = self.piece is None and self.limit is None and limit is None
        return reader.windows(
            self.file.uri,
            max_rows=max_rows,
            max_bytes=max_bytes,
            first=self.piece.first if self.piece is not None else 0,
            limit=None if whole else self.rows if limit is None else min(self.rows, limit),
            columns=self.columns.needed,
            first_rows=first_rows,
        )

    @property
    def least_bytes(self) -> int:
        """Bytes that the output will have at the very least: keys do not compress, the rest of the input may."""
        share = self.rows / self.info.rows if self.info.rows else 0.0
        return 4096 + 20 * self.rows + (int(self.info.identity.size * share) // 4 if self.columns.keeps_all else 0)

    def record(self) -> InputRecord:
        """The input with its content, for the receipt of its output. The pieces of a file share one hash of it."""
        return replace(self.planned, content=content_sha256(self.file.uri, self.info.identity))

    def fingerprint(self, signature: Signature, reuse: str = "") -> Fingerprint:
        """What the output of this shard depends on: the signature of the score, and what else shapes the file.

        ``reuse``: the digest of the earlier outputs that labels may come from; empty when there are none.
        """
        return Fingerprint(
            signature=signature.line,
            signature_parts=signature.parts,
            columns=normal(self.columns.shape),
            rows=self.limit,
            reuse=reuse,
            piece=self.piece,
        )


def part_of(relative: str, parts: int) -> int:
    """Which of so many parts a path belongs to, from 1: by its hash, so that new inputs move no others."""
    digest = blake2b(relative.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % parts + 1


@dataclass(frozen=True)
class Unusable:
    """A shard that cannot be scored, and why; or a piece of one, with the rows that it had when it could be opened."""

    file: InputFile
    error: ScorerError
    piece: Piece | None

    @property
    def planned(self) -> InputRecord:
        """The input, for the plan."""
        return InputRecord(self.file.uri, None, piece=self.piece)


@dataclass
class Survey:
    """``usable`` in the order of their relative paths; ``failed``: by relative path. Of shards in pieces, each piece is
    one of these."""

    usable: list[Shard] = field(default_factory=list)
    failed: dict[str, Unusable] = field(default_factory=dict)

    @property
    def planned(self) -> dict[str, InputRecord]:
        """What the plan records of all inputs, by the relative path of the output."""
        usable = {shard.file.relative: shard.planned for shard in self.usable}
        return usable | {name: one.planned for name, one in self.failed.items()}


def survey(
    files: Sequence[InputFile],
    reader: ShardReader,
    find_columns: Callable[[pa.Schema], ShardColumns],
    limit: int | None = None,
    before: Plan | None = None,
) -> Survey:
    """Open every shard's footer, find its columns, and divide it into the pieces that the reader found.

    Args:
        find_columns: finds the columns of a schema; raises ``ColumnError`` where that cannot be scored.
        limit: rows to take, over all shards in order; shards behind them are left out.
        before: the earlier plan. A shard that cannot be opened now keeps the pieces that it had.

    Raises:
        InputError: not one shard can be used; says why for the first.
        UsageError: the folder of a shard's pieces would stand where another output or receipt is a file.
    """
    found = Survey()
    pieces: dict[str, dict[str, Piece | None]] = {}
    for relative, record in inputs_of(before).items():
        if record.piece is not None:
            pieces.setdefault(shard_of(relative), {})[relative] = record.piece
    left = limit
    following = [file.uri for file in files[1:]]
    for file, then in zip(files, [*following, None], strict=True):
        if left is not None and left <= 0:
            break
        try:
            info = reader.probe(file.uri, then)
            shard = Shard(file, info, find_columns(info.schema))
        except (ShardError, ColumnError) as error:
            for relative, piece in pieces.get(file.relative, {file.relative: None}).items():
                found.failed[relative] = Unusable(InputFile(file.uri, relative), error, piece)
            continue
        for one in _divided(shard):
            if left is not None:
                if left <= 0:
                    break
                if one.rows > left:
                    one.limit = left
                left -= one.rows
            found.usable.append(one)
    if not found.usable:
        first = next(iter(found.failed.values()))
        many = f" (and {len(found.failed) - 1} more inputs cannot be used)" if len(found.failed) > 1 else ""
        raise InputError(f"{first.file.name}: {first.error}{many}") from first.error
    if any(shard.piece is not None for shard in found.usable):
        refuse_overlap(found.planned)
    return found


def inputs_of(plan: Plan | None) -> Mapping[str, InputRecord]:
    """The inputs of a plan, none where there is none."""
    return plan.inputs if plan is not None else {}


def _divided(shard: Shard) -> list[Shard]:
    """The pieces of a shard, or the shard itself."""
    if not shard.info.pieces:
        return [shard]
    uri, name = shard.file.uri, shard.file.relative
    return [
        dataclasses.replace(shard, file=InputFile(uri, piece_name(name, number)), piece=piece)
        for number, piece in enumerate(shard.info.pieces)
    ]


def large_units(shards: Sequence[Shard]) -> str | None:
    """A note on shards and pieces of more than :data:`LARGE_ROWS` rows, which names ``--split-rows``; ``None`` where
    there are none."""
    large = [shard for shard in shards if shard.rows > LARGE_ROWS]
    if not large:
        return None
    first = large[0]
    more = f" and {len(large) - 1} more" if len(large) > 1 else ""
    if first.piece is not None:
        way = "a smaller --split-rows gives smaller pieces, as far as the row groups of the input are smaller"
    elif first.info.row_groups < 2:
        way = "--split-rows divides only Parquet files of several row groups; write it as one to use it"
    else:
        way = "--split-rows N divides it into pieces along row groups"
    return (
        f"note: {first.file.name}{more} has {first.rows:,} rows and is one unit of work, which an interrupted run "
        f"begins again; {way}"
    )


def start_of(shard: Shard, reader: ShardReader) -> Iterator[Window[None, ShardColumns]]:
    """The first rows of a shard, read when they are asked for; none where they cannot be read."""
    windows = shard.windows(reader, max_rows=_START_ROWS, max_bytes=_START_BYTES, limit=_START_ROWS)
    with suppress(ShardError):  # the run will set it aside, and say why
        for table in windows:
            yield Window(None, table, shard.columns)


def spread(shards: Sequence[Shard]) -> Sequence[Shard]:
    """A few shards, spread evenly over a run, whose first rows are looked at where something must be measured."""
    return shards[:: max(1, len(shards) // _STARTS)][:_STARTS]
