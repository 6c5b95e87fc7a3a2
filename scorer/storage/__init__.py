"""Reading and writing shards as Arrow tables, and the protocol that makes a run resumable; independent of the
metric."""

from __future__ import annotations

from .counts import Counts
from .filesystems import InputFile, check_output_apart, resolve_inputs, table_notes
from .plan import OutputFolder, inspect_output
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
    "OutputFolder",
    "Receipt",
    "Receipts",
    "ShardInfo",
    "ShardReader",
    "ShardWriter",
    "WrittenFile",
    "check_output_apart",
    "inspect_output",
    "require_space",
    "resolve_inputs",
    "table_notes",
]
