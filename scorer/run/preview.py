"""What a run finds before it writes anything, in words: shards that are scored again and why, and large ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..storage.receipts import NO_RECEIPT
from ..storage.shards import Shard

LARGE_ROWS = 2_000_000
"""Rows of a shard above which a run names ``--split-rows``."""
_NAMED = 3


def group_by_reason(reasons: Mapping[Shard, str]) -> dict[str, list[str]]:
    """Paths of the shards that were scored before and are scored again, by reason.

    Args:
        reasons: by shard, why it is not done; see :meth:`scorer.storage.output_folder.OutputFolder.unfinished`.
    """
    found: dict[str, list[str]] = {}
    for shard, reason in reasons.items():
        if reason != NO_RECEIPT:
            found.setdefault(reason, []).append(shard.relative)
    return found


def rescore_messages(reasons: Mapping[str, Iterable[str]]) -> list[str]:
    """What :func:`group_by_reason` found, a line for each reason."""
    lines = []
    for reason, relatives in reasons.items():
        paths = list(relatives)
        shards = f"{len(paths):,} shard{'' if len(paths) == 1 else 's'}"
        lines.append(f"scored again ({shards}): {reason}: {named(paths)}")
    return lines


def named(paths: Sequence[str]) -> str:
    """The first paths, and how many more there are."""
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more


def large_shards_note(shards: Iterable[Shard]) -> str | None:
    """A note on shards of more than :data:`LARGE_ROWS` rows, which names ``--split-rows``; ``None`` where there are
    none."""
    large = [shard for shard in shards if shard.rows > LARGE_ROWS]
    if not large:
        return None
    first = large[0]
    more = f" and {len(large) - 1} more" if len(large) > 1 else ""
    if first.groups is not None:
        advice = "a smaller --split-rows gives smaller parts, as far as the row groups of the input are smaller"
    elif first.row_groups < 2:
        advice = "--split-rows divides only Parquet files of several row groups; write it as one to use it"
    else:
        advice = "--split-rows N divides it along row groups"
    return (
        f"note: {first.name}{more} has {first.rows:,} rows and is one unit of work, which an interrupted run "
        f"begins again; {advice}"
    )
