"""What got worse since the baseline: rows that were OK and are not, and new rows that fail, with what was there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..metric.templates import Templates
from ..metric.verdict import FINE
from ..scoring.outputs import arrow_errors
from .candidates import WorseRows
from .document import Worse, WorseRow, WorstRow
from .rows import shown_columns, shown_row
from .scan import ScannedRun

Why = Literal["flipped", "rewritten", "new"]


def got_worse(
    before: ScannedRun, after: ScannedRun, worse: WorseRows, columns: Sequence[str], templates: Templates | None
) -> Worse:
    """The rows that got worse, and some of them to read. ``columns``: shown as the row's group.

    An added row that fails is *rewritten* if the row at the same place of the baseline has the same facts, and
    otherwise *new*.
    """
    return Worse(
        flipped=worse.flipped,
        added_failing=worse.added_failing,
        rows=_read(before, after, worse.found(), columns, templates),
    )


def _read(
    before: ScannedRun,
    after: ScannedRun,
    chosen: Sequence[tuple[int, int, bool]],
    columns: Sequence[str],
    templates: Templates | None,
) -> list[WorseRow]:
    tables = dict(after.output.take([row for row, _, _ in chosen], shown_columns(after.output, columns)))
    earlier = [place for _, place, _ in chosen if place >= 0]
    there = [name for name in columns if name in before.output.names]
    tables_before = dict(before.output.take(earlier, shown_columns(before.output, there)))
    found = []
    for row, place, flipped in chosen:
        with arrow_errors(after.output):
            shown = shown_row(after.output, row, FINE[after.fine(row)], tables[row], columns, templates)
        old = None
        if place >= 0:
            with arrow_errors(before.output):
                old = shown_row(before.output, place, "", tables_before[place], there, templates)
        found.append(_worse(shown, old, int(before.fine(place)) if place >= 0 else -1, flipped))
    return found


def _worse(shown: WorstRow, old: WorstRow | None, fine: int, flipped: bool) -> WorseRow:
    """``fine``: label of the row of the baseline, -1 without one."""
    same_input = old is not None and (flipped or (_facts(old) is not None and _facts(old) == _facts(shown)))
    why: Why = "flipped" if flipped else "rewritten" if same_input else "new"
    return WorseRow(
        why=why,
        before=FINE[fine] if same_input and fine >= 0 else None,
        text_before=old["text"] if same_input and old is not None else None,
        now=shown,
    )


def _facts(row: WorstRow) -> list[tuple[str, str, str]] | None:
    if row["facts"] is None:
        return None
    return [(fact["subject"], fact["predicate"], fact["object"]) for fact in row["facts"]]
