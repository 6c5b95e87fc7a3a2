"""The names of an output folder's own files, and whether its run has finished."""

from __future__ import annotations

from pathlib import Path

from .canonical import digest
from .durable import output_errors, read_json

PLAN, RUN, SUCCESS = "_plan.json", "_run.json", "_SUCCESS"


def is_finished(out: Path) -> bool:
    """Whether every planned shard of a folder is done: ``_SUCCESS`` is there, and for the plan that is there.

    A marker of a plain run, or of an earlier version, names no plan.
    """
    with output_errors("read", out / SUCCESS):
        try:
            marker = (out / SUCCESS).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return False
    plan = read_json(out / PLAN) if marker else None
    return not marker or (isinstance(plan, dict) and digest(plan).encode("ascii") == marker)
