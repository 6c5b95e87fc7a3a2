"""Compute a scored row again: its checks, their results, and the stored label next to the recomputed one."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, UsageError
from ..inference.bundle import Bundle
from ..inference.session import resolve_device
from ..metric.columns import SIZE, output_names
from ..metric.inputs import find_columns
from ..scoring.outputs import Output
from ..scoring.results import Verdict
from ..scoring.scorer import Scorer
from ..scoring.settings import Settings
from ..status import RowError
from ..storage.location import named
from ..storage.run_plan import Budgets, Plan

STORED = (
    "fine", "rough", "confidence", "omitted", "contradicted", "fact_entailment", "text_entailment", "error", "note",
)  # fmt: skip
"""Output columns of a stored row that are shown."""
_COMPARED = ("fine", "omitted", "contradicted")
ROUNDING = 1e-6
"""Probabilities are stored as float32."""


@dataclass(frozen=True)
class Explanation:
    """A stored row and its recomputation."""

    file: str
    """Path of the output file below OUT."""
    row: int
    """Number of the row in the file, from 0."""
    key: str
    """Row key, in hexadecimal."""
    stored: dict[str, Any]
    """Output columns of the row (:data:`STORED`)."""
    recomputed: Verdict | None
    """The row scored again; ``None`` for a row with an error."""
    why: str | None
    """Reason of the error; ``None`` for a row with a label."""
    difference: float | None
    """Largest |Δ| between stored and recomputed entailment probabilities; ``None`` where one side has none."""
    allowed: float | None
    """Largest difference that the measured bounds explain; ``None`` where the bound of the run is not known."""
    within_bound: bool | None
    """Whether the difference is at most the allowed one."""
    same_labels: bool | None
    """Whether the stored labels are those of the recomputation; ``None`` for an error."""
    stored_signature: str
    """Signature of the stored row."""
    signature: str
    """Signature of the recomputation."""


def budgets_of_run(plan: Plan, settings: Settings) -> Budgets:
    """Size, layout and attention of the calls of a run, so that a row is computed as it was scored.

    Only the bound of ``--exact`` where ``settings`` have another bundle or precision, or another kind of device.

    Raises:
        BundleError, DeviceError: the bundle or the device of ``settings`` cannot be opened.
    """
    bundle, parts = Bundle.load(settings.bundle), plan.signature_parts
    computes_alike = (
        parts.get("model") == [bundle.name, bundle.sha256]
        and settings.precision in (plan.settings.get("precision"), parts.get("prec"))
        and parts.get("ep") == resolve_device(settings.device).kind
    )
    return plan.budgets if computes_alike else Budgets(exact=plan.budgets.exact)


def find_row(output: Output, row: str | None, key: str | None) -> int:
    """Number of a row in an output, from ``FILE:N``, from ``N`` where there is one file, or from a key in hexadecimal.

    Raises:
        UsageError: not of that form.
        InputError: no such file, row or key.
    """
    if (row is None) == (key is None):
        raise UsageError("say which row: --row FILE:N or --key HEX, one of them")
    if row is not None:
        return _find_place(output, row)
    try:
        raw_key = bytes.fromhex(str(key))
    except ValueError as e:
        raise UsageError(f"--key {key!r} is not hexadecimal") from e
    column = output.columns.output("row_key")
    for window in output.windows([column]) if len(raw_key) == SIZE else ():
        keys = window.table[column]
        position = pc.index(keys, pa.scalar(raw_key, keys.type)).as_py()
        if position >= 0:
            return window.first + int(position)
    raise InputError(f"no row with key {key} in {output.name}; keys are the row_key column in hexadecimal, 32 digits")


def _find_place(output: Output, place: str) -> int:
    """The number of a row in an output, from ``FILE:N`` or ``N``."""
    name, colon, number = place.rpartition(":")
    if not (number.isascii() and number.isdecimal() and len(number) < 19):
        raise UsageError(f"--row {place!r}: write FILE:N, a path below the output folder and a row counted from 0")
    files = sorted(planned for plan in output.plans for planned in plan.inputs)
    if not colon:
        if len(files) != 1:
            raise UsageError(f"--row {place}: {output.name} has {len(files):,} files; write FILE:{number}")
        name = files[0]
    position = output.find(name, int(number))
    if position is not None:
        return position
    if rows := sum(file.rows for file in output.files if f"{file.relative}/".startswith(f"{name}/")):
        raise InputError(f"{name} in {output.name} has {rows:,} rows, counted from 0; there is no row {number}")
    if similar := _similar(name, files):
        raise InputError(f"{output.name} has no file {name}; did you mean {similar}:{number}?")
    raise InputError(f"{output.name} has no file {name}; it has {named(files)}")


def _similar(name: str, files: list[str]) -> str | None:
    """The output file that a wrong name most likely means: the input's name, or a path that begins above OUT."""
    stem = name.rpartition("/")[2].partition(".")[0]
    similar = [file for file in files if name.endswith(f"/{file}")]
    similar += [file for file in files if file.rpartition("/")[2].partition(".")[0] == stem]
    return next(iter([*similar, *get_close_matches(name, files, 1)]), None)


def explain(output: Output, scorer: Scorer, number: int) -> Explanation:
    """Score a stored row again and compare; explain the error of a row without a label.

    Args:
        output: the output with the row.
        scorer: the scorer to compute it with.
        number: number of the row in the whole output.
    """
    table = output.rows([number])[number]
    signature, names = output.full_signature, scorer.settings.columns
    stored = {name: table[column][0].as_py() for name in STORED if (column := names.output(name)) in table.schema.names}
    row_table = output.with_marks(table).drop_columns(
        [column for column in output_names(names) if column in table.schema.names]
    )
    columns, failed = find_columns(row_table.schema, names), None
    if stored.get("error") is not None:
        failed = RowError.parse(stored["error"])
    recomputed = scorer.score_row(columns.rows(row_table)) if failed is None else None
    is_same_signature = signature == scorer.full_signature
    allowed, report = None, scorer.engine.report
    if output.runs and report is not None and recomputed is not None:
        # Under equal signatures, the other pairs of a batch may differ; otherwise each side may differ from the
        # checkpoint's fp32 by its own bound. If no logit moves by more than d, no softmax probability moves by more
        # than d/2: the absolute entries of a row of its Jacobian sum to 2p(1 - p).
        run = output.summary
        bounds = (run.invariance_error, report.invariance_error) if is_same_signature else (run.bound, report.bound)
        allowed = None if bounds[0] is None else 0.5 * (bounds[0] + bounds[1])
    difference = _difference(stored, recomputed) if recomputed is not None else None
    file, row = output.locate(number)
    return Explanation(
        file=file,
        row=row,
        key=table[names.output("row_key")][0].as_py().hex(),
        stored=stored,
        recomputed=recomputed,
        why=None if failed is None else columns.why_failed(row_table, failed),
        difference=difference,
        allowed=allowed,
        within_bound=None if difference is None or allowed is None else difference <= allowed + ROUNDING,
        same_labels=None
        if recomputed is None
        else all(stored[name] == getattr(recomputed, name) for name in _COMPARED if name in stored),
        stored_signature=signature.line,
        signature=scorer.signature,
    )


def _difference(stored: dict[str, Any], recomputed: Verdict) -> float | None:
    """Largest |Δ| between stored and recomputed entailment probabilities; ``None`` where one side has none."""
    pairs = [(stored.get("text_entailment"), recomputed.text_entailment)]
    pairs += zip(stored.get("fact_entailment") or [], recomputed.fact_entailment or [], strict=False)
    return max((abs(a - b) for a, b in pairs if a is not None and b is not None), default=None)
