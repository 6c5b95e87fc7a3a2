"""Single rows for people: the worst of each kind, and the flips with their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ..metric.inputs import one_array, parse_facts
from ..metric.nested import holder_of
from ..metric.templates import Templates
from ..metric.triples import Triple, iterate
from ..metric.verdict import FINE
from ..scoring.outputs import Output, arrow_errors
from ..scoring.tolerance import allowed_difference, is_within
from .document import FactShown, Flip, Flips, WorstRow
from .grouping import Grouping
from .matching import Ints, Matched
from .scan import ScannedRun, fact_column, fact_form
from .values import texts

MOST_CHARACTERS = 4000
MOST_CHARACTERS_OF_PART = 500
MOST_FACTS = 100
MOST_FLIPS = 1000
MOST_FLIPS_MEASURED = 20_000


def worst_rows(
    run: ScannedRun, ids: Ints, columns: Sequence[str], templates: Templates | None, most: int
) -> list[WorstRow]:
    """A sample per kind: the rows of least confidence, each key once; ties by key, so that it is always the same.

    Kinds: the FINE labels that are not OK (rows with a blank text are a kind of their own), and each kind of error.

    Args:
        columns: shown as the row's group.
    """
    chosen: dict[int, str] = {}
    order: list[int] = []
    for kind, rows in _kinds(run).items():
        if not len(rows) or not most:
            continue
        rows = rows[np.unique(ids[rows], return_index=True)[1]]
        worst = np.nan_to_num(run.confidence[rows], nan=0.0)
        if len(rows) > most:  # a full sort of what may be a million rows is not needed
            limit = np.partition(worst, most - 1)[most - 1]
            rows, worst = rows[worst <= limit], worst[worst <= limit]
        keys = run.keys[rows]
        for row in rows[np.lexsort((keys[:, 1], keys[:, 0], worst))][:most].tolist():
            chosen[row] = kind
            order.append(row)
    shown = dict(run.output.take(order, shown_columns(run.output, columns)))
    with arrow_errors(run.output):
        return [shown_row(run.output, row, chosen[row], shown[row], columns, templates) for row in order]


def _kinds(run: ScannedRun) -> dict[str, Ints]:
    empty = run.empty
    kinds = {name: np.flatnonzero((run.fine == code) & ~empty) for code, name in enumerate(FINE) if code}
    kinds["empty_text"] = np.flatnonzero(empty)
    for code, name in enumerate(run.errors.names):
        kinds[f"error:{name}"] = np.flatnonzero(run.error == code)
    return kinds


def shown_columns(output: Output, columns: Sequence[str]) -> list[str]:
    """What :func:`shown_row` reads of an output. ``columns``: those of the group."""
    own = ("row_key", "omitted", "fact_entailment", "text_entailment", "confidence", "error", "note")
    inputs = (holder_of(output.schema, name) for name in (output.columns.text, fact_column(output) or ""))
    return [*(output.columns.prefix + name for name in own), *(name for name in inputs if name), *columns]


def shown_row(
    output: Output, row: int, kind: str, table: pa.Table, columns: Sequence[str], templates: Templates | None
) -> WorstRow:
    """A row for people. ``row``: its number in the whole output; ``table``: of this row alone."""
    prefix, (file, number) = output.columns.prefix, output.locate(row)

    def value(name: str) -> Any:
        return table[name][0].as_py() if name in table.schema.names else None

    def name_of(name: str) -> str | None:
        return texts(one_array(table, name), name)[0] if name in table.schema.names else None

    text = _text(table, output.columns.text)
    facts, whole = _facts(output, table, value(prefix + "omitted"), value(prefix + "fact_entailment"), templates)
    return WorstRow(
        kind=kind,
        file=file.encode("utf-8", "replace").decode(),
        row=number,
        row_key=value(prefix + "row_key").hex(),
        group={column: name_of(column) for column in columns},
        text=None if text is None else text[:MOST_CHARACTERS],
        clipped=not whole or (text is not None and len(text) > MOST_CHARACTERS),
        facts=facts,
        text_entailment=value(prefix + "text_entailment"),
        confidence=value(prefix + "confidence"),
        error=value(prefix + "error"),
        note=value(prefix + "note"),
    )


def _text(table: pa.Table, name: str) -> str | None:
    """A string, which may not be valid UTF-8."""
    if holder_of(table.schema, name) is None:
        return None
    column = one_array(table, name)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    raw = column.cast(pa.large_binary())[0].as_py() if not pa.types.is_null(column.type) else None
    return None if raw is None else raw.decode(errors="replace")


def _facts(
    output: Output, table: pa.Table, omitted: Any, entailment: Any, templates: Templates | None
) -> tuple[list[FactShown] | None, bool]:
    name = fact_column(output)
    if name is None or holder_of(table.schema, name) is None:
        return None, True
    parsed = parse_facts(one_array(table, name), fact_form(output))
    if parsed.errors:
        return None, True
    triples = next(iterate(parsed))
    lost = set(omitted or ())
    scores = entailment if entailment is not None and len(entailment) == len(triples) else [None] * len(triples)
    shown = [_fact(t, i in lost, scores[i], templates) for i, t in enumerate(triples[:MOST_FACTS])]
    return shown, len(triples) <= MOST_FACTS


def _fact(triple: Triple, omitted: bool, entailment: float | None, templates: Templates | None) -> FactShown:
    said = templates.fill(triple).text if templates is not None else triple.sentence
    subject, predicate, value = (part[:MOST_CHARACTERS_OF_PART] for part in triple)
    return FactShown(
        subject=subject,
        predicate=predicate,
        object=value,
        sentence=said[:MOST_CHARACTERS_OF_PART] if said is not None else None,
        entailment=entailment,
        omitted=omitted,
    )


def flips(before: ScannedRun, after: ScannedRun, matched: Matched, *, same_signature: bool) -> Flips:
    """Kept rows whose FINE label differs, and whether the measured bounds explain it (:mod:`scorer.scoring.tolerance`).

    Under equal signatures a probability may differ by the effect of the other pairs in its batch, which both runs
    measured as a bound on logits. Across signatures there is no bound.
    """
    was, now = before.fine[matched.before], after.fine[matched.after]
    flipped = np.flatnonzero((was != now) & (was >= 0) & (now >= 0))
    pairs = sorted(zip(matched.after[flipped].tolist(), matched.before[flipped].tolist(), strict=True))
    bounds = [run.output.summary.company_bound for run in (before, after)]
    numbers = [bound for bound in bounds if bound is not None]
    known = same_signature and len(numbers) == 2
    allowed = allowed_difference(*numbers) if known else None
    measured = pairs[: MOST_FLIPS_MEASURED if known else MOST_FLIPS]
    listed = _measure(before, after, measured, allowed)
    beyond = sum(1 for flip in listed if flip["beyond_bound"]) if known else None
    listed.sort(key=lambda flip: (not flip["beyond_bound"], -(flip["difference"] or 0.0)))
    return Flips(count=len(pairs), beyond_bound=beyond, allowed=allowed, rows=listed[:MOST_FLIPS])


def _measure(before: ScannedRun, after: ScannedRun, pairs: list[tuple[int, int]], allowed: float | None) -> list[Flip]:
    numbers = [
        _probabilities(after.output, [a for a, _ in pairs]),
        _probabilities(before.output, [b for _, b in pairs]),
    ]
    found = []
    for a, b in pairs:
        (file, row), (file_before, row_before) = after.output.locate(a), before.output.locate(b)
        one, other = numbers[0][a], numbers[1][b]
        deltas = [abs(x - y) for x, y in zip(one, other, strict=False) if x is not None and y is not None]
        difference = max(deltas, default=None)
        beyond = None if allowed is None or difference is None else not is_within(difference, allowed)
        found.append(
            Flip(
                row_key=after.keys[a].tobytes().hex(),
                file=file.encode("utf-8", "replace").decode(),
                row=row,
                file_before=file_before.encode("utf-8", "replace").decode(),
                row_before=row_before,
                before=FINE[before.fine[b]],
                after=FINE[after.fine[a]],
                difference=difference,
                beyond_bound=beyond,
            )
        )
    return found


def _probabilities(output: Output, rows: list[int]) -> dict[int, list[float | None]]:
    prefix = output.columns.prefix
    names = [prefix + "text_entailment", prefix + "fact_entailment"]
    found = {}
    for row, table in output.take(rows, names):
        found[row] = [table[names[0]][0].as_py(), *(table[names[1]][0].as_py() or [])]
    return found


def group_columns(groupings: Sequence[Grouping]) -> list[str]:
    """All columns of groupings, each once."""
    return list(dict.fromkeys(column for grouping in groupings for column in grouping))
