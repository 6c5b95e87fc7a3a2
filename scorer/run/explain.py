"""Compute a scored row again: its checks, their results, and the stored label next to the recomputed one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, UsageError
from ..inference.bundle import Bundle
from ..inference.session import resolve_device
from ..metric.columns import output_schema
from ..metric.inputs import find_columns
from ..metric.options import ColumnNames
from ..metric.row_key import SIZE
from ..scoring.origin import allowed_difference, is_within
from ..scoring.output_files import columns_of, data_files, guarded, open_parquet, read_row
from ..scoring.places import file_of, shard_place
from ..scoring.plan import Budgets, Plan
from ..scoring.results import Verdict
from ..scoring.scorer import Scorer
from ..scoring.settings import Settings
from ..scoring.summary import RunSummary


class StoredRow(TypedDict, total=False):
    """The output columns of a stored row, those that it has; see :data:`STORED`."""

    fine: str | None
    rough: str | None
    confidence: float | None
    omitted: list[int] | None
    fact_entailment: list[float | None] | None
    text_entailment: float | None
    error: str | None
    note: str | None


STORED = tuple(StoredRow.__annotations__)


@dataclass(frozen=True)
class Explanation:
    """A stored row and its recomputation.

    ``stored``: output columns of the row. ``difference``: largest |Δ| between stored and recomputed entailment
    probabilities, ``None`` where one of them has none. ``why``: what is wrong with a row that has no label.
    ``allowed``: how much of the difference the measured bounds explain, ``None`` where the run's bound is not known.
    ``within_bound``: the difference is not more than that.
    """

    file: str
    row: int
    key: str
    stored: StoredRow
    recomputed: Verdict
    why: str | None
    difference: float | None
    allowed: float | None
    within_bound: bool | None
    same_labels: bool
    stored_signature: str
    signature: str


def budgets_of_run(plan: Plan, settings: Settings) -> Budgets:
    """Size, layout and attention of the calls of a run: a row is then computed as it was scored.

    Nothing is set where ``settings`` mean another bundle or precision, or another kind of device.

    Raises:
        BundleError, DeviceError: the bundle or the device of ``settings`` cannot be opened.
    """
    bundle, parts = Bundle.load(settings.bundle), plan.signature.parts
    same = parts.get("model") == [bundle.name, bundle.sha256]
    same = same and settings.precision in (plan.settings.get("precision"), parts.get("prec"))
    same = same and parts.get("ep") == resolve_device(settings.device).kind
    return plan.budgets if same else Budgets()


def with_bound_of_run(scorer: Scorer, plan: Plan) -> Scorer:
    """A scorer with the bound of ``--exact`` that a run measured, if both are exact."""
    bound = plan.budgets.exact
    if scorer.engine.exact and bound is not None:
        scorer.engine.bound = bound
    return scorer


def find_row(out: Path, plan: Plan, row: str | None, key: str | None) -> tuple[str, int]:
    """Turn ``FILE:N`` or a key in hexadecimal into (relative path, row number); by key, only key columns are read.
    Of a shard in pieces, the path is that of its folder, and the number counts the rows of all its pieces.

    Raises:
        UsageError: not of that form. InputError: no such file, row or key.
    """
    if (row is None) == (key is None):
        raise UsageError("say which row: --row FILE:N or --key HEX, one of them")
    if row is not None:
        name, colon, number = row.rpartition(":")
        if not colon or not (number.isascii() and number.isdecimal() and len(number) < 19):
            raise UsageError(f"--row {row!r}: write FILE:N, a path below the output folder and a row counted from 0")
        return name, int(number)
    try:
        wanted = bytes.fromhex(key or "")
    except ValueError as e:
        raise UsageError(f"--key {key!r} is not hexadecimal") from e
    column = columns_of(plan, str(out)).prefix + "row_key"
    for path in data_files(out):
        keys = _keys(path, column)
        if keys is None:
            continue
        position = pc.index(keys, pa.scalar(wanted, keys.type)).as_py() if len(wanted) == SIZE else -1
        if position >= 0:
            shard, first = shard_place(path.relative_to(out).as_posix(), plan.inputs)
            return shard, first + int(position)
    raise InputError(f"no row with key {key} in {out}; keys are the row_key column in hexadecimal, 32 digits")


def explain(out: Path, scorer: Scorer, file: str, number: int) -> Explanation:
    """Score a stored row again and compare.

    Args:
        file: relative path of an output, or of the folder of a shard in pieces.
        number: of the row in it.

    Raises:
        InputError: no such file or row.
    """
    part, place = file_of(out, file, number)
    table, signature = read_row(out / part, place)
    names = scorer.settings.columns
    prefix = names.prefix
    there = [name for name in STORED if prefix + name in table.schema.names]
    stored = cast(StoredRow, {name: table[prefix + name][0].as_py() for name in there})
    columns = find_columns(table.select(_input_names(table, names)).schema, names)
    recomputed, bad = scorer.score_row(columns.rows(table)), columns.invalid_rows(table)
    same = signature == scorer.full_signature
    allowed = _allowed(RunSummary.load(out), scorer, same)
    pairs = [(stored.get("text_entailment"), recomputed.text_entailment)]
    pairs += zip(stored.get("fact_entailment") or [], recomputed.fact_entailment or [], strict=False)
    differences = [abs(a - b) for a, b in pairs if a is not None and b is not None]
    difference = max(differences, default=None)
    return Explanation(
        file,
        number,
        table[prefix + "row_key"][0].as_py().hex(),
        stored,
        recomputed,
        bad.why if bad is not None else None,
        difference,
        allowed,
        None if difference is None or allowed is None else is_within(difference, allowed),
        (stored.get("fine"), stored.get("omitted")) == (recomputed.fine, recomputed.omitted),
        signature.line,
        scorer.signature,
    )


def _allowed(run: RunSummary | None, scorer: Scorer, same: bool) -> float | None:
    """The largest |Δ probability| that measured bounds on logits explain.

    Under equal signatures, the other pairs of a batch may differ; otherwise each side may differ from the checkpoint's
    fp32 by its own bound.
    """
    if run is None:
        return None
    stored = run.invariance_error if same else run.bound
    if stored is None:
        return None
    return allowed_difference(stored, scorer.report.invariance_error if same else scorer.report.bound)


def _input_names(table: pa.Table, names: ColumnNames) -> list[str]:
    added = {names.prefix + field.name for field in output_schema(names)}
    return [name for name in table.schema.names if name not in added]


def _keys(path: Path, column: str) -> pa.ChunkedArray | None:
    """The row keys of a file; ``None`` of one that cannot be read or has none."""
    try:
        with open_parquet(path) as file:
            return guarded(path, file.read, columns=[column])[column]
    except (InputError, KeyError):
        return None
