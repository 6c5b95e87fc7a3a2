"""Reading and writing shards as Arrow tables, and the protocol that makes a run resumable; independent of the
metric."""

from __future__ import annotations

from .counts import Counts
from .filesystems import InputFile, check_output_apart, resolve_inputs, table_notes
from .locations import check_apart
from .output import RunOutput, SeenOutput, inspect_output
from .reading.shards import ShardInfo, ShardReader
from .receipts import FailedShard, Receipt, Receipts
from .records import Fingerprint, Identity, InputRecord, Maker, WrittenFile
from .space import require_space
from .writer import ShardWriter

__all__ = [
    "Counts",
    "FailedShard",
    "Fingerprint",
    "Identity",
    "InputFile",
    "InputRecord",
    "Maker",
    "Receipt",
    "Receipts",
    "RunOutput",
    "SeenOutput",
    "ShardInfo",
    "ShardReader",
    "ShardWriter",
    "WrittenFile",
    "check_apart",
    "check_output_apart",
    "inspect_output",
    "require_space",
    "resolve_inputs",
    "table_notes",
]
