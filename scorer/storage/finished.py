"""The names of an output's own files, and what the storage itself reads of a plan."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import DamagedFileError
from ..system.codec import OpenRecord, decode
from ..system.formats import PLAN_SCHEMA
from .records import InputRecord

PLAN, RUN, SUCCESS = "_plan.json", "_run.json", "_SUCCESS"


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
