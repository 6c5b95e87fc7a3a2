"""Reading and writing shards as Arrow tables, and the protocol that makes a run resumable; independent of the
metric."""

from __future__ import annotations

from .filesystems import InputFile, check_output_apart, resolve_inputs
from .plan import OutputFolder, inspect_output
from .reading.shards import ShardInfo, ShardReader
from .receipts import Receipt, Receipts
from .space import require_space
from .writer import ShardWriter, WrittenFile

__all__ = [
    "InputFile",
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
]
