"""The names of an output's own files, which names a shard's output may have, and what the storage reads of a plan."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import DamagedFileError, OutputError
from ..system.codec import OpenRecord, decode
from ..system.formats import PLAN_SCHEMA
from .records import InputRecord

PLAN, RUN, SUCCESS = "_plan.json", "_run.json", "_SUCCESS"
RECEIPTS, FAILED = "_receipts", "_failed"


class _PlannedInputs(OpenRecord, frozen=True, kw_only=True):
    schema: int = PLAN_SCHEMA
    inputs: Mapping[str, InputRecord]


def planned_inputs(plan: bytes, where: str) -> Mapping[str, InputRecord] | None:
    """The inputs of a plan by the relative path of their output; ``None`` of a damaged one.

    Args:
        where: the file, for messages.

    Raises:
        SchemaError: it was written by another version of this program.
    """
    try:
        return decode(plan, _PlannedInputs, where).inputs
    except DamagedFileError:
        return None


def is_output(relative: str) -> bool:
    """Whether a path may be that of an output: not absolute, not upwards, and no part begins with ``_`` or ``.``."""
    parts = relative.split("/")
    return "\0" not in relative and all(part and part[0] not in "_." for part in parts)


def check_relative(relative: str) -> None:
    """Refuse a path that would not lie below the output folder, or that is the name of one of its own files.

    Raises:
        OutputError: see :func:`is_output`.
    """
    if not is_output(relative):
        raise OutputError(
            f"{relative!r} is not a valid output path: it must be inside the output folder, and no part of it may "
            "begin with '_' or '.'"
        )
