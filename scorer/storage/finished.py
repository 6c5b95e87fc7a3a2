"""The names of an output's own files, and which plans can be read."""

from __future__ import annotations

from ..errors import OutputError
from ..system.formats import PLAN_SCHEMA
from ..system.json_fields import Fields

PLAN, RUN, SUCCESS = "_plan.json", "_run.json", "_SUCCESS"


def plan_fields(plan: object, where: str) -> Fields | None:
    """The fields of a plan; ``None`` when it is none, or damaged. ``where``: its file, for messages.

    Raises:
        OutputError: it was written by another version of this program.
    """
    if not isinstance(plan, dict):
        return None
    schema = plan.get("schema")
    if isinstance(schema, int) and schema != PLAN_SCHEMA:
        raise OutputError(
            f"{where} has schema {schema}, and this version knows {PLAN_SCHEMA}: another version wrote it; "
            "use that version or choose another --out"
        )
    return Fields(plan, where) if schema == PLAN_SCHEMA else None
