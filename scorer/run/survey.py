"""What the inputs are, found from their footers before anything is read or written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import pyarrow as pa

from ..errors import ColumnError, InputError, ScorerError, ShardError
from ..scoring.signature import Signature
from ..scoring.windows import ShardColumns
from ..storage import Fingerprint, InputFile, InputRecord, ShardInfo, ShardReader
from ..storage.content import content_sha256


@dataclass
class Shard:
    """A shard that can be scored. ``limit``: rows to score, all when ``None``."""

    file: InputFile
    info: ShardInfo
    columns: ShardColumns
    limit: int | None = None

    @property
    def rows(self) -> int:
        return self.info.rows if self.limit is None else min(self.limit, self.info.rows)

    @property
    def least_bytes(self) -> int:
        """Bytes that the output will have at the very least: keys do not compress, the rest of the input may."""
        share = self.rows / self.info.rows if self.info.rows else 0.0
        return 4096 + 20 * self.rows + (int(self.info.identity.size * share) // 4 if self.columns.keeps_all else 0)

    def record(self) -> InputRecord:
        """The input with its content, for the receipt of its output."""
        identity = self.info.identity
        return InputRecord(self.file.uri, identity, content_sha256(self.file.uri, identity))

    def fingerprint(self, signature: Signature, reuse: str = "") -> Fingerprint:
        """What the output of this shard depends on: the signature of the score, and what else shapes the file.

        ``reuse``: the digest of the earlier outputs that labels may come from; empty when there are none.
        """
        content = {
            "signature": signature.line,
            "signature_parts": signature.parts,
            "columns": self.columns.shape,
            "rows": self.limit,
            "reuse": reuse,
        }
        return Fingerprint.of(content)


def part_of(relative: str, parts: int) -> int:
    """Which of so many parts a path belongs to, from 1: by its hash, so that new inputs move no others."""
    digest = blake2b(relative.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % parts + 1


@dataclass
class Survey:
    """``usable`` in the order of their relative paths; ``failed``: by relative path, and why."""

    usable: list[Shard]
    failed: dict[str, tuple[InputFile, ScorerError]]


def survey(
    files: Sequence[InputFile],
    reader: ShardReader,
    find_columns: Callable[[pa.Schema], ShardColumns],
    limit: int | None = None,
) -> Survey:
    """Open every shard's footer and find its columns.

    Args:
        find_columns: finds the columns of a schema; raises ``ColumnError`` where that cannot be scored.
        limit: rows to take, over all shards in order; shards behind them are left out.

    Raises:
        InputError: not one shard can be used; says why for the first.
    """
    found = Survey([], {})
    left = limit
    following = [file.uri for file in files[1:]]
    for file, then in zip(files, [*following, None], strict=True):
        if left is not None and left <= 0:
            break
        try:
            info = reader.probe(file.uri, then)
            shard = Shard(file, info, find_columns(info.schema))
        except (ShardError, ColumnError) as error:
            found.failed[file.relative] = (file, error)
            continue
        if left is not None:
            if info.rows > left:
                shard.limit = left
            left -= shard.rows
        found.usable.append(shard)
    if not found.usable:
        relative, (_, first) = next(iter(found.failed.items()))
        many = f" (and {len(found.failed) - 1} more inputs cannot be used)" if len(found.failed) > 1 else ""
        raise InputError(f"{relative}: {first}{many}") from first
    return found
