"""Reading and writing shards as Arrow tables, and the protocol that makes a run resumable; independent of the
metric.

Names are loaded when they are first used: a :class:`scorer.Scorer` needs only the counts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .counts import Counts as Counts
    from .durable import require_space as require_space
    from .filesystems import InputFile as InputFile
    from .filesystems import check_apart as check_apart
    from .filesystems import resolve_inputs as resolve_inputs
    from .output import RunOutput as RunOutput
    from .output import SeenOutput as SeenOutput
    from .output import inspect_output as inspect_output
    from .reading.shards import ShardInfo as ShardInfo
    from .reading.shards import ShardReader as ShardReader
    from .receipts_old import FailedShard as FailedShard
    from .receipts_old import Receipt as Receipt
    from .receipts_old import Receipts as Receipts
    from .records import Fingerprint as Fingerprint
    from .records import Identity as Identity
    from .records import InputRecord as InputRecord
    from .records import Maker as Maker
    from .records import WrittenFile as WrittenFile
    from .writer_old import ShardWriter as ShardWriter

_HOME = {
    "Counts": ".counts",
    "FailedShard": ".receipts_old",
    "Fingerprint": ".records",
    "Identity": ".records",
    "InputFile": ".filesystems",
    "InputRecord": ".records",
    "Maker": ".records",
    "Receipt": ".receipts_old",
    "Receipts": ".receipts_old",
    "RunOutput": ".output",
    "SeenOutput": ".output",
    "ShardInfo": ".reading.shards",
    "ShardReader": ".reading.shards",
    "ShardWriter": ".writer_old",
    "WrittenFile": ".records",
    "check_apart": ".filesystems",
    "inspect_output": ".output",
    "require_space": ".durable",
    "resolve_inputs": ".filesystems",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
