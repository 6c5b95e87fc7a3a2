"""Arrow tables in and out of shards, and the protocol that makes a run resumable; knows nothing of the metric."""

from __future__ import annotations

from .earlier import EarlierOutput, Wanted, check_earlier, open_earlier
from .earlier_rows import EarlierRows
from .filesystems import InputFile, check_output_apart, resolve_inputs
from .key_index import KeyIndex, KeyIndexBuilder, key_words
from .plan import OutputFolder, inspect_output
from .receipts import Receipt, Receipts
from .shards import ShardInfo, ShardReader
from .space import require_space
from .writer import ShardWriter, WrittenFile

__all__ = [
    "EarlierOutput",
    "EarlierRows",
    "InputFile",
    "KeyIndex",
    "KeyIndexBuilder",
    "OutputFolder",
    "Receipt",
    "Receipts",
    "ShardInfo",
    "ShardReader",
    "ShardWriter",
    "Wanted",
    "WrittenFile",
    "check_earlier",
    "check_output_apart",
    "inspect_output",
    "key_words",
    "open_earlier",
    "require_space",
    "resolve_inputs",
]
