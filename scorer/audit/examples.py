"""Single rows for people: the worst of each kind, the flips with their probabilities, and what got worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ..errors import ColumnError
from ..metric.facts import Triple, iterate
from ..metric.group_values import texts
from ..metric.inputs import one_array, read_facts
from ..metric.paths import holders_of
from ..metric.templates import Templates
from ..metric.verdict import FINE
from ..scoring.outputs import Output, arrow_errors
from ..scoring.summary import allowed_difference, is_within
from . import queries
from .database import Grouping
from .document import FactShown, Finding, Flip, Flips, Why, Worse, WorseRow, WorstRow
from .queries import Flipped, Pair
from .scan import FINE_OF, Counts, ScannedRun, fact_column, fact_form

MOST_CHARACTERS = 4000
MOST_CHARACTERS_OF_PART = 500
MOST_FACTS = 100
MOST_FLIPS = 1000
ROWS_OF_FINDING = 2
_READ_FOR_FINDING = 8  # of each kind
ID = "id"
"""The column whose values name rows, if there is one."""


def worst_rows(
    run: ScannedRun, worst: Mapping[str, list[int]], columns: Sequence[str], templates: Templates | None
) -> list[WorstRow]:
    """The rows of the sample, by kind.

    Args:
        worst: numbers of the rows (:func:`scorer.audit.queries.worst`).
        columns: shown as the row's group.
    """
    chosen = {row: kind for kind, rows in worst.items() for row in rows}
    order = [row for rows in worst.values() for row in rows]
    shown = run.output.rows(order, shown_columns(run.output, columns))
    with arrow_errors(run.output):
        return [shown_row(run.output, row, chosen[row], shown[row], columns, templates) for row in order]


def shown_columns(output: Output, columns: Sequence[str]) -> list[str]:
    """What :func:`shown_row` reads of an output. ``columns``: those of the group."""
    own = ("row_key", "omitted", "fact_entailment", "text_entailment", "confidence", "error", "note")
    inputs = [
        holder
        for name in (output.columns.text, fact_column(output) or "", output.columns.subject or "")
        for holder in holders_of(output.schema, name)
    ]
    name = [ID] if ID in output.names else []
    return [*(output.columns.prefix + name for name in own), *inputs, *name, *columns]


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
        id=_id(table),
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


def _id(table: pa.Table) -> str | None:
    if ID not in table.schema.names:
        return None
    try:
        return texts(one_array(table, ID), ID)[0]
    except ColumnError:  # lists and the like name nothing
        return None


def _text(table: pa.Table, name: str) -> str | None:
    """A string, which may not be valid UTF-8."""
    if not holders_of(table.schema, name):
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
    if name is None or not holders_of(table.schema, name):
        return None, True
    parsed = read_facts(table, name, fact_form(output), output.columns.subject)
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


def flips(before: ScannedRun, after: ScannedRun, flipped: Flipped, *, same_signature: bool) -> Flips:
    """Kept rows whose FINE label differs, and whether the measured bounds explain it (:mod:`scorer.scoring.summary`).

    Under equal signatures a probability may differ by the effect of the other pairs in its batch, which both runs
    measured as a bound on logits. Across signatures there is no bound.
    """
    bounds = [run.output.summary.invariance_error for run in (before, after)]
    numbers = [bound for bound in bounds if bound is not None]
    known = same_signature and len(numbers) == 2
    allowed = allowed_difference(*numbers) if known else None
    measured = flipped.pairs if known else flipped.pairs[:MOST_FLIPS]
    listed = _measure(before, after, measured, allowed)
    beyond = sum(1 for flip in listed if flip.beyond_bound) if known else None
    listed.sort(key=lambda flip: (not flip.beyond_bound, -(flip.difference or 0.0)))
    return Flips(count=flipped.count, beyond_bound=beyond, allowed=allowed, rows=listed[:MOST_FLIPS])


def _measure(before: ScannedRun, after: ScannedRun, pairs: list[Pair], allowed: float | None) -> list[Flip]:
    now = _probabilities(after.output, [pair.row for pair in pairs])
    was = _probabilities(before.output, [pair.before for pair in pairs])
    found = []
    for a, b, label, label_before in pairs:
        (file, row), (file_before, row_before) = after.output.locate(a), before.output.locate(b)
        (key, one), (_, other) = now[a], was[b]
        deltas = [abs(x - y) for x, y in zip(one, other, strict=False) if x is not None and y is not None]
        difference = max(deltas, default=None)
        beyond = None if allowed is None or difference is None else not is_within(difference, allowed)
        found.append(
            Flip(
                row_key=key,
                file=file.encode("utf-8", "replace").decode(),
                row=row,
                file_before=file_before.encode("utf-8", "replace").decode(),
                row_before=row_before,
                before=FINE[label_before],
                after=FINE[label],
                difference=difference,
                beyond_bound=beyond,
            )
        )
    return found


def _probabilities(output: Output, rows: list[int]) -> dict[int, tuple[str, list[float | None]]]:
    """Key and stored probabilities of rows."""
    key, said, facts = (output.columns.prefix + name for name in ("row_key", "text_entailment", "fact_entailment"))
    found = {}
    for row, table in output.rows(rows, [key, said, facts]).items():
        found[row] = table[key][0].as_py().hex(), [table[said][0].as_py(), *(table[facts][0].as_py() or [])]
    return found


def got_worse(
    before: ScannedRun, after: ScannedRun, most: int, columns: Sequence[str], templates: Templates | None
) -> Worse:
    """How many rows got worse and better, paired by input, and some of the first to read.

    Args:
        most: rows to read. columns: shown as the row's group.
    """
    flipped, better = _moved(queries.kept(after, ())[0])
    rewritten, better_rewritten = _moved(queries.rewritten(after, ())[0])
    chosen = queries.failing_now(after, -(-most // 3), (), 0)
    return Worse(
        flipped=flipped,
        rewritten=rewritten,
        better=better + better_rewritten,
        added_failing=int(queries.added(after, ())[0][FINE_OF > queries.OK].sum()),
        rows=_read(before, after, chosen, columns, templates),
    )


def of_finding(
    before: ScannedRun,
    after: ScannedRun,
    finding: Finding,
    grouping: Grouping,
    code: int,
    columns: Sequence[str],
    templates: Templates | None,
) -> list[WorseRow]:
    """Rows of a group that got worse: those that omit the fact that the finding names before others.

    Args:
        code: of the group in its grouping. columns: shown as the row's group.
    """
    chosen = queries.failing_now(after, _READ_FOR_FINDING, grouping, code)
    rows = _read(before, after, chosen, columns, templates)

    def place(row: WorseRow) -> tuple[bool, bool]:
        omits = any(fact.omitted and fact.predicate == finding.predicate for fact in row.now.facts or ())
        return not omits, row.text_before is None

    return sorted(rows, key=place)[:ROWS_OF_FINDING]


def _moved(pairs: Counts) -> tuple[int, int]:
    """Pairs that went from OK to another label, and back. *Shape:* (STATES, STATES)."""
    ok, fails = queries.OK == FINE_OF, FINE_OF > queries.OK
    return int(pairs[ok][:, fails].sum()), int(pairs[fails][:, ok].sum())


def _read(
    before: ScannedRun,
    after: ScannedRun,
    chosen: dict[Why, list[Pair]],
    columns: Sequence[str],
    templates: Templates | None,
) -> list[WorseRow]:
    pairs = [pair for some in chosen.values() for pair in some]
    tables = after.output.rows([pair.row for pair in pairs], shown_columns(after.output, columns))
    name = before.output.columns.text
    earlier = [pair.before for pair in pairs if pair.before >= 0]
    tables_before = before.output.rows(earlier, holders_of(before.output.schema, name))
    found = []
    for why, some in chosen.items():
        for row, place, label, label_before in some:
            with arrow_errors(after.output):
                now = shown_row(after.output, row, FINE[label], tables[row], columns, templates)
            with arrow_errors(before.output):
                text = _text(tables_before[place], name) if place >= 0 else None
            found.append(
                WorseRow(
                    why=why,
                    before=FINE[label_before] if label_before >= 0 else None,
                    text_before=text[:MOST_CHARACTERS] if text is not None else None,
                    now=now,
                )
            )
    return found


def group_columns(groupings: Sequence[Grouping]) -> list[str]:
    """All columns of groupings, each once."""
    return list(dict.fromkeys(column for grouping in groupings for column in grouping))
