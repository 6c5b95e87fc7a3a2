"""The names of an output folder's own files, whether its run has finished, and which plans can be read."""

from __future__ import annotations

from pathlib import Path

from ..errors import OutputError
from ..system.formats import PLAN_SCHEMA
from ..system.json_fields import Fields
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


def plan_fields(plan: object, where: str) -> Fields | None:
    """The fields of a plan; ``None`` when it is none, or damaged. ``where``: its file, for messages.

    Raises:
        OutputError: it was written by a newer version of this program.
    """
    if not isinstance(plan, dict):
        return None
    schema = plan.get("schema")
    if isinstance(schema, int) and schema > PLAN_SCHEMA:
        raise OutputError(
            f"{where} has schema {schema}, and this version knows {PLAN_SCHEMA}: a newer version wrote it; "
            "use that version or choose another --out"
        )
    return Fields(plan, where) if schema == PLAN_SCHEMA else None
