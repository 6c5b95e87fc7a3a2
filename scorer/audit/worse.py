"""What got worse since the baseline: rows that were OK and are not, and new rows that fail, with what was there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..metric.templates import Templates
from ..metric.verdict import FINE
from ..scoring.outputs import arrow_errors
from .document import Worse, WorseRow, WorstRow
from .matching import Matched
from .rows import shown_columns, shown_row
from .scan import ScannedRun

Why = Literal["flipped", "rewritten", "new"]
OK = 0


def got_worse(
    before: ScannedRun,
    after: ScannedRun,
    matched: Matched,
    columns: Sequence[str],
    templates: Templates | None,
    most: int,
) -> Worse:
    """Count the rows that got worse, and choose some to read: of each kind those of least confidence.

    A kept row *flipped* when its label went from OK to another. An added row that fails is *rewritten* if the row at
    the same place of the baseline has the same facts, and otherwise *new*.

    Args:
        columns: shown as the row's group.
        most: rows to choose, at most a third of each kind.
    """
    was, now = before.fine[matched.before], after.fine[matched.after]
    changed = np.flatnonzero((was == OK) & (now > OK))
    flipped, sources = matched.after[changed], matched.before[changed]
    fresh = np.flatnonzero(matched.added & (after.fine > OK))
    places = after.output.places.counterparts(before.output.places, fresh)
    was_ok = np.zeros(len(fresh), bool)
    was_ok[places >= 0] = before.fine[places[places >= 0]] == OK
    kinds = [
        (flipped, sources),
        (fresh[was_ok], places[was_ok]),
        (fresh[~was_ok], places[~was_ok]),
    ]
    share = -(-most // 3)
    chosen: list[tuple[int, int, bool]] = []
    for number, (rows, earlier) in enumerate(kinds):
        order = np.lexsort((rows, np.nan_to_num(after.confidence[rows], nan=0.0)))[:share]
        chosen += [(int(rows[i]), int(earlier[i]), number == 0) for i in order]
    return Worse(
        flipped=len(flipped),
        added_failing=len(fresh),
        rows=_read(before, after, chosen, columns, templates),
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
            shown = shown_row(after.output, row, FINE[after.fine[row]], tables[row], columns, templates)
        old = None
        if place >= 0:
            with arrow_errors(before.output):
                old = shown_row(before.output, place, "", tables_before[place], there, templates)
        found.append(_worse(shown, old, before.fine, place, flipped))
    return found


def _worse(shown: WorstRow, old: WorstRow | None, fine: npt.NDArray[np.int8], place: int, flipped: bool) -> WorseRow:
    same_input = old is not None and (flipped or (_facts(old) is not None and _facts(old) == _facts(shown)))
    why: Why = "flipped" if flipped else "rewritten" if same_input else "new"
    return WorseRow(
        why=why,
        before=FINE[fine[place]] if same_input and fine[place] >= 0 else None,
        text_before=old["text"] if same_input and old is not None else None,
        now=shown,
    )


def _facts(row: WorstRow) -> list[tuple[str, str, str]] | None:
    if row["facts"] is None:
        return None
    return [(fact["subject"], fact["predicate"], fact["object"]) for fact in row["facts"]]
